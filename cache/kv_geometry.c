#include "cache/kv_geometry.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX_BYTES (16 * 1024 * 1024)

/* Names that LMCache's and vLLM's settings and PyTorch use; "torch." in front is taken off first. */
static const struct {
	const char *name;
	uint64_t bytes;
} dtypes[] = {
	{ "bfloat16", 2 },        { "bf16", 2 },        { "half", 2 },
	{ "float16", 2 },         { "fp16", 2 },        { "float", 4 },
	{ "float32", 4 },         { "fp32", 4 },        { "double", 8 },
	{ "float64", 8 },         { "fp8", 1 },         { "fp8_e4m3", 1 },
	{ "fp8_e5m2", 1 },        { "fp8_inc", 1 },     { "fp8_ds_mla", 1 },
	{ "float8_e4m3fn", 1 },   { "float8_e5m2", 1 }, { "float8_e4m3fnuz", 1 },
	{ "float8_e5m2fnuz", 1 }, { "uint8", 1 },       { "int8", 1 },
	{ "int16", 2 },           { "int32", 4 },       { "int64", 8 },
};

uint64_t kv_dtype_bytes(const char *dtype)
{
	if (strncmp(dtype, "torch.", 6) == 0)
		dtype += 6;
	for (size_t i = 0; i < ARRAY_LENGTH(dtypes); i++)
		if (strcmp(dtypes[i].name, dtype) == 0)
			return dtypes[i].bytes;
	return 0;
}

enum hfkv_status kv_geometry_bytes(const struct kv_geometry *geometry, uint64_t *ret_bytes, struct fault *fault)
{
	const struct {
		const char *name;
		uint64_t value;
	} factors[] = {
		{ "layers", geometry->layers },       { "K/V planes", geometry->kv_planes },
		{ "tokens", geometry->tokens },       { "heads", geometry->heads },
		{ "head size", geometry->head_size },
	};
	uint64_t bytes = kv_dtype_bytes(geometry->dtype);
	if (bytes == 0)
		return fault_set(fault, HFKV_INVALID,
				 "dtype '%s' is unknown; use a name like bfloat16, half, float32 or fp8_e4m3",
				 geometry->dtype);
	for (size_t i = 0; i < ARRAY_LENGTH(factors); i++) {
		if (factors[i].value == 0)
			return fault_set(fault, HFKV_INVALID, "KV geometry: %s must be above 0", factors[i].name);
		if (__builtin_mul_overflow(bytes, factors[i].value, &bytes) || bytes > INT64_MAX)
			return fault_set(fault, HFKV_INVALID, "KV geometry: the product is too large for a file");
	}
	*ret_bytes = bytes;
	return HFKV_OK;
}

/* ---- config.json ---- */

static void release_json(json_t **value)
{
	json_decref(*value);
}

/* The first of the NULL-terminated `names` that is a positive integer, 0 when there is none. */
static uint64_t config_number(const json_t *config, const char *const *names)
{
	for (; *names; names++) {
		json_int_t value = json_integer_value(json_object_get(config, *names));
		if (value > 0)
			return (uint64_t)value;
	}
	return 0;
}

#define CONFIG_NUMBER(config, ...) config_number(config, (const char *const[]){ __VA_ARGS__, NULL })

/* The part of a config that describes the language model: multimodal ones nest it. */
static const json_t *text_part(const json_t *config)
{
	static const char *const nests[] = { "text_config", "llm_config", "language_config" };
	if (CONFIG_NUMBER(config, "num_hidden_layers", "n_layer", "num_layers"))
		return config;
	for (size_t i = 0; i < ARRAY_LENGTH(nests); i++) {
		const json_t *nested = json_object_get(config, nests[i]);
		if (json_is_object(nested))
			return nested;
	}
	return config;
}

static uint64_t config_kv_heads(const json_t *config, uint64_t attention_heads)
{
	uint64_t heads =
	    CONFIG_NUMBER(config, "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num");
	if (heads)
		return heads;
	/* Falcon's and GPTBigCode's way to say one. */
	return json_is_true(json_object_get(config, "multi_query")) ? 1 : attention_heads;
}

/* Fills heads, head_size and kv_planes. */
static enum hfkv_status read_heads(const json_t *config, uint64_t tensor_parallel, const char *file,
				   struct kv_geometry *geometry, struct fault *fault)
{
	uint64_t lora_rank = CONFIG_NUMBER(config, "kv_lora_rank");
	if (lora_rank) {
		/* MLA keeps one compressed vector a token, the same on every rank. */
		geometry->kv_planes = 1;
		geometry->heads = 1;
		geometry->head_size = lora_rank + CONFIG_NUMBER(config, "qk_rope_head_dim");
		return HFKV_OK;
	}
	uint64_t attention_heads = CONFIG_NUMBER(config, "num_attention_heads", "n_head", "num_heads");
	if (!attention_heads)
		return fault_set(fault, HFKV_INVALID, "model config '%s' has no num_attention_heads", file);
	uint64_t hidden_size = CONFIG_NUMBER(config, "hidden_size", "n_embd", "d_model");
	uint64_t head_size = CONFIG_NUMBER(config, "head_dim", "kv_channels");
	if (!head_size)
		head_size = hidden_size / attention_heads;
	if (!head_size)
		return fault_set(fault, HFKV_INVALID,
				 "model config '%s' has neither head_dim nor a usable hidden_size", file);
	uint64_t heads = config_kv_heads(config, attention_heads) / tensor_parallel;
	geometry->kv_planes = 2;
	geometry->heads = heads ? heads : 1;
	geometry->head_size = head_size;
	return HFKV_OK;
}

static enum hfkv_status load_config(const char *file, json_t **ret_config, struct fault *fault)
{
	CLEANUP(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat attributes;
	if (fd < 0 || fstat(fd, &attributes) < 0)
		return fault_set_errno(fault, errno, "model config '%s'", file);
	if (S_ISDIR(attributes.st_mode))
		return fault_set(fault, HFKV_INVALID, "model config '%s' is a directory; name the config.json in it", file);
	if (attributes.st_size > CONFIG_MAX_BYTES)
		return fault_set(fault, HFKV_INVALID,
				 "model config '%s' is larger than %d bytes; name a config.json", file,
				 CONFIG_MAX_BYTES);
	json_error_t error;
	json_t *config = json_loadfd(fd, 0, &error);
	if (!config)
		return fault_set(fault, HFKV_INVALID, "model config '%s' line %d: %s", file, error.line,
				 error.text);
	*ret_config = config;
	return HFKV_OK;
}

static const char *config_dtype(const json_t *config, const json_t *part)
{
	const json_t *const places[] = { json_object_get(part, "torch_dtype"), json_object_get(part, "dtype"),
					 json_object_get(config, "torch_dtype"),
					 json_object_get(config, "dtype") };
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
		if (json_is_string(places[i]))
			return json_string_value(places[i]);
	return NULL;
}

enum hfkv_status kv_geometry_from_model_config(const char *file, uint64_t tokens, const char *dtype,
					       uint64_t tensor_parallel, uint64_t *ret_bytes, struct fault *fault)
{
	CLEANUP(release_json) json_t *config = NULL;
	if (tensor_parallel == 0)
		return fault_set(fault, HFKV_INVALID, "tensor-parallel size must be above 0");
	enum hfkv_status status = load_config(file, &config, fault);
	if (status != HFKV_OK)
		return status;
	const json_t *part = text_part(config);
	struct kv_geometry geometry = { .tokens = tokens };
	geometry.layers = CONFIG_NUMBER(part, "num_hidden_layers", "n_layer", "num_layers");
	if (!geometry.layers)
		return fault_set(fault, HFKV_INVALID, "model config '%s' has no num_hidden_layers", file);
	geometry.dtype = dtype && strcmp(dtype, "auto") != 0 ? dtype : config_dtype(config, part);
	if (!geometry.dtype)
		return fault_set(fault, HFKV_INVALID, "model config '%s' names no dtype; give one (--kv-dtype)",
				 file);
	status = read_heads(part, tensor_parallel, file, &geometry, fault);
	return status == HFKV_OK ? kv_geometry_bytes(&geometry, ret_bytes, fault) : status;
}
