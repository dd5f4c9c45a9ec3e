/*
 * Blocking questions over the meta_batcher: asks for several paths and waits for all, or for the deadline.
 *
 * Answers that come after the deadline still reach the metadata cache. Any thread.
 */
#ifndef CACHE_META_WAIT_H
#define CACHE_META_WAIT_H

#include "cache/meta_batcher.h"

/* One path. The caller fills path. */
struct meta_answer {
	const char *path;
	bool cached;             /* needed no call */
	enum hfkv_status status; /* OK and NOT_FOUND are answers; INVALID and OVERSIZE are the path's fault */
	struct object_meta meta; /* valid for OK and NOT_FOUND */
};

/* From the cache where it is fresh, the rest in as few calls as can be. Returns OK when every path has an answer
 * of its own, TIMEOUT or the store's failure otherwise (answers that did come are filled in). */
MUST_CHECK enum hfkv_status meta_wait_for(struct meta_batcher *batcher, struct object_meta_cache *meta,
					  struct meta_answer *answers, size_t count, struct deadline deadline,
					  struct fault *fault);

#endif
