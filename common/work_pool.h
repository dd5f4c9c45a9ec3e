/*
 * A bounded, elastic pool of threads for work that blocks (network, disk).
 *
 * Threads start when work arrives and none is idle, up to max_threads, and end after idle_ms without
 * work, so that a stalled server costs parked threads and never the next caller. Each job runs exactly
 * once, or is given to its `cancel` exactly once when the pool shuts down before it ran.
 *
 * Any thread may submit; jobs run without any lock of the pool held.
 */
#ifndef COMMON_WORK_POOL_H
#define COMMON_WORK_POOL_H

#include "common/attributes.h"
#include "common/cleanup.h"
#include "hfkv/hfkv_status.h"

#include <stddef.h>

struct work_pool;

struct work_pool_settings {
	const char *name;    /* thread name prefix, at most 9 bytes are kept; borrowed during the call */
	size_t max_threads;  /* at least 1 */
	size_t max_queued;   /* jobs waiting for a thread; submit says BUSY beyond */
	int idle_ms;         /* an idle thread ends after this */
	size_t stack_bytes;  /* 0: 256 KiB */
};

/* An item embedded in the submitter's own structure. The pool owns it from submit until it calls one of
 * the two functions, which may free it. */
struct work_item {
	void (*run)(struct work_item *item);
	void (*cancel)(struct work_item *item);
	struct work_item *next; /* the pool's */
};

MUST_CHECK enum hfkv_status work_pool_new(const struct work_pool_settings *settings, struct work_pool **ret_pool);

/* Never blocks. OK: taken. BUSY: the queue is full; CANCELLED: shutting down; both leave the item with the caller. */
MUST_CHECK enum hfkv_status work_pool_submit(struct work_pool *pool, struct work_item *item);

/* Cancels what waits, lets running jobs end (blocks for them), frees the pool. NULL is fine.
 * Not from a job of the same pool. */
void work_pool_free(struct work_pool *pool);
DEFINE_CLEANUP(work_pool_free, struct work_pool *);

#endif
