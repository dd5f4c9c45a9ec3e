/*
 * Results of one kind of L2 task that are done and not popped, and the eventfd that tells so.
 *
 * A result is in the queue before the descriptor becomes readable, and comes out once. Any thread.
 */
#ifndef SRC_CONNECTOR_L2_COMPLETIONS_H
#define SRC_CONNECTOR_L2_COMPLETIONS_H

#include "common/fault.h"
#include "hfkv/hfkv_l2.h"

#include <pthread.h>

#include <uthash.h>

/* Embedded in the adapter's own structure of a task. */
struct l2_completion {
	struct hfkv_l2_result result;
	UT_hash_handle hh; /* by result.task, oldest first */
};

struct l2_completions {
	pthread_mutex_t mutex;
	struct l2_completion *done; /* under mutex */
	int event_fd;
};

MUST_CHECK enum hfkv_status l2_completions_init(struct l2_completions *completions, struct fault *fault);
/* Closes the descriptor. Everything was taken before. */
void l2_completions_destroy(struct l2_completions *completions);

/* Queues `completion` (kept until it is taken), then signals. */
void l2_completions_add(struct l2_completions *completions, struct l2_completion *completion);

/* Takes the result of one task, or the oldest one; NULL when it is not there. The caller owns it again. */
struct l2_completion *l2_completions_take(struct l2_completions *completions, uint64_t task);
struct l2_completion *l2_completions_take_oldest(struct l2_completions *completions);

#endif
