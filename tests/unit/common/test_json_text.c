#include "tests/unit/cmocka_prelude.h"

#include "common/json_text.h"

#include <stdlib.h>
#include <string.h>

static json_t *load(const char *text)
{
	return json_text_load(text, strlen(text), NULL);
}

static void test_values(void **state)
{
	(void)state;
	json_auto_t *object = load("{\"a\": [1, \"[[[[\\\"{\"]}");
	assert_true(json_is_object(object));
	json_auto_t *number = load("7");
	assert_int_equal(json_integer_value(number), 7);
	assert_null(load("{"));
	assert_null(load(""));
	assert_null(load("\"a\\u0000b\""));
}

static void test_depth(void **state)
{
	(void)state;
	size_t depth = 200000;
	char *text = malloc(depth);
	memset(text, '[', depth);
	json_error_t error;
	assert_null(json_text_load(text, depth, &error));
	assert_non_null(strstr(error.text, "nested"));
	memset(text + JSON_TEXT_MAX_DEPTH, ']', JSON_TEXT_MAX_DEPTH);
	json_auto_t *fits = json_text_load(text, 2 * JSON_TEXT_MAX_DEPTH, NULL);
	assert_true(json_is_array(fits));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_depth) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
