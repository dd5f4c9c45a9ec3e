#include "src/cli/chunk_options.h"

enum {
	KEY_CHUNK_BYTES = 0x3000, KEY_CHUNK_TABLE, KEY_MODEL_CONFIG, KEY_CHUNK_TOKENS, KEY_KV_DTYPE, KEY_TENSOR_PARALLEL,
	KEY_CHUNK_META, KEY_KV_LAYERS, KEY_KV_PLANES, KEY_KV_HEADS, KEY_KV_HEAD_SIZE,
};

#define META_GROUPS_MAX 1024
#define GEOMETRY_MAX    ((uint64_t)1 << 40)

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Full size of a KV chunk (one of number, table, model or geometry):", 20 },
	{ "chunk-bytes", KEY_CHUNK_BYTES, "N", 0, "Bytes of tensor data", 20 },
	{ "chunk-table", KEY_CHUNK_TABLE, "FILE", 0, "Lines 'PATTERN BYTES'; first match on a key wins", 20 },
	{ "model-config", KEY_MODEL_CONFIG, "FILE", 0, "A model's config.json, with --chunk-tokens and --kv-dtype", 20 },
	{ "chunk-tokens", KEY_CHUNK_TOKENS, "N", 0, "Tokens of a chunk (LMCache's chunk_size)", 20 },
	{ "kv-dtype", KEY_KV_DTYPE, "TYPE", 0, "Type of a K/V element: bfloat16, half, float32, fp8_e4m3, ...", 20 },
	{ "tensor-parallel", KEY_TENSOR_PARALLEL, "N", 0, "Ranks that share the K/V heads (default: 1)", 20 },
	{ "kv-layers", KEY_KV_LAYERS, "N", 0, "Geometry: layers", 20 },
	{ "kv-planes", KEY_KV_PLANES, "N", 0, "Geometry: 2 for K and V (default), 1 for MLA", 20 },
	{ "kv-heads", KEY_KV_HEADS, "N", 0, "Geometry: K/V heads of one rank", 20 },
	{ "kv-head-size", KEY_KV_HEAD_SIZE, "N", 0, "Geometry: elements of a head", 20 },
	{ "chunk-meta", KEY_CHUNK_META, "GROUPS", OPTION_ARG_OPTIONAL,
	  "Files begin with LMCache's metadata header (save_chunk_meta): adds 8 + 20 * GROUPS bytes (default: 1 group)", 20 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct chunk_options *values = state->input;
	uint64_t number = 0;
	error_t error;
	switch (key) {
	case KEY_CHUNK_BYTES: return option_bytes(state, "--chunk-bytes", argument, &values->chunk_bytes);
	case KEY_CHUNK_TABLE: values->table_file = argument; return 0;
	case KEY_MODEL_CONFIG: values->model_config_file = argument; return 0;
	case KEY_KV_DTYPE: values->geometry.dtype = argument; return 0;
	case KEY_CHUNK_TOKENS:
		return option_number(state, "--chunk-tokens", argument, 1, GEOMETRY_MAX, &values->geometry.tokens);
	case KEY_TENSOR_PARALLEL:
		return option_number(state, "--tensor-parallel", argument, 1, GEOMETRY_MAX, &values->tensor_parallel);
	case KEY_KV_LAYERS: return option_number(state, "--kv-layers", argument, 1, GEOMETRY_MAX, &values->geometry.layers);
	case KEY_KV_PLANES: return option_number(state, "--kv-planes", argument, 1, 2, &values->geometry.kv_planes);
	case KEY_KV_HEADS: return option_number(state, "--kv-heads", argument, 1, GEOMETRY_MAX, &values->geometry.heads);
	case KEY_KV_HEAD_SIZE:
		return option_number(state, "--kv-head-size", argument, 1, GEOMETRY_MAX, &values->geometry.head_size);
	case KEY_CHUNK_META:
		error = option_number(state, "--chunk-meta", argument ? argument : "1", 1, META_GROUPS_MAX, &number);
		if (error == 0)
			values->meta_groups = (unsigned)number;
		return error;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp chunk_argp = { .options = options, .parser = parse };

static bool geometry_given(const struct chunk_options *values)
{
	return values->geometry.layers || values->geometry.heads || values->geometry.head_size;
}

bool chunk_options_given(const struct chunk_options *values)
{
	return values->chunk_bytes || values->table_file || values->model_config_file || geometry_given(values);
}

static enum hfkv_status check_sources(const struct chunk_options *values, struct fault *fault)
{
	int sources = !!values->chunk_bytes + !!values->table_file + !!values->model_config_file + geometry_given(values);
	if (sources == 0)
		return fault_set(fault, HFKV_INVALID, "how large is a full KV chunk? Give --chunk-bytes, --chunk-table, or "
						      "--chunk-tokens and --kv-dtype with --model-config or the --kv-... geometry");
	if (sources > 1)
		return fault_set(fault, HFKV_INVALID, "the full size comes from one place: give only one of --chunk-bytes, "
						      "--chunk-table, --model-config and --kv-layers/-heads/-head-size");
	if (values->tensor_parallel && !values->model_config_file)
		return fault_set(fault, HFKV_INVALID, "--tensor-parallel goes with --model-config: --kv-heads are those of one rank");
	if (values->geometry.kv_planes && !geometry_given(values))
		return fault_set(fault, HFKV_INVALID, "--kv-planes goes with --kv-layers, --kv-heads and --kv-head-size");
	if ((values->geometry.tokens || values->geometry.dtype) && (values->chunk_bytes || values->table_file))
		return fault_set(fault, HFKV_INVALID, "--chunk-tokens and --kv-dtype go with --model-config or a geometry, not with "
						      "--chunk-bytes or --chunk-table");
	return HFKV_OK;
}

static uint64_t header_bytes(const struct chunk_options *values)
{
	return values->meta_groups ? kv_chunk_header_bytes(values->meta_groups) : 0;
}

/* Without header. */
static enum hfkv_status tensor_bytes(const struct chunk_options *values, uint64_t *ret_bytes, struct fault *fault)
{
	enum hfkv_status status = check_sources(values, fault);
	if (status != HFKV_OK)
		return status;
	if (values->chunk_bytes) {
		*ret_bytes = values->chunk_bytes;
		return HFKV_OK;
	}
	if (!values->geometry.tokens || !values->geometry.dtype)
		return fault_set(fault, HFKV_INVALID, "the full size needs --chunk-tokens and --kv-dtype too");
	if (values->model_config_file)
		return kv_geometry_from_model_config(values->model_config_file, values->geometry.tokens,
						     values->geometry.dtype,
						     values->tensor_parallel ? values->tensor_parallel : 1, ret_bytes,
						     fault);
	struct kv_geometry geometry = values->geometry;
	if (!geometry.kv_planes)
		geometry.kv_planes = 2;
	if (!geometry.layers || !geometry.heads || !geometry.head_size)
		return fault_set(fault, HFKV_INVALID, "a geometry needs --kv-layers, --kv-heads and --kv-head-size");
	return kv_geometry_bytes(&geometry, ret_bytes, fault);
}

enum hfkv_status chunk_options_full_size(const struct chunk_options *values, uint64_t *ret_bytes, struct fault *fault)
{
	if (values->table_file && !values->chunk_bytes)
		return fault_set(fault, HFKV_INVALID, "a table has many sizes: give a number, a model or a geometry");
	uint64_t bytes = 0;
	enum hfkv_status status = tensor_bytes(values, &bytes, fault);
	if (status == HFKV_OK)
		*ret_bytes = bytes + header_bytes(values);
	return status;
}

enum hfkv_status chunk_options_spec(const struct chunk_options *values, struct kv_chunk_spec **ret_spec,
				    struct fault *fault)
{
	uint64_t bytes = 0;
	enum hfkv_status status = check_sources(values, fault);
	if (status != HFKV_OK)
		return status;
	if (values->table_file)
		return kv_chunk_spec_from_table(values->table_file, header_bytes(values), ret_spec, fault);
	status = tensor_bytes(values, &bytes, fault);
	return status == HFKV_OK ? kv_chunk_spec_new(bytes, header_bytes(values), ret_spec, fault) : status;
}
