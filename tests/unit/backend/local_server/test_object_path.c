#include "tests/unit/cmocka_prelude.h"

#include "backend/local_server/object_path.h"
#include "common/attributes.h"

#include <string.h>

static void takes_ordinary_and_odd_names(void **state)
{
	(void)state;
	const char *good[] = { "a",   "a/b",  "...", "a/...", ".hidden", "a/.b",
			       "%41", "\xff", " ",   "a b",   "~",       "C:\\x" };
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
		assert_null(object_path_refusal(good[i]));
}

static void refuses_what_would_escape_or_vanish(void **state)
{
	(void)state;
	const char *bad[] = { "", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/../b", "a/./b", "..//" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_non_null(object_path_refusal(bad[i]));
}

static void a_path_has_1024_bytes_at_most(void **state)
{
	(void)state;
	char path[OBJECT_PATH_LIMIT_BYTES + 2];
	memset(path, 'a', sizeof(path));
	path[OBJECT_PATH_LIMIT_BYTES] = '\0';
	assert_null(object_path_refusal(path));
	path[OBJECT_PATH_LIMIT_BYTES] = 'a';
	path[OBJECT_PATH_LIMIT_BYTES + 1] = '\0';
	assert_non_null(object_path_refusal(path));
}

static void bucket_names(void **state)
{
	(void)state;
	assert_true(bucket_name_valid("a.B-c_9"));
	const char *bad[] = { "", ".a", "-a", "a b", "a/b", "\xc3\xa9", "a%" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_false(bucket_name_valid(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_ordinary_and_odd_names),
		cmocka_unit_test(refuses_what_would_escape_or_vanish),
		cmocka_unit_test(a_path_has_1024_bytes_at_most),
		cmocka_unit_test(bucket_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
