#include "tests/unit/cmocka_prelude.h"

#include "backend/local_server/byte_ranges.h"

static void expect(const char *header, uint64_t size, enum range_outcome want, uint64_t start, uint64_t end)
{
	struct byte_range range = { 0, 0 };
	assert_int_equal(byte_range_parse(header, size, &range), want);
	if (want == RANGE_OK || want == RANGE_ABSENT) {
		assert_int_equal(range.start, start);
		assert_int_equal(range.end, end);
	}
}

static void one_range(void **state)
{
	(void)state;
	expect(NULL, 10, RANGE_ABSENT, 0, 10);
	expect("bytes=0-0", 10, RANGE_OK, 0, 1);
	expect("bytes=3-", 10, RANGE_OK, 3, 10);
	expect("bytes=3-100", 10, RANGE_OK, 3, 10);
	expect("bytes=-4", 10, RANGE_OK, 6, 10);
	expect("bytes=-40", 10, RANGE_OK, 0, 10);
	expect("bytes=0-18446744073709551615", 10, RANGE_OK, 0, 10);
	expect("bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 0);
	expect("bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 0);
	expect("bytes=0-0", 0, RANGE_UNSATISFIABLE, 0, 0);
}

static void malformed_ranges(void **state)
{
	(void)state;
	const char *bad[] = {
		"",          "bytes",         "bytes=",    "bytes=a-b",  "bytes=5-4",
		"bytes=1",   "bytes=1-2,3-4", "items=0-1", "bytes=0-1x", "bytes=18446744073709551616-",
		"bytes=--1", "bytes= 0-1"
	};
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		expect(bad[i], 10, RANGE_MALFORMED, 0, 0);
}

static void explicit_lists(void **state)
{
	(void)state;
	struct byte_range ranges[3];
	assert_int_equal(byte_ranges_parse_list("0-9,20-29", ranges, 3), 2);
	assert_int_equal(ranges[1].start, 20);
	assert_int_equal(ranges[1].end, 30);
	assert_int_equal(byte_ranges_parse_list("0-9, 20-29", ranges, 3), 2);
	assert_int_equal(byte_ranges_parse_list("0-0,1-1,2-2,3-3", ranges, 3), 0);
	const char *bad[] = { "", "0", "0-", "-5", "5-4", "0-9,", ",0-9", "0-9;1-2", "0-18446744073709551615" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(byte_ranges_parse_list(bad[i], ranges, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_range),
		cmocka_unit_test(malformed_ranges),
		cmocka_unit_test(explicit_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
