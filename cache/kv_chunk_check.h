/*
 * The size rule applied: what may come in, what is shown. Counts refusals, and names each hidden object once.
 *
 * It decides by a kv_chunk_spec, or takes everything when there is none (the plain layout). Any thread; no locks.
 */
#ifndef CACHE_KV_CHUNK_CHECK_H
#define CACHE_KV_CHUNK_CHECK_H

#include "cache/kv_chunk_spec.h"

#include <stdatomic.h>
#include <stdbool.h>

struct kv_chunk_check {
	const struct kv_chunk_spec *spec; /* borrowed; NULL: no size rule */
	atomic_uint_fast64_t refused_partial, refused_oversize, hidden_wrong_size;
};

/* Whether bytes of this size may be stored under `path`: OK, PARTIAL_KV_CHUNK (also when no rule knows the key),
 * OVERSIZE. Refusals are not counted: a check may be asked more than once for one store. */
MUST_CHECK enum hfkv_status kv_chunk_check_incoming(const struct kv_chunk_check *check, const char *path,
						    uint64_t size_bytes, struct fault *fault);

/* Counts one refusal, by its status, and logs it at info level with its text. */
void kv_chunk_check_count_refusal(struct kv_chunk_check *check, enum hfkv_status status,
				  const struct fault *fault);

/* Whether an object of this size at `path` is shown at all. */
bool kv_chunk_check_shows(const struct kv_chunk_check *check, const char *path, uint64_t size_bytes);

/* Counts and names an object that is hidden for its size; the caller sees to it that this comes once per object.
 */
void kv_chunk_check_count_hidden(struct kv_chunk_check *check, const char *path, uint64_t size_bytes);

#endif
