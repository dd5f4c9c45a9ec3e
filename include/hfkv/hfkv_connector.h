/*
 * A connector: KV chunks by LMCache key, in directories (`fs`) or in a bucket (`hfbucket`).
 *
 * Two ways to call it. Blocking: one call for one batch. Submitted: hfkv_connector_submit gives a batch to the
 * workers and returns; the eventfd becomes readable and hfkv_connector_drain hands the batch back. Submitted
 * batches are what LMCache's native_plugin wants (one descriptor for all operations).
 *
 * Memory: a batch is an array of `struct hfkv_item` that the caller owns. The array, its keys and its buffers stay
 * valid and untouched until the call returned or the batch came back from drain. No thread of the library touches
 * any of it afterwards, also when a batch was cancelled or the connector closed.
 */
#ifndef HFKV_CONNECTOR_H
#define HFKV_CONNECTOR_H

#include "hfkv/hfkv_settings.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hfkv_connector;

/* One key of a batch. The caller fills the first part with zeroes or values, the library fills the second. */
struct hfkv_item {
	const char *key; /* LMCache's key string, UTF-8, NUL-terminated */
	/* put: the tensor bytes; get: where they go; else unused. For a get, length is exactly the bytes
	 * wanted, or, where partial sizes are allowed (full_chunks: false), the most. */
	void *data;
	uint64_t length;
	/* LMCache's metadata header: put writes it before data, get fills it; NULL: none, and then a body that
	 * has one goes to and from data as it is stored. */
	void *header;
	uint64_t header_length; /* 0 when header is NULL */

	/* OK; NOT_FOUND for a miss, also of a chunk of the wrong size; BUSY for what is locked (L2 delete); ... */
	enum hfkv_status status;
	/* put, get, exists: size of the tensor data; L2 delete: what was counted for the key before. */
	uint64_t bytes;
	/* L2 store: 1 when the key was not counted before (LMCache's listeners want new keys only). */
	int is_new;
};

enum hfkv_operation { HFKV_OP_EXISTS, HFKV_OP_PUT, HFKV_OP_GET, HFKV_OP_REMOVE };

/* Opens the connector that `settings` describe: an in-process document (types fs, hfbucket, hfkv_fs,
 * hfkv_bucket; keys are non-MP) or an L2 document (fs, fs_native, hfbucket, plugin, native_plugin; keys are MP,
 * the fs files carry the rank as 0x). INVALID names key, value and what was expected. Makes directories and
 * starts threads; needs no network. */
enum hfkv_status hfkv_connector_open(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				     struct hfkv_connector **ret_connector, struct hfkv_error *error);

/* Stops taking work, gives up the batches that wait (their items read CANCELLED), lets running ones end: they have
 * the connector's timeout, and a second for each 4 MiB that they move. Batches that were not drained by now never are:
 * when it returns, every array is the caller's again, no thread of the library lives or touches it, and the eventfd is
 * closed. NULL is fine. */
void hfkv_connector_close(struct hfkv_connector *connector);

/* Whether keys of this connector must carry a metadata header: its bytes, or 0. */
uint64_t hfkv_connector_header_bytes(const struct hfkv_connector *connector);
/* The tensor bytes of a full chunk, 0 when unknown or when any size is allowed. */
uint64_t hfkv_connector_chunk_bytes(const struct hfkv_connector *connector);

/* ---- blocking; the items' statuses tell each key's outcome, the result whether the batch as a whole was
 * answered ---- */

/* Runs one operation on a batch. Order is kept: item n is key n. OK when every item has an outcome of its own
 * (a miss is one). put: OK when all are stored; after a failure the items that did land are OK and the result
 * is the failure. remove: an fs item that was not there is NOT_FOUND; a bucket item is OK. `timeout_ms` 0: the
 * connector's. Blocks. */
enum hfkv_status hfkv_connector_run(struct hfkv_connector *connector, enum hfkv_operation operation,
				    struct hfkv_item *items, size_t count, int64_t timeout_ms,
				    struct hfkv_error *error);

/* How many of the first keys exist without a gap. Blocks. */
enum hfkv_status hfkv_connector_contains_prefix(struct hfkv_connector *connector, struct hfkv_item *items,
						size_t count, int64_t timeout_ms, size_t *ret_count,
						struct hfkv_error *error);

/* OK to go on; anything else ends the listing and is returned by it. `key` is borrowed during the visit. */
typedef enum hfkv_status (*hfkv_visit)(void *context, const char *key, uint64_t bytes);

/* Visits every key that exists (names decoded, wrong sizes and foreign names left out), in no order. Blocks. */
enum hfkv_status hfkv_connector_list(struct hfkv_connector *connector, hfkv_visit visit, void *context,
				     int64_t timeout_ms, struct hfkv_error *error);

/* Whether the directory or the bucket answers; in less than 5 s. Blocks. */
enum hfkv_status hfkv_connector_ping(struct hfkv_connector *connector, struct hfkv_error *error);

/* ---- submitted ---- */

/* A batch that came back. `items` is the array that was submitted: the caller's again. */
struct hfkv_completion {
	uint64_t id;
	enum hfkv_operation operation;
	enum hfkv_status status; /* as hfkv_connector_run returns; CANCELLED when it was cancelled before it ran */
	struct hfkv_item *items;
	size_t count;
	char text[256]; /* why, when status is not OK; else "" */
};

/* The descriptor that is readable while completions wait. Owned by the connector; the same for its life. */
int hfkv_connector_event_fd(const struct hfkv_connector *connector);

/* Gives the batch to the workers; never blocks. *ret_id is unique over all batches of this connector and above 0.
 * BUSY: more than 4096 batches wait. CANCELLED: the connector is closing. In both cases nothing was taken. */
enum hfkv_status hfkv_connector_submit(struct hfkv_connector *connector, enum hfkv_operation operation,
				       struct hfkv_item *items, size_t count, uint64_t *ret_id,
				       struct hfkv_error *error);

/* Asks to give a batch up. It still comes back through drain, exactly once: with items that did not start as
 * CANCELLED, and not before the library has stopped touching its memory. Never blocks; unknown ids are ignored. */
void hfkv_connector_cancel(struct hfkv_connector *connector, uint64_t id);

/* Clears the eventfd, then moves up to `capacity` completions to `completions` (more left: the fd is readable
 * again). Each batch comes out once. Never blocks. */
size_t hfkv_connector_drain(struct hfkv_connector *connector, struct hfkv_completion *completions,
			    size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
