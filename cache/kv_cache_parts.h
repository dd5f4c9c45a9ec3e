/*
 * What the kv_cache_*.c files share. Private to them.
 *
 * Locks: every part has one of its own and holds it only for memory work, so none is ever taken while another is
 * held.
 */
#ifndef CACHE_KV_CACHE_PARTS_H
#define CACHE_KV_CACHE_PARTS_H

#include "cache/committer.h"
#include "cache/fetch_table.h"
#include "cache/kv_cache.h"
#include "cache/kv_chunk_check.h"
#include "cache/listing_cache.h"
#include "cache/meta_batcher.h"
#include "cache/object_meta_cache.h"
#include "cache/staging_area.h"
#include "common/work_pool.h"

#include <stdatomic.h>

struct kv_cache {
	struct object_store *store; /* borrowed */
	char *prefix;
	int64_t timeout_ms;
	bool read_only;
	struct kv_chunk_check check;
	struct object_meta_cache *meta;
	struct meta_batcher *batcher;
	struct listing_cache *listings;
	struct staging_area *staging;
	struct fetch_table *fetches;
	struct committer *committer;
	struct work_pool *pool; /* runs the loads of kv_cache_load_many */
	atomic_uint_fast64_t stats_from_cache;
};

/* The full object path, malloc'd; NULL: no memory. */
char *kv_cache_full_path(const struct kv_cache *cache, const char *path);

/* `deadline`, or the cache's own timeout where that is earlier; connectors and the mount rely on the first. */
struct deadline kv_cache_bound(const struct kv_cache *cache, struct deadline deadline);

/* FORBIDDEN with words when the cache is read only. */
MUST_CHECK enum hfkv_status kv_cache_check_writable(const struct kv_cache *cache, const char *path,
						    struct fault *fault);

/* Called by the committer: cache/committer.h. */
void kv_cache_commit_settled(void *context, struct commit *commit);

#endif
