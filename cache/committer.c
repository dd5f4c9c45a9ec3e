#include "cache/committer.h"

#define BATCHES_IN_FLIGHT 3

struct committer {
	struct object_store *store;
	commit_settled settled;
	void *settled_context;

	pthread_mutex_t mutex;
	pthread_cond_t changed; /* a batch ended or a claim was released */
	struct commit_queue queue;
	struct path_claims claims;
	unsigned in_flight; /* batches */
	struct committer_counters counters;
};

enum hfkv_status committer_new(struct object_store *store, commit_settled settled, void *context,
			       struct committer **ret_committer)
{
	struct committer *committer = calloc(1, sizeof(*committer));
	if (!committer)
		return HFKV_NO_MEMORY;
	committer->store = store;
	committer->settled = settled;
	committer->settled_context = context;
	pthread_mutex_init(&committer->mutex, NULL);
	condition_init(&committer->changed);
	*ret_committer = committer;
	return HFKV_OK;
}

void committer_free(struct committer *committer)
{
	if (!committer)
		return;
	pthread_mutex_destroy(&committer->mutex);
	pthread_cond_destroy(&committer->changed);
	free(committer);
}

/* ---- one batch ---- */

/* Stores the batch; no lock is held. Fills each commit's status, hash and fault. */
static void store_batch(struct committer *committer, struct commit_batch *batch)
{
	struct fault fault = FAULT_NONE;
	CLEANUP(free_pointer) struct object_put *puts = calloc(batch->count, sizeof(*puts));
	for (size_t i = 0; puts && i < batch->count; i++)
		puts[i] = (struct object_put){ .path = batch->commits[i]->path,
					       .source = batch->commits[i]->source,
					       .modified_at_ms = batch->commits[i]->modified_at_ms,
					       .status = HFKV_BUG };
	enum hfkv_status status = HFKV_NO_MEMORY;
	if (puts)
		status = object_store_put_many(committer->store, puts, batch->count, NULL, NULL, batch->deadline,
					       &fault);
	for (size_t i = 0; i < batch->count; i++) {
		struct commit *commit = batch->commits[i];
		commit->status = puts ? puts[i].status : status;
		if (puts && puts[i].status == HFKV_OK)
			commit->hash = puts[i].hash;
		if (commit->status != HFKV_OK)
			commit->fault = puts && puts[i].fault.status != HFKV_OK ? puts[i].fault : fault;
		committer->settled(committer->settled_context, commit);
	}
}

/* Lock held. Counts a commit's outcome and lets its owner see it, or queues it once more when only the batch's
 * time is up. */
static void settle(struct committer *committer, struct commit *commit, struct deadline batch_deadline)
{
	path_claims_remove(&committer->claims, commit->path);
	if (commit->status == HFKV_TIMEOUT && deadline_passed(batch_deadline) &&
	    !deadline_passed(commit->deadline)) {
		commit_queue_push(&committer->queue, commit);
		return;
	}
	commit->state = COMMIT_DONE;
	if (commit->status == HFKV_OK) {
		committer->counters.commits++;
		committer->counters.committed_bytes += commit->source.size_bytes;
	} else {
		committer->counters.failures++;
	}
}

/* Lock held, given up while the store works. False when the path of `head` is claimed. */
static bool run_batch(struct committer *committer, struct commit *head, struct commit_batch *batch)
{
	if (!commit_queue_take_batch(&committer->queue, &committer->claims, head, batch))
		return false;
	committer->in_flight++;
	committer->counters.batches++;
	pthread_mutex_unlock(&committer->mutex);
	store_batch(committer, batch);
	pthread_mutex_lock(&committer->mutex);
	committer->in_flight--;
	for (size_t i = 0; i < batch->count; i++)
		settle(committer, batch->commits[i], batch->deadline);
	pthread_cond_broadcast(&committer->changed);
	return true;
}

/* ---- a caller's commits ---- */

/* Lock held. How many of the caller's are not DONE; the first of them that is queued and whose path is free goes
 * to *ret_head. */
static size_t open_commits(const struct committer *committer, struct commit *commits, size_t count,
			   struct commit **ret_head)
{
	size_t open = 0;
	*ret_head = NULL;
	for (size_t i = 0; i < count; i++) {
		open += commits[i].state != COMMIT_DONE;
		if (!*ret_head && commits[i].state == COMMIT_QUEUED &&
		    !path_claims_has(&committer->claims, commits[i].path))
			*ret_head = &commits[i];
	}
	return open;
}

/* Lock held. The deadline passed: what still waits is given up; what is in flight comes back by itself. */
static void withdraw_queued(struct committer *committer, struct commit *commits, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (commits[i].state != COMMIT_QUEUED)
			continue;
		commit_queue_remove(&committer->queue, &commits[i]);
		commits[i].state = COMMIT_DONE;
		commits[i].status =
		    fault_set(&commits[i].fault, HFKV_TIMEOUT, "'%s': no time left to store it; raise the timeout",
			      commits[i].path);
		committer->counters.failures++;
	}
}

enum hfkv_status committer_commit(struct committer *committer, struct commit *commits, size_t count,
				  struct deadline deadline)
{
	CLEANUP(free_pointer) struct commit_batch *batch = malloc(sizeof(*batch));
	for (size_t i = 0; i < count; i++) {
		commits[i].fault = FAULT_NONE;
		commits[i].deadline = deadline;
		commits[i].status = HFKV_NO_MEMORY;
	}
	if (!batch)
		return HFKV_NO_MEMORY;
	pthread_mutex_lock(&committer->mutex);
	for (size_t i = 0; i < count; i++)
		commit_queue_push(&committer->queue, &commits[i]);
	struct commit *head;
	while (open_commits(committer, commits, count, &head) > 0) {
		bool may_run = head && committer->in_flight < BATCHES_IN_FLIGHT && !deadline_passed(deadline);
		if (may_run && run_batch(committer, head, batch))
			continue;
		if (deadline_passed(deadline))
			withdraw_queued(committer, commits, count);
		if (open_commits(committer, commits, count, &head) == 0)
			break;
		/* Past the deadline only batches in flight are left, and they end by deadlines no later than ours.
		 */
		struct deadline wake = deadline_passed(deadline) ? DEADLINE_NONE : deadline;
		(void)deadline_wait(&committer->changed, &committer->mutex, wake);
	}
	pthread_mutex_unlock(&committer->mutex);
	for (size_t i = 0; i < count; i++)
		if (commits[i].status != HFKV_OK)
			return commits[i].status;
	return HFKV_OK;
}

/* ---- claims ---- */

/* Lock held. */
static bool all_free(const struct committer *committer, const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (path_claims_has(&committer->claims, paths[i]))
			return false;
	return true;
}

/* Lock held. Takes all or none. */
static bool add_claims(struct committer *committer, const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (path_claims_has(&committer->claims, paths[i]) || path_claims_add(&committer->claims, paths[i]))
			continue;
		while (i-- > 0)
			path_claims_remove(&committer->claims, paths[i]);
		return false;
	}
	return true;
}

enum hfkv_status committer_claim(struct committer *committer, const char *const *paths, size_t count,
				 struct deadline deadline)
{
	SCOPED_LOCK(&committer->mutex);
	while (!all_free(committer, paths, count))
		if (!deadline_wait(&committer->changed, &committer->mutex, deadline))
			return HFKV_TIMEOUT;
	return add_claims(committer, paths, count) ? HFKV_OK : HFKV_NO_MEMORY;
}

void committer_release(struct committer *committer, const char *const *paths, size_t count)
{
	SCOPED_LOCK(&committer->mutex);
	for (size_t i = 0; i < count; i++)
		path_claims_remove(&committer->claims, paths[i]);
	pthread_cond_broadcast(&committer->changed);
}

/* Lock held. */
static bool is_busy(const struct committer *committer, const char *path)
{
	bool claimed = path ? path_claims_has(&committer->claims, path) : !path_claims_empty(&committer->claims);
	return claimed || commit_queue_has(&committer->queue, path);
}

enum hfkv_status committer_wait_idle(struct committer *committer, const char *path, struct deadline deadline)
{
	SCOPED_LOCK(&committer->mutex);
	while (is_busy(committer, path))
		if (!deadline_wait(&committer->changed, &committer->mutex, deadline))
			return HFKV_TIMEOUT;
	return HFKV_OK;
}

struct committer_counters committer_counters(struct committer *committer)
{
	SCOPED_LOCK(&committer->mutex);
	struct committer_counters counters = committer->counters;
	counters.pending = committer->queue.count;
	return counters;
}
