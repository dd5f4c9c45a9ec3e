/*
 * What a connector does its work on: KV chunks by key, in directories or in a bucket. Implementations are
 * fs_connector and bucket_connector; batches, threads, locks and usage are above (task_engine, l2_adapter).
 *
 * Implementations embed struct kv_backend as their first member. Thread rule: any thread, any number at once.
 * `run` may be given any part of a batch. Caller's buffers are touched only between call and return.
 */
#ifndef SRC_CONNECTOR_KV_BACKEND_H
#define SRC_CONNECTOR_KV_BACKEND_H

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fault.h"
#include "hfkv/hfkv_connector.h"

#include <stdbool.h>

struct kv_backend;

/* One key of a listing, borrowed during the visit. OK to go on; anything else ends the listing and is returned
 * by it. */
typedef enum hfkv_status (*kv_backend_visit)(void *context, const char *key, uint64_t bytes,
					     int64_t modified_at_ms);

/* Written to the implementer. */
struct kv_backend_class {
	const char *name; /* "fs", "hfbucket" */

	/* Do `operation` on every item and set its status and bytes (hfkv_connector.h says which). Keys were
	 * checked. Return OK when every item has an outcome of its own, for PUT only when each is stored; else
	 * the first failure, with the fault filled. An item whose outcome is not known carries that failure,
	 * never NOT_FOUND. */
	enum hfkv_status (*run)(struct kv_backend *backend, enum hfkv_operation operation, struct hfkv_item *items,
				size_t count, struct deadline deadline, struct fault *fault);

	/* Visit every whole chunk of this key family, in no order. */
	enum hfkv_status (*list)(struct kv_backend *backend, kv_backend_visit visit, void *context,
				 struct deadline deadline, struct fault *fault);

	/* Does the place answer? */
	enum hfkv_status (*ping)(struct kv_backend *backend, struct deadline deadline, struct fault *fault);

	/* How many items of a batch of `operation` one thread should take at a time: SIZE_MAX when a batch is
	 * one call. */
	size_t (*step)(const struct kv_backend *backend, enum hfkv_operation operation);

	/* Release everything; no call is in flight. May block until `deadline`. */
	void (*free)(struct kv_backend *backend, struct deadline deadline);
};

struct kv_backend {
	const struct kv_backend_class *class;
	bool multi_process; /* keys of the MP family, else of the other */
};

/* ---- calls, guarded ---- */

/* Clears the outputs, refuses keys of the wrong family or shape one by one and as the result (INVALID), and
 * gives the rest to `run`. */
MUST_CHECK enum hfkv_status kv_backend_run(struct kv_backend *backend, enum hfkv_operation operation,
					   struct hfkv_item *items, size_t count, struct deadline deadline,
					   struct fault *fault);
MUST_CHECK enum hfkv_status kv_backend_list(struct kv_backend *backend, kv_backend_visit visit, void *context,
					    struct deadline deadline, struct fault *fault);
/* A ping has its answer within this: LMCache's health check waits 5 s for it. */
#define KV_BACKEND_PING_MAX_MS 4500
MUST_CHECK enum hfkv_status kv_backend_ping(struct kv_backend *backend, struct deadline deadline,
					    struct fault *fault);
size_t kv_backend_step(const struct kv_backend *backend, enum hfkv_operation operation);
/* NULL is fine. */
void kv_backend_free(struct kv_backend *backend, struct deadline deadline);

/* Whether `operation` may have `key` on this side: OK, or INVALID naming the key and what it is. The old MP
 * form without a group is read, listed and removed, never written; a cache salt holds no slash or backslash, as
 * LMCache has it. */
enum hfkv_status kv_backend_check_key(bool multi_process, enum hfkv_operation operation, const char *key,
				      struct fault *fault);

#endif
