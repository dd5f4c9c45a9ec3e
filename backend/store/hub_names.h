/*
 * Gives names to content and takes them away, and finds out what became of it.
 *
 * The Hub's batch call is no transaction: it may be applied in part, and its answer may be lost. So after a
 * failure that leaves the outcome open the Hub is asked what landed. All landed: success. None: sent again while
 * the deadline allows. Some: those are OK and the others carry the failure, as the caller has to learn of it. Time
 * for the question is kept back from the deadline. Any thread; blocks until `deadline`.
 */
#ifndef BACKEND_STORE_HUB_NAMES_H
#define BACKEND_STORE_HUB_NAMES_H

#include "backend/hub/hub_batch.h"

/* The caller fills kind, path, hash, size_bytes and modified_at_ms. */
struct hub_name_change {
	enum hub_batch_kind kind;
	const char *path;         /* borrowed until return */
	struct content_hash hash; /* add and copy */
	uint64_t size_bytes;      /* add and copy: to know the object again */
	int64_t modified_at_ms;   /* add and copy */

	enum hfkv_status status;
	struct fault fault; /* why, when status is not OK */
};

struct hub_names {
	struct hub_client *hub;
	/* The bucket is missing: make it and return OK to go on, or return why not. May be called more than once.
	 */
	enum hfkv_status (*on_missing_bucket)(void *context, struct deadline deadline, struct fault *fault);
	void *context;
};

/* Applies the changes in order, 1000 a call. Sets every status. Returns OK when every change is OK, else the first
 * failure. */
MUST_CHECK enum hfkv_status hub_names_change(const struct hub_names *names, struct hub_name_change *changes,
					     size_t count, struct deadline deadline, struct fault *fault);

/* Asks the Hub which of at most HUB_BATCH_MAX_LINES changes have landed: those are OK, the others UNAVAILABLE. A
 * failure to ask is returned and changes no status. */
MUST_CHECK enum hfkv_status hub_names_check(const struct hub_names *names, struct hub_name_change *changes,
					    size_t count, struct deadline deadline, struct fault *fault);

#endif
