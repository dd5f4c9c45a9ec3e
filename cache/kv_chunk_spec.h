/*
 * The full size of KV chunks: the one size that every chunk of a model, rank and object group has.
 *
 * It comes from a number, from KV geometry, from a model's config.json, or from a table of key patterns.
 * Immutable after creation; any thread.
 */
#ifndef CACHE_KV_CHUNK_SPEC_H
#define CACHE_KV_CHUNK_SPEC_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <stdint.h>

struct kv_chunk_spec;

/* KV geometry; every field must be above 0. */
struct kv_geometry {
	uint64_t layers;
	uint64_t kv_planes; /* 2 for K and V, 1 for MLA */
	uint64_t tokens;    /* of one chunk */
	uint64_t heads;     /* K/V heads of one rank */
	uint64_t head_size;
	const char *dtype; /* LMCache's or PyTorch's name: bfloat16, half, float32, fp8_e4m3, ... */
};

/* Bytes of one chunk; INVALID with a fault for an unknown dtype, a zero, or a product that overflows. */
MUST_CHECK enum hfkv_status kv_geometry_bytes(const struct kv_geometry *geometry, uint64_t *ret_bytes,
					      struct fault *fault);

/* Reads a model's config.json (nested text_config too) and computes the chunk size of one rank. */
MUST_CHECK enum hfkv_status kv_geometry_from_model_config(const char *file, uint64_t tokens, const char *dtype,
							  uint64_t tensor_parallel, uint64_t *ret_bytes,
							  struct fault *fault);

/* Bytes of a dtype's element, 0 when the name is unknown. */
uint64_t kv_dtype_bytes(const char *dtype);

/* Every key has chunks of chunk_bytes (tensor data) + header_bytes (LMCache's metadata header, 0 when none). */
MUST_CHECK enum hfkv_status kv_chunk_spec_new(uint64_t chunk_bytes, uint64_t header_bytes,
					      struct kv_chunk_spec **ret_spec, struct fault *fault);

/* Reads a chunk table: lines `PATTERN BYTES`, `#` comments, fnmatch on the key string, first match wins. header_bytes is
 * added to every line. A malformed line is INVALID, named by file and line number. */
MUST_CHECK enum hfkv_status kv_chunk_spec_from_table(const char *file, uint64_t header_bytes,
						     struct kv_chunk_spec **ret_spec, struct fault *fault);

/* The size of LMCache's metadata header for `groups` tensor groups: 8 + 20 * groups. */
uint64_t kv_chunk_header_bytes(unsigned groups);

struct kv_chunk_spec *kv_chunk_spec_ref(struct kv_chunk_spec *spec);
void kv_chunk_spec_unref(struct kv_chunk_spec *spec);
DEFINE_CLEANUP(kv_chunk_spec_unref, struct kv_chunk_spec *);

/* The full size of chunks of the object at `object_path` (its last segment decoded to the key), 0 when no rule matches it. */
uint64_t kv_chunk_spec_full_size(const struct kv_chunk_spec *spec, const char *object_path);

/* The largest full size that the spec knows; for defaults of staging. */
uint64_t kv_chunk_spec_largest(const struct kv_chunk_spec *spec);

#endif
