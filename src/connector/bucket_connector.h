/*
 * KV chunks as objects of a bucket: the kv_backend over a kv_cache. A batch is one call:
 * shared uploads, one question for all names, downloads in parallel.
 */
#ifndef SRC_CONNECTOR_BUCKET_CONNECTOR_H
#define SRC_CONNECTOR_BUCKET_CONNECTOR_H

#include "cache/kv_cache.h"
#include "src/connector/kv_backend.h"
#include "src/connector/size_rule.h"

struct bucket_connector_parts {
	struct object_store *store; /* what `cache` stands on; also for ping */
	struct kv_cache *cache;
	struct size_rule *rule;
};

/* Takes all three over at success: freeing the backend closes cache, store and rule, in this order. */
MUST_CHECK enum hfkv_status bucket_connector_new(const struct bucket_connector_parts *parts, bool multi_process,
						 struct kv_backend **ret_backend);

#endif
