/* What is there: questions about names, and listings. */
#include "cache/kv_cache_parts.h"
#include "cache/listing_load.h"
#include "cache/meta_wait.h"

#include <string.h>

static struct kv_cache_entry entry_of(const struct object_meta *meta)
{
	return (struct kv_cache_entry){ meta->info, meta->fresh_until_ms };
}

/* ---- one name, without blocking ---- */

/* A question on its way through the batcher. */
struct pending_stat {
	kv_cache_stat_done done;
	void *token;
};

static void stat_answered(void *token, enum hfkv_status status, const struct object_meta *meta,
			  const struct fault *fault)
{
	struct pending_stat pending = *(struct pending_stat *)token;
	free(token);
	struct kv_cache_entry entry = { 0 };
	if (meta)
		entry = entry_of(meta);
	pending.done(pending.token, status, &entry, fault);
}

void kv_cache_stat(struct kv_cache *cache, const char *path, uint64_t asker, kv_cache_stat_done done, void *token)
{
	struct object_meta meta;
	if (object_meta_cache_get(cache->meta, path, &meta)) {
		atomic_fetch_add(&cache->stats_from_cache, 1);
		struct kv_cache_entry entry = entry_of(&meta);
		done(token, meta.status, &entry, NULL);
		return;
	}
	struct pending_stat *pending = malloc(sizeof(*pending));
	if (!pending) {
		struct fault fault = FAULT_NONE;
		done(token, fault_set(&fault, HFKV_NO_MEMORY, "stat of '%s': out of memory", path), NULL, &fault);
		return;
	}
	*pending = (struct pending_stat){ done, token };
	struct meta_question question = { path, asker, stat_answered, pending };
	meta_batcher_ask(cache->batcher, &question, 1);
}

/* ---- several names ---- */

enum hfkv_status kv_cache_stat_many(struct kv_cache *cache, struct kv_cache_question *questions, size_t count,
				    struct deadline deadline, struct fault *fault)
{
	if (count == 0)
		return HFKV_OK;
	CLEANUP(free_pointer) struct meta_answer *answers = calloc(count, sizeof(*answers));
	if (!answers)
		return fault_set(fault, HFKV_NO_MEMORY, "stat: out of memory");
	for (size_t i = 0; i < count; i++)
		answers[i].path = questions[i].path;
	enum hfkv_status status =
	    meta_wait_for(cache->batcher, cache->meta, answers, count, kv_cache_bound(cache, deadline), fault);
	for (size_t i = 0; i < count; i++) {
		atomic_fetch_add(&cache->stats_from_cache, answers[i].cached);
		questions[i].status = answers[i].status;
		questions[i].entry = entry_of(&answers[i].meta);
	}
	return status;
}

/* ---- listings ---- */

enum hfkv_status kv_cache_list(struct kv_cache *cache, const char *directory, kv_cache_visit visit, void *context,
			       struct deadline deadline, struct fault *fault)
{
	CLEANUP(dir_listing_unrefp) struct dir_listing *listing = NULL;
	enum hfkv_status status =
	    listing_cache_get(cache->listings, directory, kv_cache_bound(cache, deadline), &listing, fault);
	for (size_t i = 0; status == HFKV_OK && i < dir_listing_count(listing); i++) {
		struct dir_name row = dir_listing_at(listing, i);
		struct kv_cache_name name = { row.name, row.is_directory, row.info,
					      dir_listing_fresh_until_ms(listing) };
		status = visit(context, &name);
	}
	return status;
}

enum hfkv_status kv_cache_directory_exists(struct kv_cache *cache, const char *directory, struct deadline deadline,
					   struct fault *fault)
{
	return listing_cache_directory_exists(cache->listings, directory, kv_cache_bound(cache, deadline), fault);
}

struct recursive_visit {
	struct kv_cache *cache;
	kv_cache_visit visit;
	void *context;
	size_t prefix_bytes, directory_bytes; /* of a full path before the relative path, and before the name */
	uint64_t generation;
};

static bool every_segment_is_shown(const char *path)
{
	return object_path_check(path) == HFKV_OK;
}

static enum hfkv_status visit_recursive(void *context, const struct object_list_entry *entry)
{
	struct recursive_visit *recursive = context;
	struct kv_cache *cache = recursive->cache;
	const char *path = entry->path + recursive->prefix_bytes;
	if (entry->is_directory || !every_segment_is_shown(path))
		return HFKV_OK;
	struct object_meta meta = object_meta_cache_learn(cache->meta, path, &entry->info, recursive->generation);
	if (meta.status != HFKV_OK)
		return HFKV_OK;
	struct kv_cache_name name = { entry->path + recursive->directory_bytes, false, meta.info,
				      meta.fresh_until_ms };
	return recursive->visit(recursive->context, &name);
}

enum hfkv_status kv_cache_list_recursive(struct kv_cache *cache, const char *directory, kv_cache_visit visit,
					 void *context, struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) char *full = kv_cache_full_path(cache, directory);
	if (!full)
		return fault_set(fault, HFKV_NO_MEMORY, "listing of '%s': out of memory", directory);
	struct recursive_visit recursive = {
		.cache = cache,
		.visit = visit,
		.context = context,
		.prefix_bytes = cache->prefix[0] ? strlen(cache->prefix) + 1 : 0,
		.directory_bytes = full[0] ? strlen(full) + 1 : 0,
		.generation = object_meta_cache_generation(cache->meta),
	};
	return object_store_list(cache->store, full, true, visit_recursive, &recursive, deadline, fault);
}
