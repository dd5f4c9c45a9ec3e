/* Writing: bodies, commits, removals, renames. */
#include "cache/kv_cache_parts.h"
#include "cache/listing_load.h"
#include "cache/meta_wait.h"

#include <string.h>
#include <sys/sendfile.h>

/* What the settling of one commit needs to know beside the commit. */
struct store_job {
	const char *path;         /* relative to the prefix */
	struct staged_file *body; /* becomes clean cache when it is stored; NULL: nothing to keep */
	struct object_info info;  /* as stored */
};

/* ---- checks ---- */

enum hfkv_status kv_cache_check_path(struct kv_cache *cache, const char *path)
{
	CLEANUP(free_pointer) char *full = kv_cache_full_path(cache, path);
	if (!full)
		return HFKV_NO_MEMORY;
	enum hfkv_status status = object_path_check(path);
	return status == HFKV_OK ? object_path_check(full) : status;
}

enum hfkv_status kv_cache_check_size(struct kv_cache *cache, const char *path, uint64_t size_bytes,
				     struct fault *fault)
{
	struct fault refusal = FAULT_NONE;
	enum hfkv_status status = kv_chunk_check_incoming(&cache->check, path, size_bytes, &refusal);
	if (status == HFKV_OK)
		return HFKV_OK;
	kv_chunk_check_count_refusal(&cache->check, status, &refusal);
	if (fault)
		*fault = refusal;
	return status;
}

void kv_cache_count_refusal(struct kv_cache *cache, enum hfkv_status status, const struct fault *fault)
{
	kv_chunk_check_count_refusal(&cache->check, status, fault);
}

/* ---- commits ---- */

void kv_cache_commit_settled(void *context, struct commit *commit)
{
	struct kv_cache *cache = context;
	struct store_job *job = commit->context;
	if (commit->status != HFKV_OK) {
		object_meta_cache_forget(cache->meta, job->path);
		return;
	}
	job->info = (struct object_info){ commit->source.size_bytes, commit->hash, commit->modified_at_ms };
	/* The body first: whoever learns of the object finds it staged. */
	if (job->body && commit->source.size_bytes > 0)
		staging_area_publish(cache->staging, job->body, &commit->hash);
	object_meta_cache_wrote(cache->meta, job->path, &job->info);
	listing_cache_note(cache->listings, job->path, &job->info);
}

enum hfkv_status kv_cache_new_body(struct kv_cache *cache, uint64_t expected_bytes, struct staged_file **ret_file,
				   struct fault *fault)
{
	return staging_area_new_body(cache->staging, STAGING_FOR_WRITE, expected_bytes, ret_file, fault);
}

/* A copy of the body as it is now, that nobody else can write. */
static enum hfkv_status copy_body(struct kv_cache *cache, struct staged_file *body, uint64_t size_bytes,
				  struct staged_file **ret_copy, struct fault *fault)
{
	CLEANUP(staged_file_unrefp) struct staged_file *copy = NULL;
	enum hfkv_status status =
	    staging_area_new_body(cache->staging, STAGING_FOR_WRITE, size_bytes, &copy, fault);
	if (status != HFKV_OK)
		return status;
	off_t offset = 0;
	while ((uint64_t)offset < size_bytes) {
		ssize_t count =
		    sendfile(staged_file_fd(copy), staged_file_fd(body), &offset, size_bytes - (uint64_t)offset);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return fault_set_errno(fault, errno, "a body of %llu bytes cannot be copied",
					       (unsigned long long)size_bytes);
		if (count == 0)
			return fault_set(fault, HFKV_CHANGED, "a body became shorter while it was stored");
	}
	*ret_copy = TAKE_PTR(copy);
	return HFKV_OK;
}

/* Commits one body under the relative `path`. */
static enum hfkv_status commit_body(struct kv_cache *cache, struct staged_file *body, uint64_t size_bytes,
				    struct store_job *job, struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) char *full = kv_cache_full_path(cache, job->path);
	if (!full)
		return fault_set(fault, HFKV_NO_MEMORY, "'%s': out of memory", job->path);
	struct commit commit = { .path = full,
				 .source = { .fd = staged_file_fd(body), .size_bytes = size_bytes },
				 .modified_at_ms = clock_wall_ms(),
				 .context = job };
	enum hfkv_status status = committer_commit(cache->committer, &commit, 1, kv_cache_bound(cache, deadline));
	if (status != HFKV_OK && fault)
		*fault = commit.fault;
	return status;
}

enum hfkv_status kv_cache_publish(struct kv_cache *cache, struct staged_file *body, const char *path, int flags,
				  struct deadline deadline, struct object_info *ret_info, struct fault *fault)
{
	uint64_t size_bytes = staged_file_size(body);
	enum hfkv_status status = kv_cache_check_writable(cache, path, fault);
	if (status == HFKV_OK)
		status = kv_cache_check_size(cache, path, size_bytes, fault);
	if (status != HFKV_OK)
		return status;
	struct store_job job = { .path = path };
	CLEANUP(staged_file_unrefp) struct staged_file *source = NULL;
	if (flags & KV_CACHE_PUBLISH_STILL_WRITTEN) {
		status = copy_body(cache, body, size_bytes, &source, fault);
		if (status != HFKV_OK)
			return status;
	} else {
		source = staged_file_ref(body);
		job.body = body;
	}
	status = commit_body(cache, source, size_bytes, &job, deadline, fault);
	if (status == HFKV_OK && ret_info)
		*ret_info = job.info;
	return status;
}

/* ---- stores from memory ---- */

/* Parallel arrays for one put_many; all freed by store_batch_done. */
struct store_batch {
	size_t count; /* admitted puts */
	struct commit *commits;
	struct store_job *jobs;
	size_t *put_of; /* index of the caller's put */
};

static void store_batch_done(struct store_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		free((char *)batch->commits[i].path);
	free(batch->commits);
	free(batch->jobs);
	free(batch->put_of);
}

static enum hfkv_status add_put(struct kv_cache *cache, struct store_batch *batch, const struct object_put *put,
				size_t index)
{
	char *full = kv_cache_full_path(cache, put->path);
	if (!full)
		return HFKV_NO_MEMORY;
	struct store_job *job = &batch->jobs[batch->count];
	*job = (struct store_job){ .path = put->path };
	batch->put_of[batch->count] = index;
	batch->commits[batch->count++] =
	    (struct commit){ .path = full,
			     .source = put->source,
			     .modified_at_ms = put->modified_at_ms ? put->modified_at_ms : clock_wall_ms(),
			     .context = job };
	return HFKV_OK;
}

enum hfkv_status kv_cache_put_many(struct kv_cache *cache, struct object_put *puts, size_t count,
				   struct deadline deadline, struct fault *fault)
{
	enum hfkv_status result = kv_cache_check_writable(cache, count ? puts[0].path : "", fault);
	if (result != HFKV_OK || count == 0)
		return result;
	CLEANUP(store_batch_done)
	struct store_batch batch = { .commits = calloc(count, sizeof(struct commit)),
				     .jobs = calloc(count, sizeof(struct store_job)),
				     .put_of = calloc(count, sizeof(size_t)) };
	if (!batch.commits || !batch.jobs || !batch.put_of)
		return fault_set(fault, HFKV_NO_MEMORY, "store: out of memory");
	for (size_t i = 0; i < count; i++) {
		puts[i].fault = FAULT_NONE;
		puts[i].status =
		    kv_cache_check_size(cache, puts[i].path, puts[i].source.size_bytes, &puts[i].fault);
		if (puts[i].status == HFKV_OK)
			puts[i].status = add_put(cache, &batch, &puts[i], i);
	}
	(void)!committer_commit(cache->committer, batch.commits, batch.count, kv_cache_bound(cache, deadline));
	for (size_t i = 0; i < batch.count; i++) {
		struct object_put *put = &puts[batch.put_of[i]];
		put->status = batch.commits[i].status;
		put->hash = batch.commits[i].hash;
		put->fault = batch.commits[i].fault;
	}
	for (size_t i = 0; result == HFKV_OK && i < count; i++) {
		result = puts[i].status;
		if (result != HFKV_OK && fault)
			*fault = puts[i].fault;
	}
	return result;
}

/* ---- removals and renames ---- */

static void note_removed(struct kv_cache *cache, const char *path, enum hfkv_status status)
{
	if (status != HFKV_OK) {
		object_meta_cache_forget(cache->meta, path);
		return;
	}
	object_meta_cache_removed(cache->meta, path);
	listing_cache_note(cache->listings, path, NULL);
}

/* Full paths of a removal, with their claims. */
struct removal {
	size_t count;
	char **full;
	struct object_stat *items;
};

static void removal_done(struct removal *removal)
{
	for (size_t i = 0; removal->full && i < removal->count; i++)
		free(removal->full[i]);
	free(removal->full);
	free(removal->items);
}

static bool removal_init(const struct kv_cache *cache, const struct object_stat *paths, size_t count,
			 struct removal *removal)
{
	removal->full = calloc(count, sizeof(*removal->full));
	removal->items = calloc(count, sizeof(*removal->items));
	if (!removal->full || !removal->items)
		return false;
	for (; removal->count < count; removal->count++) {
		size_t i = removal->count;
		removal->full[i] = kv_cache_full_path(cache, paths[i].path);
		if (!removal->full[i])
			return false;
		removal->items[i] = (struct object_stat){ .path = removal->full[i], .status = HFKV_BUG };
	}
	return true;
}

enum hfkv_status kv_cache_remove_many(struct kv_cache *cache, struct object_stat *paths, size_t count,
				      struct deadline deadline, struct fault *fault)
{
	enum hfkv_status status = kv_cache_check_writable(cache, count ? paths[0].path : "", fault);
	if (status != HFKV_OK || count == 0)
		return status;
	CLEANUP(removal_done) struct removal removal = { 0 };
	if (!removal_init(cache, paths, count, &removal))
		return fault_set(fault, HFKV_NO_MEMORY, "removal: out of memory");
	deadline = kv_cache_bound(cache, deadline);
	const char *const *full = (const char *const *)removal.full;
	status = committer_claim(cache->committer, full, count, deadline);
	if (status != HFKV_OK)
		return fault_set(fault, status, "removal of '%s': another change of it did not end in time",
				 paths[0].path);
	status = object_store_delete_many(cache->store, removal.items, count, deadline, fault);
	for (size_t i = 0; i < count; i++) {
		paths[i].status = removal.items[i].status;
		note_removed(cache, paths[i].path, paths[i].status);
	}
	committer_release(cache->committer, full, count);
	return status;
}

/* One rename. */
struct renaming {
	const char *from, *to; /* relative to the prefix */
	char *full_from, *full_to;
	struct object_info info; /* of what is renamed */
};

static void renaming_done(struct renaming *renaming)
{
	free(renaming->full_from);
	free(renaming->full_to);
}

/* Whether `from` can take the name `to`; fills in what it is. */
static enum hfkv_status check_rename(struct kv_cache *cache, struct renaming *renaming, int flags,
				     struct deadline deadline, struct fault *fault)
{
	struct meta_answer answers[] = { { .path = renaming->from }, { .path = renaming->to } };
	enum hfkv_status status = meta_wait_for(cache->batcher, cache->meta, answers, 2, deadline, fault);
	if (status != HFKV_OK)
		return status;
	if (answers[0].status != HFKV_OK)
		return answers[0].status;
	if (answers[1].status != HFKV_OK && answers[1].status != HFKV_NOT_FOUND)
		return fault_set(fault, answers[1].status, "'%s' cannot be an object path", renaming->to);
	if (answers[1].status == HFKV_OK && (flags & KV_CACHE_RENAME_NO_REPLACE))
		return fault_set(fault, HFKV_EXISTS, "'%s' exists", renaming->to);
	renaming->info = answers[0].meta.info;
	return kv_cache_check_size(cache, renaming->to, renaming->info.size_bytes, fault);
}

/* Renames in the bucket and in what is known; both paths are claimed. */
static enum hfkv_status rename_claimed(struct kv_cache *cache, const struct renaming *renaming,
				       struct deadline deadline, struct fault *fault)
{
	enum hfkv_status status = object_store_rename(cache->store, renaming->full_from, &renaming->info,
						      renaming->full_to, deadline, fault);
	note_removed(cache, renaming->from, status);
	if (status != HFKV_OK) {
		object_meta_cache_forget(cache->meta, renaming->to);
		return status;
	}
	object_meta_cache_wrote(cache->meta, renaming->to, &renaming->info);
	listing_cache_note(cache->listings, renaming->to, &renaming->info);
	return HFKV_OK;
}

enum hfkv_status kv_cache_rename(struct kv_cache *cache, const char *from, const char *to, int flags,
				 struct deadline deadline, struct fault *fault)
{
	CLEANUP(renaming_done) struct renaming renaming = { .from = from, .to = to };
	deadline = kv_cache_bound(cache, deadline);
	enum hfkv_status status = kv_cache_check_writable(cache, from, fault);
	if (status == HFKV_OK)
		status = check_rename(cache, &renaming, flags, deadline, fault);
	if (status != HFKV_OK || strcmp(from, to) == 0)
		return status;
	renaming.full_from = kv_cache_full_path(cache, from);
	renaming.full_to = kv_cache_full_path(cache, to);
	if (!renaming.full_from || !renaming.full_to)
		return fault_set(fault, HFKV_NO_MEMORY, "rename of '%s': out of memory", from);
	const char *const full[] = { renaming.full_from, renaming.full_to };
	status = committer_claim(cache->committer, full, 2, deadline);
	if (status != HFKV_OK)
		return fault_set(fault, status, "rename of '%s': another change of it did not end in time", from);
	status = rename_claimed(cache, &renaming, deadline, fault);
	committer_release(cache->committer, full, 2);
	return status;
}

enum hfkv_status kv_cache_sync(struct kv_cache *cache, const char *path, struct deadline deadline,
			       struct fault *fault)
{
	CLEANUP(free_pointer) char *full = path ? kv_cache_full_path(cache, path) : NULL;
	if (path && !full)
		return fault_set(fault, HFKV_NO_MEMORY, "sync of '%s': out of memory", path);
	enum hfkv_status status = committer_wait_idle(cache->committer, full, kv_cache_bound(cache, deadline));
	if (status != HFKV_OK)
		return fault_set(fault, status, "sync of '%s': stores are still under way",
				 path ? path : "everything");
	return HFKV_OK;
}
