#include "cache/kv_chunk_check.h"

#include "common/log.h"

#include <inttypes.h>

enum hfkv_status kv_chunk_check_incoming(const struct kv_chunk_check *check, const char *path, uint64_t size_bytes,
					 struct fault *fault)
{
	if (!check->spec)
		return HFKV_OK;
	uint64_t full_bytes = kv_chunk_spec_full_size(check->spec, path);
	if (size_bytes == full_bytes && full_bytes > 0)
		return HFKV_OK;
	if (full_bytes == 0)
		return fault_set(fault, HFKV_PARTIAL_KV_CHUNK, "'%s' matches no line of the chunk table", path);
	enum hfkv_status status = size_bytes > full_bytes ? HFKV_OVERSIZE : HFKV_PARTIAL_KV_CHUNK;
	return fault_set(fault, status, "'%s' has %" PRIu64 " bytes; a full KV chunk here has %" PRIu64, path,
			 size_bytes, full_bytes);
}

void kv_chunk_check_count_refusal(struct kv_chunk_check *check, enum hfkv_status status, const struct fault *fault)
{
	bool oversize = status == HFKV_OVERSIZE;
	atomic_fetch_add(oversize ? &check->refused_oversize : &check->refused_partial, 1);
	log_info("store refused: %s", fault_text(fault, status));
}

bool kv_chunk_check_shows(const struct kv_chunk_check *check, const char *path, uint64_t size_bytes)
{
	return !check->spec || (size_bytes > 0 && kv_chunk_spec_full_size(check->spec, path) == size_bytes);
}

void kv_chunk_check_count_hidden(struct kv_chunk_check *check, const char *path, uint64_t size_bytes)
{
	atomic_fetch_add(&check->hidden_wrong_size, 1);
	log_info("object '%s' has %" PRIu64
		 " bytes, not a full KV chunk: treated as absent; storing it again heals it",
		 path, size_bytes);
}
