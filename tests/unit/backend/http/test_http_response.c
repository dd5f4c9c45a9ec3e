/* Fields of an answer: look-up, links, waits, ranges, types. */
#include "tests/unit/cmocka_prelude.h"

#include "backend/http/http_response.h"

#include <string.h>
#include <time.h>

static struct http_response with_field(const char *name, const char *value)
{
	struct http_response response = HTTP_RESPONSE_INIT;
	assert_true(http_response_add_field(&response, "X-First", 7, "1", 1));
	assert_true(http_response_add_field(&response, name, strlen(name), value, strlen(value)));
	return response;
}

static void test_links(void **state)
{
	(void)state;
	const struct {
		const char *value, *relation, *url; /* NULL: none */
	} cases[] = {
		{ "<http://h/a?cursor=x,y;z>; rel=\"next\"", "next", "http://h/a?cursor=x,y;z" },
		{ "<http://h/1>; rel=\"prev\", <http://h/2>; title=\"a, b\"; rel=next", "next", "http://h/2" },
		{ "<http://h/1>; rel=\"prev\"", "next", NULL },
		{ "<http://h/1>; rel=\"nextish\"", "next", NULL },
		{ "<http://h/1", "next", NULL },
		{ "", "next", NULL },
		{ "<http://h/t>; rel=\"xet-auth\"", "xet-auth", "http://h/t" },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct http_response response = with_field("Link", cases[i].value);
		struct byte_buf url = BYTE_BUF_INIT(100);
		assert_int_equal(http_response_link(&response, cases[i].relation, &url), cases[i].url != NULL);
		if (cases[i].url)
			assert_string_equal(byte_buf_text(&url), cases[i].url);
		byte_buf_done(&url);
		http_response_done(&response);
	}
}

static void test_waits(void **state)
{
	(void)state;
	const struct {
		const char *name, *value;
		int64_t wait_ms;
	} cases[] = {
		{ "RateLimit", "\"api\";r=0;t=3", 3000 },
		{ "ratelimit", "\"api\";r=5;t=3", -1 },
		{ "RateLimit", "\"a\";r=0;t=2, \"b\";r=0;t=7, \"c\";r=1;t=99", 7000 },
		{ "RateLimit", "\"api\";r=0;t=999999999", 86400000 },
		{ "RateLimit", "\"api\";r=0;t=-4", -1 },
		{ "RateLimit", "rubbish", -1 },
		{ "Retry-After", "12", 12000 },
		{ "Retry-After", "-1", 0 },
		{ "Retry-After", "Thu, 01 Jan 1970 00:00:10 GMT", 0 },
		{ "Retry-After", "soon", -1 },
		{ "X-Other", "1", -1 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct http_response response = with_field(cases[i].name, cases[i].value);
		assert_int_equal(http_response_wait_ms(&response), cases[i].wait_ms);
		http_response_done(&response);
	}
	char date[64];
	time_t then = time(NULL) + 100;
	struct tm parts;
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &parts));
	struct http_response response = with_field("Retry-After", date);
	int64_t wait_ms = http_response_wait_ms(&response);
	assert_true(wait_ms > 50000 && wait_ms <= 100000);
	http_response_done(&response);
}

static void test_content_range(void **state)
{
	(void)state;
	uint64_t first, last, total;
	struct http_response response = with_field("Content-Range", "bytes 5-9/20");
	assert_true(http_response_content_range(&response, &first, &last, &total));
	assert_true(first == 5 && last == 9 && total == 20);
	http_response_done(&response);
	response = with_field("Content-Range", "bytes 0-0/*");
	assert_true(http_response_content_range(&response, &first, &last, &total) && total == UINT64_MAX);
	http_response_done(&response);
	const char *const bad[] = { "bytes 9-5/20",  "bytes 5-20/20",
				    "bytes -5/20",   "bytes 5-9",
				    "bytes */20",    "5-9/20",
				    "bytes 5-9/20x", "bytes 99999999999999999999-5/*" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		response = with_field("Content-Range", bad[i]);
		assert_false(http_response_content_range(&response, &first, &last, &total));
		http_response_done(&response);
	}
}

static void test_copies_and_limit(void **state)
{
	(void)state;
	struct http_response response = with_field("Content-Type", "Multipart/ByteRanges; boundary=x");
	struct http_response copy = HTTP_RESPONSE_INIT;
	assert_true(http_response_copy(&copy, &response));
	assert_string_equal(http_response_field(&copy, "x-first"), "1");
	http_response_done(&copy);
	static char long_value[HTTP_FIELDS_MAX_BYTES];
	assert_false(http_response_add_field(&response, "a", 1, long_value, sizeof(long_value)));
	http_response_done(&response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_content_range),
		cmocka_unit_test(test_copies_and_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
