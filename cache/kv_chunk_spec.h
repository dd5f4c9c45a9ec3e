/*
 * The full size of KV chunks: the one size that every chunk of a model, rank and object group has.
 *
 * A spec is one size for all keys, or a table of key patterns. Sizes from a model's geometry: cache/kv_geometry.h.
 * Immutable after creation; any thread.
 */
#ifndef CACHE_KV_CHUNK_SPEC_H
#define CACHE_KV_CHUNK_SPEC_H

#include "cache/kv_geometry.h"
#include "common/cleanup.h"
#include "common/fault.h"

#include <stdint.h>

struct kv_chunk_spec;

/* Every key has chunks of chunk_bytes (tensor data) + header_bytes (LMCache's metadata header, 0 when none). */
MUST_CHECK enum hfkv_status kv_chunk_spec_new(uint64_t chunk_bytes, uint64_t header_bytes,
					      struct kv_chunk_spec **ret_spec, struct fault *fault);

/* Reads a chunk table: lines `PATTERN BYTES` (the last blank run parts them), `#` comment lines, fnmatch(3)
 * without flags on the key string, so `*` also takes `/`; the first match wins. header_bytes is added to every
 * line. A malformed line is INVALID, named by file and line number. Reads the file only during the call. */
MUST_CHECK enum hfkv_status kv_chunk_spec_from_table(const char *file, uint64_t header_bytes,
						     struct kv_chunk_spec **ret_spec, struct fault *fault);

/* The size of LMCache's metadata header for `groups` tensor groups: 8 + 20 * groups. */
uint64_t kv_chunk_header_bytes(unsigned groups);

void kv_chunk_spec_free(struct kv_chunk_spec *spec);
DEFINE_CLEANUP(kv_chunk_spec_free, struct kv_chunk_spec *);

/* The full size of chunks of the object at `object_path`, whose last segment is decoded to the key; 0 when no line
 * of the table matches it, or it is the name of no key and there is a table. */
uint64_t kv_chunk_spec_full_size(const struct kv_chunk_spec *spec, const char *object_path);

/* The largest full size that the spec knows; for defaults of staging. */
uint64_t kv_chunk_spec_largest(const struct kv_chunk_spec *spec);

#endif
