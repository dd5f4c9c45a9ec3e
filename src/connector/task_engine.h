/*
 * Batches of items run by a bounded number of threads over one kv_backend.
 *
 * A task is a batch in parts: threads take the next few items (kv_backend_step) until none is left, and the last
 * to finish reports the whole. So one big batch uses all threads, many small ones run beside each other, and a
 * batch that is one call to the backend (a bucket) is one thread's.
 *
 * Any thread. Nothing is called with a lock held.
 */
#ifndef SRC_CONNECTOR_TASK_ENGINE_H
#define SRC_CONNECTOR_TASK_ENGINE_H

#include "src/connector/kv_backend.h"

#include <stdatomic.h>

struct task_engine;
struct task;

/* Called exactly once for each task taken, when no thread touches its items any more, from a thread of the
 * engine or from the submitter. Owns the task: ends with task_free. */
typedef void (*task_done)(struct task *task, void *context);

/* Made by task_engine_submit. Until done is called: read id and nothing else. */
struct task {
	uint64_t id; /* the submitter's */
	enum hfkv_operation operation;
	struct hfkv_item *items; /* borrowed */
	size_t count;
	enum hfkv_status status; /* the first failure; CANCELLED when items were given up; else OK */
	struct fault fault;      /* of that failure */
	struct task *next;       /* the submitter's, once it is done */
};

/* `backend` is borrowed for the life of the engine. */
MUST_CHECK enum hfkv_status task_engine_new(struct kv_backend *backend, size_t max_threads,
					    struct task_engine **ret_engine);

/* Gives up what waits (done is still called, with CANCELLED items), waits for what runs, ends the threads. NULL
 * is fine. */
void task_engine_free(struct task_engine *engine);
DEFINE_CLEANUP(task_engine_free, struct task_engine *);

struct task_request {
	uint64_t id;
	enum hfkv_operation operation;
	struct hfkv_item *items;
	size_t count;
	int64_t timeout_ms; /* of each call to the backend, from when it starts */
	task_done done;
	void *context;
};

/* Never blocks. BUSY or CANCELLED or NO_MEMORY: nothing was taken, and done is not called. */
MUST_CHECK enum hfkv_status task_engine_submit(struct task_engine *engine, const struct task_request *request);

/* Asks that items which did not start be given up. The task may be done already: `id` says which is meant. */
void task_engine_cancel(struct task_engine *engine, uint64_t id);

/* Runs a batch with the calling thread as one of those that work on it. Blocks. */
MUST_CHECK enum hfkv_status task_engine_run(struct task_engine *engine, enum hfkv_operation operation,
					    struct hfkv_item *items, size_t count, int64_t timeout_ms,
					    struct fault *fault);

/* Runs `function` once on a thread of its own, one such after the other, or not at all when the engine ends
 * first or 64 wait (false). It should end soon after *task_engine_stopping becomes true. */
bool task_engine_run_aside(struct task_engine *engine, void (*function)(void *context), void *context);
const atomic_bool *task_engine_stopping(const struct task_engine *engine);

void task_free(struct task *task);

#endif
