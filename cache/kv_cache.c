#include "cache/kv_cache.h"

#include "cache/kv_cache_parts.h"
#include "cache/listing_load.h"
#include "common/log.h"

#include <string.h>

#define DEFAULT_PRESENT_TTL_MS 30000
#define DEFAULT_ABSENT_TTL_MS  2000
#define DEFAULT_TIMEOUT_MS     30000
#define DEFAULT_ENTRIES_MAX    262144
#define LISTED_NAMES_MAX       262144 /* in all kept listings together, about 100 bytes each */
#define LOAD_THREADS_MAX       256
#define LOAD_QUEUE_MAX         4096

struct kv_cache_settings kv_cache_settings_default(void)
{
	return (struct kv_cache_settings){
		.prefix = "",
		.staging_label = "cache",
		.metadata_ttl_ms = DEFAULT_PRESENT_TTL_MS,
		.negative_ttl_ms = DEFAULT_ABSENT_TTL_MS,
		.metadata_entries_max = DEFAULT_ENTRIES_MAX,
		.timeout_ms = DEFAULT_TIMEOUT_MS,
		.commit = KV_CACHE_COMMIT_SYNC,
	};
}

/* ---- what the parts of the facade share ---- */

char *kv_cache_full_path(const struct kv_cache *cache, const char *path)
{
	return listing_full_path(cache->prefix, path);
}

struct deadline kv_cache_bound(const struct kv_cache *cache, struct deadline deadline)
{
	return deadline_earlier(deadline, deadline_after_ms(cache->timeout_ms));
}

enum hfkv_status kv_cache_check_writable(const struct kv_cache *cache, const char *path, struct fault *fault)
{
	if (!cache->read_only)
		return HFKV_OK;
	return fault_set(fault, HFKV_FORBIDDEN, "'%s': the cache was opened read only", path);
}

/* ---- opening ---- */

static enum hfkv_status check_settings(const struct kv_cache_settings *settings, struct fault *fault)
{
	if (settings->commit != KV_CACHE_COMMIT_SYNC)
		return fault_set(fault, HFKV_INVALID,
				 "commit=writeback comes with release 0.2; this release stores synchronously: use "
				 "commit=sync");
	if (settings->metadata_ttl_ms < 0 || settings->negative_ttl_ms < 0)
		return fault_set(fault, HFKV_INVALID, "metadata time limits must not be negative");
	if (settings->timeout_ms <= 0)
		return fault_set(fault, HFKV_INVALID, "timeout must be above 0");
	if (settings->prefix && settings->prefix[0] && object_path_check(settings->prefix) != HFKV_OK)
		return fault_set(fault, HFKV_INVALID, "prefix '%s' cannot be a directory of a bucket",
				 settings->prefix);
	return HFKV_OK;
}

static enum hfkv_status open_staging(struct kv_cache *cache, const struct kv_cache_settings *settings,
				     struct fault *fault)
{
	struct staging_area_settings staging = {
		.directory = settings->staging_dir,
		.label = settings->staging_label,
		.limit_bytes = settings->staging_bytes,
		.largest_bytes = settings->spec ? kv_chunk_spec_largest(settings->spec) : 0,
		.private_tmpfs = settings->staging_private_tmpfs,
	};
	return staging_area_new(&staging, &cache->staging, fault);
}

static enum hfkv_status open_metadata(struct kv_cache *cache, const struct kv_cache_settings *settings)
{
	size_t entries_max = settings->metadata_entries_max ? settings->metadata_entries_max : DEFAULT_ENTRIES_MAX;
	struct object_meta_settings meta = { entries_max, settings->metadata_ttl_ms, settings->negative_ttl_ms,
					     &cache->check };
	enum hfkv_status status = object_meta_cache_new(&meta, &cache->meta);
	if (status != HFKV_OK)
		return status;
	struct meta_batcher_settings batcher = { cache->store, cache->meta, cache->prefix, cache->timeout_ms };
	status = meta_batcher_new(&batcher, &cache->batcher);
	if (status != HFKV_OK)
		return status;
	struct listing_cache_settings listings = {
		cache->store,    cache->meta, cache->prefix, settings->metadata_ttl_ms, settings->negative_ttl_ms,
		LISTED_NAMES_MAX
	};
	return listing_cache_new(&listings, &cache->listings);
}

static enum hfkv_status open_transfers(struct kv_cache *cache)
{
	enum hfkv_status status = fetch_table_new(cache->store, cache->staging, &cache->fetches);
	if (status == HFKV_OK)
		status = committer_new(cache->store, kv_cache_commit_settled, cache, &cache->committer);
	struct work_pool_settings pool = { "hfkv-load", LOAD_THREADS_MAX, LOAD_QUEUE_MAX, 5000, 0 };
	return status == HFKV_OK ? work_pool_new(&pool, &cache->pool) : status;
}

static void cache_free(struct kv_cache *cache)
{
	meta_batcher_free(cache->batcher);
	work_pool_free(cache->pool);
	committer_free(cache->committer);
	fetch_table_free(cache->fetches);
	listing_cache_free(cache->listings);
	object_meta_cache_free(cache->meta);
	staging_area_free(cache->staging);
	free(cache->prefix);
	free(cache);
}
DEFINE_CLEANUP(cache_free, struct kv_cache *);

enum hfkv_status kv_cache_open(const struct kv_cache_settings *settings, struct kv_cache **ret_cache,
			       struct fault *fault)
{
	enum hfkv_status status = check_settings(settings, fault);
	if (status != HFKV_OK)
		return status;
	CLEANUP(cache_freep) struct kv_cache *cache = calloc(1, sizeof(*cache));
	if (!cache || !(cache->prefix = strdup(settings->prefix ? settings->prefix : "")))
		return fault_set(fault, HFKV_NO_MEMORY, "cache: out of memory");
	cache->store = settings->store;
	cache->timeout_ms = settings->timeout_ms;
	cache->read_only = settings->read_only;
	cache->check.spec = settings->spec;
	status = open_staging(cache, settings, fault);
	if (status != HFKV_OK)
		return status;
	status = open_metadata(cache, settings);
	if (status == HFKV_OK)
		status = open_transfers(cache);
	if (status != HFKV_OK)
		return fault_set(fault, status, "cache: %s", hfkv_status_name(status));
	*ret_cache = TAKE_PTR(cache);
	return HFKV_OK;
}

void kv_cache_close(struct kv_cache *cache, struct deadline deadline, size_t *ret_abandoned)
{
	if (!cache)
		return;
	/* With commit=sync every commit has a caller who waits for it, and there is none left. */
	enum hfkv_status drained = committer_wait_idle(cache->committer, NULL, deadline);
	size_t abandoned = drained == HFKV_OK ? 0 : (size_t)committer_counters(cache->committer).pending;
	if (abandoned > 0)
		log_warning("closing: %zu commits were given up", abandoned);
	if (ret_abandoned)
		*ret_abandoned = abandoned;
	cache_free(cache);
}

/* ---- state ---- */

void kv_cache_counters_read(struct kv_cache *cache, struct kv_cache_counters *ret_counters)
{
	struct fetch_counters fetches = fetch_table_counters(cache->fetches);
	struct committer_counters commits = committer_counters(cache->committer);
	struct staging_usage staging = staging_area_usage(cache->staging);
	*ret_counters = (struct kv_cache_counters){
		.stat_calls_to_store = meta_batcher_calls(cache->batcher),
		.stats_answered_from_cache = atomic_load(&cache->stats_from_cache),
		.list_calls_to_store = listing_cache_calls(cache->listings),
		.downloads = fetches.downloads,
		.downloaded_bytes = fetches.downloaded_bytes,
		.staged_hits = fetches.staged_hits,
		.verify_failures = fetches.verify_failures,
		.commits = commits.commits,
		.committed_bytes = commits.committed_bytes,
		.commit_batches = commits.batches,
		.commit_failures = commits.failures,
		.commits_pending = commits.pending,
		.refused_partial = atomic_load(&cache->check.refused_partial),
		.refused_oversize = atomic_load(&cache->check.refused_oversize),
		.hidden_wrong_size = atomic_load(&cache->check.hidden_wrong_size),
		.staging_used_bytes = staging.used_bytes,
		.staging_limit_bytes = staging.limit_bytes,
		.staged_files = staging.files,
		.evictions = staging.evictions,
	};
}

const char *kv_cache_staging_dir(struct kv_cache *cache)
{
	return staging_area_path(cache->staging);
}

bool kv_cache_staging_is_private_tmpfs(struct kv_cache *cache)
{
	return staging_area_is_private_tmpfs(cache->staging);
}
