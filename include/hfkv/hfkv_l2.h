/*
 * The core of LMCache's multi-process (MP) L2 adapter: tasks, locks, usage by cache salt, eviction.
 *
 * Submitted tasks never block the caller. The result of a task is there before its eventfd becomes readable, and
 * is popped once. Keys are MP keys: <model>@<kv_rank %08x>@<group hex>@<chunk_hash hex>[@<cache_salt>].
 *
 * Memory: as in hfkv_connector.h. The items of a task are the caller's again when its result was popped. Popping
 * is what reports the task done, also after a cancelled or failed one.
 */
#ifndef HFKV_L2_H
#define HFKV_L2_H

#include "hfkv/hfkv_connector.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hfkv_l2;

enum hfkv_l2_kind { HFKV_L2_STORE, HFKV_L2_LOOKUP, HFKV_L2_LOAD };
#define HFKV_L2_KINDS 3

/* Opens the adapter that an L2 document describes (see hfkv_connector_open). Needs no network: usage is rebuilt
 * from a listing in the background, or by the first call that needs it. */
enum hfkv_status hfkv_l2_open(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
			      struct hfkv_l2 **ret_l2, struct hfkv_error *error);

/* As hfkv_connector_close. Tasks that were not popped are given up: their items are the caller's when it
 * returns. */
void hfkv_l2_close(struct hfkv_l2 *l2);

/* Three distinct descriptors, owned by the adapter, readable when a task of that kind is done. The reader
 * clears them (read 8 bytes). */
int hfkv_l2_event_fd(const struct hfkv_l2 *l2, enum hfkv_l2_kind kind);

/* STORE: items carry data and length. LOOKUP: every key found is locked once (reference count), only whole
 * chunks where the size is known; all that are asked for are locked while it looks. LOAD: fills items' data; an item is OK only when whole. *ret_task is unique
 * over all kinds. Never blocks. A closing adapter or a full queue (4096 tasks) still takes the task, which then
 * fails at once. */
enum hfkv_status hfkv_l2_submit(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, struct hfkv_item *items, size_t count,
				uint64_t *ret_task, struct hfkv_error *error);

struct hfkv_l2_result {
	uint64_t task;
	enum hfkv_status status; /* OK: every item landed (STORE), or has an outcome of its own (LOOKUP, LOAD) */
	uint64_t bytes;          /* of the items that are OK */
	size_t ok_count;         /* items that are OK: stored, found and locked, loaded */
	struct hfkv_item *items; /* the array submitted; per-item statuses are the bitmap */
	size_t count;
	char text[256]; /* why, when status is not OK; else "" */
};

/* The result of one task: OK once, and NOT_FOUND while it is not done, when it was popped, or for an unknown
 * task. */
enum hfkv_status hfkv_l2_query(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, uint64_t task,
			       struct hfkv_l2_result *ret_result);

/* Pops up to `capacity` done tasks of one kind, oldest first, and returns how many. Never blocks. */
size_t hfkv_l2_pop(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, struct hfkv_l2_result *results, size_t capacity);

/* Takes one lock off each key; unknown keys are ignored. Never blocks, never fails. */
void hfkv_l2_unlock(struct hfkv_l2 *l2, const char *const *keys, size_t count);

/* Deletes what is not locked: items become OK (with the bytes counted before), or BUSY when locked. Blocks. */
enum hfkv_status hfkv_l2_delete(struct hfkv_l2 *l2, struct hfkv_item *items, size_t count, int64_t timeout_ms,
				struct hfkv_error *error);

struct hfkv_l2_usage {
	uint64_t total_bytes;
	uint64_t capacity_bytes; /* 0: no limit */
	double fraction;         /* total / capacity; -1 without a capacity (no eviction signal) */
	uint64_t keys;
	uint64_t locked_keys;
	int rebuilt; /* 1 once the listing after the start was taken in */
};

/* Never blocks: what is known now. */
void hfkv_l2_usage_read(struct hfkv_l2 *l2, struct hfkv_l2_usage *ret_usage);

/* Visits (salt, bytes) of every cache salt with bytes; "" is the unsalted one. Not from a visit. Never blocks. */
enum hfkv_status hfkv_l2_usage_by_salt(struct hfkv_l2 *l2, hfkv_visit visit, void *context);

/* Waits for the rebuild and visits every known key, oldest first. What a listener of LMCache is replayed.
 * Blocks. */
enum hfkv_status hfkv_l2_list(struct hfkv_l2 *l2, hfkv_visit visit, void *context, int64_t timeout_ms,
			      struct hfkv_error *error);

/* As hfkv_connector_ping. */
enum hfkv_status hfkv_l2_ping(struct hfkv_l2 *l2, struct hfkv_error *error);

#ifdef __cplusplus
}
#endif

#endif
