/*
 * The byte size of one KV chunk from what a person knows of a model: its KV geometry, or its config.json.
 *
 * Pure but for reading the file; any thread.
 */
#ifndef CACHE_KV_GEOMETRY_H
#define CACHE_KV_GEOMETRY_H

#include "common/fault.h"

#include <stdint.h>

/* Every field must be above 0. */
struct kv_geometry {
	uint64_t layers;
	uint64_t kv_planes; /* 2 for K and V, 1 for MLA */
	uint64_t tokens;    /* of one KV chunk */
	uint64_t heads;     /* K/V heads of one rank */
	uint64_t head_size;
	const char *dtype; /* LMCache's or PyTorch's name: bfloat16, half, float32, fp8_e4m3, torch.float16, ... */
};

/* Bytes of one KV chunk; INVALID with a fault for an unknown dtype, a zero, or a product that overflows. */
MUST_CHECK enum hfkv_status kv_geometry_bytes(const struct kv_geometry *geometry, uint64_t *ret_bytes,
					      struct fault *fault);

/* Reads a model's config.json (nested text_config too) and computes the KV chunk size of one rank of
 * `tensor_parallel`: max(1, kv_heads / tensor_parallel) heads; for MLA (kv_lora_rank set) one plane and one head
 * of kv_lora_rank + qk_rope_head_dim. dtype NULL or "auto": the config's own. INVALID names the file and what it
 * lacks. */
MUST_CHECK enum hfkv_status kv_geometry_from_model_config(const char *file, uint64_t tokens, const char *dtype,
							  uint64_t tensor_parallel, uint64_t *ret_bytes,
							  struct fault *fault);

/* Bytes of a dtype's element, 0 when the name is unknown. */
uint64_t kv_dtype_bytes(const char *dtype);

#endif
