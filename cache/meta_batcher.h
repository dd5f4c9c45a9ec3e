/*
 * Joins questions about objects into few calls of the store.
 *
 * A question that comes while nothing is going on is sent at once. Questions that come while a call is in flight
 * wait for it to return and go together. When a crowd asks (cache/asker_crowd.h), calls wait some ms for more of
 * it. So one stat after another pays no delay, and 1000 at once, which a kernel hands over in 80 to 500 ms, cost a
 * handful of calls. Equal paths share one question. When calls hang, up to four run side by side.
 *
 * Answers go into the object_meta_cache first. Errors are only passed on. Any thread; callbacks run without a
 * lock.
 */
#ifndef CACHE_META_BATCHER_H
#define CACHE_META_BATCHER_H

#include "cache/object_meta_cache.h"

struct meta_batcher;

/* Called once for each question: `meta` is valid when status is OK or NOT_FOUND, `fault` (borrowed) for others. */
typedef void (*meta_answered)(void *token, enum hfkv_status status, const struct object_meta *meta,
			      const struct fault *fault);

struct meta_question {
	const char *path; /* relative to the prefix; borrowed until meta_batcher_ask returns */
	uint64_t asker;   /* tells a crowd from one asker's many questions; 0: is never made to wait for company */
	meta_answered answered;
	void *token;
};

struct meta_batcher_settings {
	struct object_store *store;     /* borrowed for the life of the batcher */
	struct object_meta_cache *meta; /* borrowed likewise */
	const char *prefix;             /* "" or without outer slashes; borrowed likewise */
	int64_t timeout_ms;             /* a question is answered within this */
};

MUST_CHECK enum hfkv_status meta_batcher_new(const struct meta_batcher_settings *settings,
					     struct meta_batcher **ret_batcher);

/* Answers waiting questions with CANCELLED, waits for calls in flight. NULL is fine. */
void meta_batcher_free(struct meta_batcher *batcher);
DEFINE_CLEANUP(meta_batcher_free, struct meta_batcher *);

/* Never blocks. The questions of one call go to the store together. An impossible path is answered before return.
 */
void meta_batcher_ask(struct meta_batcher *batcher, const struct meta_question *questions, size_t count);

/* Calls of the store so far. */
uint64_t meta_batcher_calls(struct meta_batcher *batcher);

#endif
