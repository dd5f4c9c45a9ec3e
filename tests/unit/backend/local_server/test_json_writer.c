#include "tests/unit/cmocka_prelude.h"

#include "backend/local_server/json_writer.h"
#include "common/cleanup.h"

#include <jansson.h>

static void writes_nested_values(void **state)
{
	(void)state;
	CLEANUP(byte_buf_done) struct byte_buf buf = BYTE_BUF_INIT(1000);
	struct json_writer json = JSON_WRITER_INIT(&buf);
	json_write_open(&json, '{');
	json_write_key(&json, "list");
	json_write_open(&json, '[');
	json_write_uint(&json, UINT64_MAX);
	json_write_null(&json);
	json_write_open(&json, '{');
	json_write_close(&json, '}');
	json_write_close(&json, ']');
	json_write_bool_field(&json, "yes", true);
	json_write_time_field(&json, "at", 1700000000123);
	json_write_close(&json, '}');
	assert_true(json_writer_ok(&json));
	assert_string_equal(byte_buf_text(&buf), "{\"list\":[18446744073709551615,null,{}],\"yes\":true,"
						 "\"at\":\"2023-11-14T22:13:20.123Z\"}");
}

/* Whatever bytes go in, a strict parser takes what comes out; text that is UTF-8 comes back as it was. */
static void expect_text(const char *in, const char *want)
{
	CLEANUP(byte_buf_done) struct byte_buf buf = BYTE_BUF_INIT(1000);
	struct json_writer json = JSON_WRITER_INIT(&buf);
	json_write_open(&json, '[');
	json_write_text(&json, in);
	json_write_close(&json, ']');
	json_t *array = json_loads(byte_buf_text(&buf), 0, NULL);
	assert_non_null(array);
	assert_string_equal(json_string_value(json_array_get(array, 0)), want);
	json_decref(array);
}

static void escapes_text(void **state)
{
	(void)state;
	expect_text("", "");
	expect_text("a\"b\\c\n\t\x01\x7f/", "a\"b\\c\n\t\x01\x7f/");
	expect_text("na\xc3\xafve \xe6\x97\xa5 \xf0\x9f\x98\x80", "na\xc3\xafve \xe6\x97\xa5 \xf0\x9f\x98\x80");
	expect_text("a\xff"
		    "b",
		    "a?b");
	expect_text("\xc3", "?");
	expect_text("\xc0\xaf", "??");           /* overlong */
	expect_text("\xed\xa0\x80", "???");      /* a surrogate */
	expect_text("\xf4\x90\x80\x80", "????"); /* past the last code point */
}

static void remembers_that_it_ran_out_of_room(void **state)
{
	(void)state;
	CLEANUP(byte_buf_done) struct byte_buf buf = BYTE_BUF_INIT(8);
	struct json_writer json = JSON_WRITER_INIT(&buf);
	json_write_text(&json, "too long for it");
	json_write_bool(&json, true);
	assert_false(json_writer_ok(&json));
	assert_true(buf.length <= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_nested_values),
		cmocka_unit_test(escapes_text),
		cmocka_unit_test(remembers_that_it_ran_out_of_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
