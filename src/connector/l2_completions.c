#include "src/connector/l2_completions.h"

#include "common/cleanup.h"

#include <sys/eventfd.h>

enum hfkv_status l2_completions_init(struct l2_completions *completions, struct fault *fault)
{
	*completions = (struct l2_completions){ .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_init(&completions->mutex, NULL);
	return completions->event_fd >= 0 ? HFKV_OK : fault_set_errno(fault, errno, "eventfd");
}

void l2_completions_destroy(struct l2_completions *completions)
{
	if (completions->event_fd >= 0)
		close(completions->event_fd);
	pthread_mutex_destroy(&completions->mutex);
}

void l2_completions_add(struct l2_completions *completions, struct l2_completion *completion)
{
	pthread_mutex_lock(&completions->mutex);
	HASH_ADD(hh, completions->done, result.task, sizeof(completion->result.task), completion);
	pthread_mutex_unlock(&completions->mutex);
	/* Fails only when the counter is full, and then the descriptor is readable anyway. */
	eventfd_write(completions->event_fd, 1);
}

struct l2_completion *l2_completions_take(struct l2_completions *completions, uint64_t task)
{
	SCOPED_LOCK(&completions->mutex);
	struct l2_completion *completion;
	HASH_FIND(hh, completions->done, &task, sizeof(task), completion);
	if (completion)
		HASH_DEL(completions->done, completion);
	return completion;
}

struct l2_completion *l2_completions_take_oldest(struct l2_completions *completions)
{
	SCOPED_LOCK(&completions->mutex);
	struct l2_completion *completion = completions->done; /* uthash keeps the order of adding */
	if (completion)
		HASH_DEL(completions->done, completion);
	return completion;
}
