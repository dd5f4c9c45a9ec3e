#include "tests/unit/cmocka_prelude.h"

#include "src/connector/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

static json_t *parsed(const char *text)
{
	json_t *tree = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(yaml_tree_parse(text, strlen(text), &tree, &fault), HFKV_OK);
	assert_non_null(tree);
	return tree;
}

static void refused(const char *text, const char *reason)
{
	json_t *tree = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(yaml_tree_parse(text, strlen(text), &tree, &fault), HFKV_INVALID);
	assert_null(tree);
	assert_non_null(strstr(fault.text, reason));
	assert_non_null(strstr(fault.text, "line "));
}

static void scalars_get_the_types_that_lmcache_reads(void **state)
{
	(void)state;
	json_t *tree = parsed("chunk_size: 256\n"
			      "local_cpu: True\n"
			      "off_word: off\n"
			      "nothing: ~\n"
			      "empty:\n"
			      "ratio: 0.85\n"
			      "negative: -3\n"
			      "hex: 0x10\n"
			      "quoted: \"30\"\n"
			      "single: 'true'\n"
			      "path: /data/kv # a comment\n"
			      "dash: -SEP-\n"
			      "list: [fs, fs.backup]\n"
			      "extra_config:\n  remote_storage_plugin.fs.base_path: /a,/b\n");
	assert_int_equal(json_integer_value(json_object_get(tree, "chunk_size")), 256);
	assert_true(json_is_true(json_object_get(tree, "local_cpu")));
	assert_true(json_is_false(json_object_get(tree, "off_word")));
	assert_true(json_is_null(json_object_get(tree, "nothing")));
	assert_true(json_is_null(json_object_get(tree, "empty")));
	assert_true(json_real_value(json_object_get(tree, "ratio")) == 0.85);
	assert_int_equal(json_integer_value(json_object_get(tree, "negative")), -3);
	assert_int_equal(json_integer_value(json_object_get(tree, "hex")), 16);
	assert_string_equal(json_string_value(json_object_get(tree, "quoted")), "30");
	assert_string_equal(json_string_value(json_object_get(tree, "single")), "true");
	assert_string_equal(json_string_value(json_object_get(tree, "path")), "/data/kv");
	assert_string_equal(json_string_value(json_object_get(tree, "dash")), "-SEP-");
	assert_string_equal(json_string_value(json_array_get(json_object_get(tree, "list"), 1)), "fs.backup");
	json_t *extra = json_object_get(tree, "extra_config");
	assert_string_equal(json_string_value(json_object_get(extra, "remote_storage_plugin.fs.base_path")),
			    "/a,/b");
	json_decref(tree);
}

static void an_empty_document_is_an_empty_mapping(void **state)
{
	(void)state;
	json_t *tree = parsed("# nothing but a comment\n");
	assert_int_equal(json_object_size(tree), 0);
	json_decref(tree);
}

static void what_no_configuration_needs_is_refused_with_its_place(void **state)
{
	(void)state;
	refused("a: &x [1]\nb: *x\n", "alias");
	refused("a: 1\n---\nb: 2\n", "one document");
	refused("? [1, 2]\n: 3\n", "key");
	refused("a: [1, 2\n", "line");
	refused("a: \"x\\0y\"\n", "NUL");
}

static void depth_and_length_are_bounded(void **state)
{
	(void)state;
	char deep[201];
	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	deep[200] = '\0';
	refused(deep, "too deep");
	json_t *tree = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(json_tree_parse(deep, 200, &tree, &fault), HFKV_INVALID);
	size_t length = CONFIG_TEXT_MAX_BYTES + 1;
	char *long_text = malloc(length);
	memset(long_text, ' ', length);
	assert_int_equal(yaml_tree_parse(long_text, length, &tree, &fault), HFKV_INVALID);
	assert_int_equal(json_tree_parse(long_text, length, &tree, &fault), HFKV_INVALID);
	free(long_text);
}

static void json_errors_tell_their_place(void **state)
{
	(void)state;
	json_t *tree = NULL;
	struct fault fault = FAULT_NONE;
	const char *text = "{\"type\": \"fs\",\n \"base_path\" }";
	assert_int_equal(json_tree_parse(text, strlen(text), &tree, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, "line 2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalars_get_the_types_that_lmcache_reads),
		cmocka_unit_test(an_empty_document_is_an_empty_mapping),
		cmocka_unit_test(what_no_configuration_needs_is_refused_with_its_place),
		cmocka_unit_test(depth_and_length_are_bounded),
		cmocka_unit_test(json_errors_tell_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
