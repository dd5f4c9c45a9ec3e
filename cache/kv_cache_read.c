/* Reading: pinned staged files for the mount, loads into memory for the connectors. */
#include "cache/kv_cache_parts.h"
#include "cache/meta_wait.h"

#define LOAD_RUNNERS_MAX 16 /* threads that one kv_cache_load_many takes */

static void forget_when_bytes_failed(struct kv_cache *cache, const char *path, enum hfkv_status status)
{
	if (status == HFKV_NOT_FOUND || status == HFKV_CORRUPT)
		object_meta_cache_forget(cache->meta, path);
}

/* ---- staged files ---- */

static enum hfkv_status find_object(struct kv_cache *cache, const char *path, struct deadline deadline,
				    struct object_info *ret_info, struct fault *fault)
{
	struct meta_answer answer = { .path = path };
	enum hfkv_status status = meta_wait_for(cache->batcher, cache->meta, &answer, 1, deadline, fault);
	if (status == HFKV_OK && (answer.status == HFKV_INVALID || answer.status == HFKV_OVERSIZE))
		return fault_set(fault, answer.status, "'%s' cannot be an object path", path);
	if (status == HFKV_OK && answer.status == HFKV_OK)
		*ret_info = answer.meta.info;
	return status == HFKV_OK ? answer.status : status;
}

static enum hfkv_status stage(struct kv_cache *cache, const struct object_info *info, struct deadline deadline,
			      struct staged_file **ret_file, struct fault *fault)
{
	if (info->size_bytes == 0)
		return staging_area_new_body(cache->staging, STAGING_FOR_READ, 0, ret_file, fault);
	return fetch_table_stage(cache->fetches, info, deadline, ret_file, fault);
}

enum hfkv_status kv_cache_open_reader(struct kv_cache *cache, const char *path, struct deadline deadline,
				      struct staged_file **ret_file, struct object_info *ret_info,
				      struct fault *fault)
{
	deadline = kv_cache_bound(cache, deadline);
	/* Content that is gone means metadata from before a replacement: worth one more question. */
	for (int tries = 0;; tries++) {
		struct object_info info;
		enum hfkv_status status = find_object(cache, path, deadline, &info, fault);
		if (status != HFKV_OK)
			return status;
		status = stage(cache, &info, deadline, ret_file, fault);
		forget_when_bytes_failed(cache, path, status);
		if (status == HFKV_OK && ret_info)
			*ret_info = info;
		if (status != HFKV_NOT_FOUND || tries > 0)
			return status;
	}
}

struct staged_file *kv_cache_open_reader_now(struct kv_cache *cache, const char *path,
					     struct object_info *ret_info)
{
	struct object_meta meta;
	if (!object_meta_cache_get(cache->meta, path, &meta) || meta.status != HFKV_OK)
		return NULL;
	struct staged_file *file = staging_area_find(cache->staging, &meta.info.hash);
	if (file && ret_info)
		*ret_info = meta.info;
	return file;
}

enum hfkv_status kv_cache_read_range(struct kv_cache *cache, const struct object_info *info, uint64_t offset,
				     uint64_t length, uint8_t *into, uint64_t *ret_bytes, struct deadline deadline,
				     struct fault *fault)
{
	struct object_sink sink = { .memory = into, .fd = -1 };
	return object_store_read_range(cache->store, info, offset, length, &sink, ret_bytes,
				       kv_cache_bound(cache, deadline), fault);
}

/* ---- loads ---- */

/* One kv_cache_load_many: its loads are taken one by one by its own thread and by runners of the pool. Freed by
 * the last of them; a runner that starts late finds nothing left and touches nothing of the caller's. */
struct load_group {
	struct kv_cache *cache;
	struct kv_cache_load *loads;       /* the caller's: touched only while `running` counts the toucher */
	const struct meta_answer *answers; /* likewise */
	size_t count;
	struct deadline deadline;
	pthread_mutex_t mutex;
	pthread_cond_t idle;
	size_t next, running;
	unsigned references;
	struct load_runner {
		struct work_item item;
		struct load_group *group;
	} runners[LOAD_RUNNERS_MAX];
};

static void group_unref(struct load_group *group)
{
	pthread_mutex_lock(&group->mutex);
	bool last = --group->references == 0;
	pthread_mutex_unlock(&group->mutex);
	if (!last)
		return;
	pthread_mutex_destroy(&group->mutex);
	pthread_cond_destroy(&group->idle);
	free(group);
}

static void load_one(struct load_group *group, size_t index)
{
	struct kv_cache_load *load = &group->loads[index];
	const struct meta_answer *answer = &group->answers[index];
	const struct object_info *info = &answer->meta.info;
	load->status = answer->status;
	if (load->status == HFKV_OK && info->size_bytes != load->length)
		load->status = HFKV_NOT_FOUND;
	if (load->status != HFKV_OK || load->length == 0)
		return;
	load->status = fetch_table_load(group->cache->fetches, info, load->into, group->deadline, &load->fault);
	forget_when_bytes_failed(group->cache, load->path, load->status);
}

/* Takes loads until there are none left. */
static void run_loads(struct load_group *group)
{
	pthread_mutex_lock(&group->mutex);
	while (group->next < group->count) {
		size_t index = group->next++;
		group->running++;
		pthread_mutex_unlock(&group->mutex);
		load_one(group, index);
		pthread_mutex_lock(&group->mutex);
		group->running--;
	}
	if (group->running == 0)
		pthread_cond_signal(&group->idle);
	pthread_mutex_unlock(&group->mutex);
}

static void runner_run(struct work_item *item)
{
	struct load_group *group = ((struct load_runner *)item)->group;
	run_loads(group);
	group_unref(group);
}

static void runner_cancel(struct work_item *item)
{
	group_unref(((struct load_runner *)item)->group);
}

/* Without a free thread the caller's own does all the work. */
static void start_runners(struct load_group *group, size_t wanted)
{
	for (size_t i = 0; i < wanted; i++) {
		group->runners[i] = (struct load_runner){ { runner_run, runner_cancel, NULL }, group };
		pthread_mutex_lock(&group->mutex);
		group->references++;
		pthread_mutex_unlock(&group->mutex);
		if (work_pool_submit(group->cache->pool, &group->runners[i].item) == HFKV_OK)
			continue;
		group_unref(group);
		return;
	}
}

static enum hfkv_status load_answered(struct kv_cache *cache, struct kv_cache_load *loads,
				      const struct meta_answer *answers, size_t count, struct deadline deadline,
				      struct fault *fault)
{
	struct load_group *group = calloc(1, sizeof(*group));
	if (!group)
		return fault_set(fault, HFKV_NO_MEMORY, "load: out of memory");
	group->cache = cache;
	group->loads = loads;
	group->answers = answers;
	group->count = count;
	group->deadline = deadline;
	group->references = 1;
	pthread_mutex_init(&group->mutex, NULL);
	condition_init(&group->idle);
	start_runners(group, (count < LOAD_RUNNERS_MAX ? count : LOAD_RUNNERS_MAX) - 1);
	run_loads(group);
	pthread_mutex_lock(&group->mutex);
	while (group->running > 0)
		pthread_cond_wait(&group->idle, &group->mutex);
	pthread_mutex_unlock(&group->mutex);
	group_unref(group);
	return HFKV_OK;
}

enum hfkv_status kv_cache_load_many(struct kv_cache *cache, struct kv_cache_load *loads, size_t count,
				    struct deadline deadline, struct fault *fault)
{
	if (count == 0)
		return HFKV_OK;
	deadline = kv_cache_bound(cache, deadline);
	CLEANUP(free_pointer) struct meta_answer *answers = calloc(count, sizeof(*answers));
	if (!answers)
		return fault_set(fault, HFKV_NO_MEMORY, "load: out of memory");
	for (size_t i = 0; i < count; i++) {
		answers[i].path = loads[i].path;
		loads[i].fault = FAULT_NONE;
	}
	struct fault unanswered = FAULT_NONE;
	if (meta_wait_for(cache->batcher, cache->meta, answers, count, deadline, &unanswered) != HFKV_OK)
		for (size_t i = 0; i < count; i++)
			if (answers[i].status == unanswered.status)
				loads[i].fault = unanswered;
	return load_answered(cache, loads, answers, count, deadline, fault);
}
