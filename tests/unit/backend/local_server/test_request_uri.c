#include "tests/unit/cmocka_prelude.h"

#include "backend/local_server/request_uri.h"
#include "common/cleanup.h"

#include <string.h>

static void expect_decoded(const char *raw, const char *want)
{
	CLEANUP(free_pointer) char *got = uri_decode(raw, strlen(raw));
	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, want);
}

static void decodes_exactly_once(void **state)
{
	(void)state;
	expect_decoded("", "");
	expect_decoded("a%2Fb", "a/b");
	expect_decoded("a%252Fb", "a%2Fb");
	expect_decoded("a+b%20c", "a+b c");
	expect_decoded("%c3%A9", "\xc3\xa9");
}

static void refuses_what_is_no_text(void **state)
{
	(void)state;
	const char *bad[] = { "%", "a%", "%2", "%zz", "%2g", "%00", "a%00b", "%%41" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		expect_decoded(bad[i], NULL);
	CLEANUP(free_pointer) char *cut = uri_decode("ab%41", 4);
	assert_null(cut);
}

static void encoding_is_undone_by_decoding(void **state)
{
	(void)state;
	char all[256];
	for (int byte = 1; byte < 256; byte++)
		all[byte - 1] = (char)byte;
	all[255] = '\0';
	CLEANUP(free_pointer) char *encoded = uri_encode(all, "");
	CLEANUP(free_pointer) char *decoded = uri_decode(encoded, strlen(encoded));
	assert_string_equal(decoded, all);
	CLEANUP(free_pointer) char *kept = uri_encode("a/b c", "/");
	assert_string_equal(kept, "a/b%20c");
}

static void finds_query_values(void **state)
{
	(void)state;
	const char *query = "limit=5&cursor=a%26b&flag&search=&limitx=9&limit=6";
	CLEANUP(free_pointer) char *limit = uri_query_value(query, "limit");
	CLEANUP(free_pointer) char *cursor = uri_query_value(query, "cursor");
	CLEANUP(free_pointer) char *search = uri_query_value(query, "search");
	assert_string_equal(limit, "5");
	assert_string_equal(cursor, "a&b");
	assert_string_equal(search, "");
	assert_null(uri_query_value(query, "flag"));
	assert_null(uri_query_value(query, "lim"));
	assert_null(uri_query_value(NULL, "limit"));
	assert_null(uri_query_value("a=%00", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_exactly_once),
		cmocka_unit_test(refuses_what_is_no_text),
		cmocka_unit_test(encoding_is_undone_by_decoding),
		cmocka_unit_test(finds_query_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
