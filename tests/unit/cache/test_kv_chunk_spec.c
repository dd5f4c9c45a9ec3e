#include "tests/unit/cmocka_prelude.h"

#include "cache/kv_chunk_spec.h"
#include "tests/unit/cache/scratch_file.h"

static void one_size_for_all(void **state)
{
	(void)state;
	CLEANUP(kv_chunk_spec_freep) struct kv_chunk_spec *spec = NULL;
	assert_int_equal(kv_chunk_spec_new(1000, kv_chunk_header_bytes(1), &spec, NULL), HFKV_OK);
	assert_int_equal(kv_chunk_spec_full_size(spec, "dir/m%401"), 1028);
	assert_int_equal(kv_chunk_spec_largest(spec), 1028);
	struct kv_chunk_spec *none = NULL;
	assert_int_equal(kv_chunk_spec_new(0, 0, &none, NULL), HFKV_INVALID);
	assert_int_equal(kv_chunk_spec_new(UINT64_MAX, 28, &none, NULL), HFKV_INVALID);
}

static enum hfkv_status read_table(const char *text, struct kv_chunk_spec **ret_spec, struct fault *fault)
{
	struct scratch_file file = scratch_file_with(text);
	enum hfkv_status status = kv_chunk_spec_from_table(file.path, 8, ret_spec, fault);
	unlink(file.path);
	return status;
}

static void first_matching_line_decides(void **state)
{
	(void)state;
	CLEANUP(kv_chunk_spec_freep) struct kv_chunk_spec *spec = NULL;
	assert_int_equal(
	    read_table("# sizes\n\norg/a@*@half 100\n  org/*\t200  \nwith blank@*   300\n", &spec, NULL), HFKV_OK);
	assert_int_equal(kv_chunk_spec_full_size(spec, "x/org%2Fa%401%400%40ab%40half"), 108);
	assert_int_equal(kv_chunk_spec_full_size(spec, "org%2Fa%401%400%40ab%40bfloat16"), 208);
	assert_int_equal(kv_chunk_spec_full_size(spec, "with%20blank%401"), 308);
	assert_int_equal(kv_chunk_spec_full_size(spec, "other%401"), 0);
	assert_int_equal(kv_chunk_spec_full_size(spec, "org%2fa"), 0);
	assert_int_equal(kv_chunk_spec_largest(spec), 308);
}

static void malformed_lines_are_named(void **state)
{
	(void)state;
	static const char *const tables[] = {
		"a 1\nb\n", "a 1\nb x\n", "a 1\nb -1\n", "a 1\nb 0\n", "a 1\nb 99999999999999999999\n", "a 1\n 7\n"
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct kv_chunk_spec *spec = NULL;
		struct fault fault = FAULT_NONE;
		assert_int_equal(read_table(tables[i], &spec, &fault), HFKV_INVALID);
		if (!strstr(fault.text, "line 2"))
			fail_msg("'%s'", fault.text);
	}
	struct kv_chunk_spec *spec = NULL;
	assert_int_equal(read_table("# nothing\n", &spec, NULL), HFKV_INVALID);
	assert_int_equal(kv_chunk_spec_from_table("/nonexistent/table", 0, &spec, NULL), HFKV_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_size_for_all),
		cmocka_unit_test(first_matching_line_decides),
		cmocka_unit_test(malformed_lines_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
