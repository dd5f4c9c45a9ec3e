#include "cache/commit_queue.h"

#include <string.h>

void commit_queue_push(struct commit_queue *queue, struct commit *commit)
{
	commit->state = COMMIT_QUEUED;
	commit->next = NULL;
	commit->previous = queue->last;
	if (queue->last)
		queue->last->next = commit;
	else
		queue->first = commit;
	queue->last = commit;
	queue->count++;
}

void commit_queue_remove(struct commit_queue *queue, struct commit *commit)
{
	if (commit->next)
		commit->next->previous = commit->previous;
	else
		queue->last = commit->previous;
	if (commit->previous)
		commit->previous->next = commit->next;
	else
		queue->first = commit->next;
	commit->next = commit->previous = NULL;
	queue->count--;
}

bool commit_queue_has(const struct commit_queue *queue, const char *path)
{
	if (!path)
		return queue->count > 0;
	for (const struct commit *commit = queue->first; commit; commit = commit->next)
		if (strcmp(commit->path, path) == 0)
			return true;
	return false;
}

/* Moves one commit from the queue into a batch when its path is free. */
static bool take(struct commit_queue *queue, struct path_claims *claims, struct commit *commit)
{
	if (path_claims_has(claims, commit->path) || !path_claims_add(claims, commit->path))
		return false;
	commit_queue_remove(queue, commit);
	commit->state = COMMIT_IN_FLIGHT;
	return true;
}

/* Whether the head's batch may be bound to this commit's deadline: it leaves at least half of the head's time. */
static bool has_time_for(const struct commit *commit, const struct commit *head)
{
	return deadline_left_ms(commit->deadline) >= deadline_left_ms(head->deadline) / 2;
}

bool commit_queue_take_batch(struct commit_queue *queue, struct path_claims *claims, struct commit *head,
			     struct commit_batch *batch)
{
	if (!take(queue, claims, head))
		return false;
	batch->count = 0;
	batch->commits[batch->count++] = head;
	batch->deadline = head->deadline;
	uint64_t bytes = head->source.size_bytes;
	for (struct commit *commit = queue->first, *next; commit && batch->count < COMMIT_BATCH_NAMES;
	     commit = next) {
		next = commit->next;
		bool fits = bytes + commit->source.size_bytes <= COMMIT_BATCH_BYTES;
		if (!fits || !has_time_for(commit, head) || !take(queue, claims, commit))
			continue;
		bytes += commit->source.size_bytes;
		batch->deadline = deadline_earlier(batch->deadline, commit->deadline);
		batch->commits[batch->count++] = commit;
	}
	return true;
}
