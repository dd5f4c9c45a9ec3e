#include "cache/meta_wait.h"

#include <string.h>

struct wait_group;

struct wait_slot {
	struct wait_group *group;
	bool answered;
	enum hfkv_status status;
	struct object_meta meta;
};

/* Shared with the callbacks, which may come after the asker left: freed by the last of them all. */
struct wait_group {
	pthread_mutex_t mutex;
	pthread_cond_t complete;
	size_t unanswered;
	bool left;          /* the asker is gone */
	struct fault fault; /* of the first failure */
	struct wait_slot slots[];
};

static struct wait_group *group_new(size_t count)
{
	struct wait_group *group = calloc(1, sizeof(*group) + count * sizeof(struct wait_slot));
	if (!group)
		return NULL;
	pthread_mutex_init(&group->mutex, NULL);
	condition_init(&group->complete);
	group->unanswered = count;
	group->fault = FAULT_NONE;
	for (size_t i = 0; i < count; i++)
		group->slots[i].group = group;
	return group;
}

static void group_free(struct wait_group *group)
{
	pthread_mutex_destroy(&group->mutex);
	pthread_cond_destroy(&group->complete);
	free(group);
}

static void slot_answered(void *token, enum hfkv_status status, const struct object_meta *meta,
			  const struct fault *fault)
{
	struct wait_slot *slot = token;
	struct wait_group *group = slot->group;
	pthread_mutex_lock(&group->mutex);
	slot->answered = true;
	slot->status = status;
	if (meta)
		slot->meta = *meta;
	if (fault && group->fault.status == HFKV_OK)
		group->fault = *fault;
	bool last = --group->unanswered == 0;
	bool orphaned = last && group->left;
	if (last)
		pthread_cond_signal(&group->complete);
	pthread_mutex_unlock(&group->mutex);
	if (orphaned)
		group_free(group);
}

static bool is_answer(enum hfkv_status status)
{
	return status == HFKV_OK || status == HFKV_NOT_FOUND || status == HFKV_INVALID || status == HFKV_OVERSIZE;
}

/* Waits, takes the answers over, and leaves the group. `open` holds the answers asked for, in the order of the
 * slots. */
static enum hfkv_status collect(struct wait_group *group, struct meta_answer **open, size_t count,
				struct deadline deadline, struct fault *fault)
{
	enum hfkv_status result = HFKV_OK;
	pthread_mutex_lock(&group->mutex);
	while (group->unanswered > 0)
		if (!deadline_wait(&group->complete, &group->mutex, deadline))
			break;
	for (size_t i = 0; i < count; i++) {
		const struct wait_slot *slot = &group->slots[i];
		open[i]->status = slot->answered ? slot->status : HFKV_TIMEOUT;
		open[i]->meta = slot->meta;
		if (result == HFKV_OK && !is_answer(open[i]->status))
			result = open[i]->status;
	}
	bool told = group->fault.status == result;
	if (fault && result != HFKV_OK && told)
		*fault = group->fault;
	else if (result != HFKV_OK)
		(void)fault_set(fault, result, "stat of '%s': %s", open[0]->path, hfkv_status_name(result));
	group->left = true;
	bool complete = group->unanswered == 0;
	pthread_mutex_unlock(&group->mutex);
	if (complete)
		group_free(group);
	return result;
}

static enum hfkv_status ask_open(struct meta_batcher *batcher, struct meta_answer **open, size_t count,
				 struct deadline deadline, struct fault *fault)
{
	struct wait_group *group = group_new(count);
	CLEANUP(free_pointer) struct meta_question *questions = calloc(count, sizeof(*questions));
	if (!group || !questions) {
		if (group)
			group_free(group);
		return fault_set(fault, HFKV_NO_MEMORY, "stat: out of memory");
	}
	for (size_t i = 0; i < count; i++)
		questions[i] = (struct meta_question){ open[i]->path, 0, slot_answered, &group->slots[i] };
	meta_batcher_ask(batcher, questions, count);
	return collect(group, open, count, deadline, fault);
}

enum hfkv_status meta_wait_for(struct meta_batcher *batcher, struct object_meta_cache *meta,
			       struct meta_answer *answers, size_t count, struct deadline deadline,
			       struct fault *fault)
{
	CLEANUP(free_pointer) struct meta_answer **open = NULL;
	size_t open_count = 0;
	for (size_t i = 0; i < count; i++) {
		answers[i].cached = object_meta_cache_get(meta, answers[i].path, &answers[i].meta);
		if (answers[i].cached) {
			answers[i].status = answers[i].meta.status;
			continue;
		}
		if (!open)
			open = calloc(count - i, sizeof(struct meta_answer *));
		if (!open)
			return fault_set(fault, HFKV_NO_MEMORY, "stat: out of memory");
		open[open_count++] = &answers[i];
	}
	return open_count ? ask_open(batcher, open, open_count, deadline, fault) : HFKV_OK;
}
