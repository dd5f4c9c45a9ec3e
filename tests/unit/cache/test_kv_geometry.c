#include "tests/unit/cmocka_prelude.h"

#include "cache/kv_geometry.h"
#include "tests/unit/cache/scratch_file.h"

static enum hfkv_status size_of_config(const char *json, const char *dtype, uint64_t tensor_parallel,
				       uint64_t *ret_bytes, struct fault *fault)
{
	struct scratch_file file = scratch_file_with(json);
	enum hfkv_status status =
	    kv_geometry_from_model_config(file.path, 256, dtype, tensor_parallel, ret_bytes, fault);
	unlink(file.path);
	return status;
}

static void expect_config(const char *json, const char *dtype, uint64_t tensor_parallel, uint64_t expected)
{
	uint64_t bytes = 0;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = size_of_config(json, dtype, tensor_parallel, &bytes, &fault);
	if (status != HFKV_OK || bytes != expected)
		fail_msg("%s: %s, %llu bytes", json, fault_text(&fault, status), (unsigned long long)bytes);
}

#define LLAMA                                                                                                     \
	"{\"hidden_size\":4096,\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"    \
	"\"torch_dtype\":\"bfloat16\"}"

static void sizes_of_known_models(void **state)
{
	(void)state;
	/* all-MiniLM-L6-v2: the size of the real KV chunks in the demo data. */
	expect_config("{\"hidden_size\":384,\"num_hidden_layers\":6,\"num_attention_heads\":12}", "bfloat16", 1,
		      2359296);
	expect_config(LLAMA, "bfloat16", 1, 2ULL * 32 * 256 * 8 * 128 * 2);
	expect_config(LLAMA, NULL, 1, 2ULL * 32 * 256 * 8 * 128 * 2);
	expect_config(LLAMA, "fp8_e4m3", 1, 2ULL * 32 * 256 * 8 * 128);
	expect_config(LLAMA, "bfloat16", 4, 2ULL * 32 * 256 * 2 * 128 * 2);
	/* More ranks than heads: each holds one. */
	expect_config(LLAMA, "bfloat16", 16, 2ULL * 32 * 256 * 1 * 128 * 2);
	/* head_dim wins over hidden_size / heads (Qwen3, Gemma). */
	expect_config(
	    "{\"hidden_size\":1024,\"num_hidden_layers\":28,\"num_attention_heads\":16,\"num_key_value_heads\":8,"
	    "\"head_dim\":128}",
	    "half", 1, 2ULL * 28 * 256 * 8 * 128 * 2);
	expect_config(
	    "{\"hidden_size\":1024,\"num_hidden_layers\":2,\"num_attention_heads\":16,\"head_dim\":null}", "half",
	    1, 2ULL * 2 * 256 * 16 * 64 * 2);
	/* DeepSeek-V3: MLA, the same on every rank. */
	expect_config(
	    "{\"num_hidden_layers\":61,\"num_attention_heads\":128,\"hidden_size\":7168,\"kv_lora_rank\":512,"
	    "\"qk_rope_head_dim\":64}",
	    "bfloat16", 8, 61ULL * 256 * 576 * 2);
	/* Multimodal: the language model is nested. */
	expect_config(
	    "{\"vision_config\":{\"num_hidden_layers\":3},\"torch_dtype\":\"float16\",\"text_config\":" LLAMA "}",
	    NULL, 1, 2ULL * 32 * 256 * 8 * 128 * 2);
	expect_config("{\"n_layer\":12,\"n_head\":12,\"n_embd\":768}", "float32", 1,
		      2ULL * 12 * 256 * 12 * 64 * 4);
	expect_config(
	    "{\"num_hidden_layers\":2,\"num_attention_heads\":71,\"hidden_size\":4544,\"multi_query\":true}",
	    "half", 1, 2ULL * 2 * 256 * 64 * 2);
}

static void says_what_a_config_lacks(void **state)
{
	(void)state;
	static const struct {
		const char *json, *dtype, *word;
	} cases[] = {
		{ "{", "half", "line" },
		{ "{}", "half", "num_hidden_layers" },
		{ "[]", "half", "num_hidden_layers" },
		{ "{\"num_hidden_layers\":2}", "half", "num_attention_heads" },
		{ "{\"num_hidden_layers\":2,\"num_attention_heads\":2}", "half", "head_dim" },
		{ "{\"num_hidden_layers\":-2,\"num_attention_heads\":2}", "half", "num_hidden_layers" },
		{ LLAMA, "bf17", "bf17" },
		{ "{\"num_hidden_layers\":2,\"num_attention_heads\":2,\"hidden_size\":8}", NULL, "dtype" },
		{ "{\"num_hidden_layers\":9000000000000000,\"num_attention_heads\":90000000,\"head_dim\":"
		  "90000000}",
		  "half", "too large" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t bytes;
		struct fault fault = FAULT_NONE;
		assert_int_equal(size_of_config(cases[i].json, cases[i].dtype, 1, &bytes, &fault), HFKV_INVALID);
		if (!strstr(fault.text, cases[i].word))
			fail_msg("'%s' does not say '%s'", fault.text, cases[i].word);
	}
	uint64_t bytes;
	struct fault fault = FAULT_NONE;
	assert_int_equal(kv_geometry_from_model_config("/nonexistent/config.json", 256, "half", 1, &bytes, &fault),
			 HFKV_NOT_FOUND);
	assert_int_equal(size_of_config(LLAMA, "half", 0, &bytes, &fault), HFKV_INVALID);
}

static void geometry_refuses_zeroes(void **state)
{
	(void)state;
	struct kv_geometry geometry = { 2, 2, 256, 8, 128, "torch.bfloat16" };
	uint64_t bytes = 0;
	assert_int_equal(kv_geometry_bytes(&geometry, &bytes, NULL), HFKV_OK);
	assert_int_equal(bytes, 2 * 2 * 256 * 8 * 128 * 2);
	geometry.heads = 0;
	assert_int_equal(kv_geometry_bytes(&geometry, &bytes, NULL), HFKV_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_of_known_models),
		cmocka_unit_test(says_what_a_config_lacks),
		cmocka_unit_test(geometry_refuses_zeroes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
