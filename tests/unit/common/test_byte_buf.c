#include "tests/unit/cmocka_prelude.h"

#include "common/byte_buf.h"
#include "common/cleanup.h"

#include <string.h>

static void appends_and_stays_terminated(void **state)
{
	(void)state;
	CLEANUP(byte_buf_done) struct byte_buf buf = BYTE_BUF_INIT(1000);
	assert_string_equal(byte_buf_text(&buf), "");
	assert_true(byte_buf_append_text(&buf, "abc"));
	assert_true(byte_buf_printf(&buf, "-%d", 42));
	assert_string_equal(byte_buf_text(&buf), "abc-42");
	assert_int_equal(buf.length, 6);
}

static void refuses_to_pass_its_maximum(void **state)
{
	(void)state;
	CLEANUP(byte_buf_done) struct byte_buf buf = BYTE_BUF_INIT(5);
	assert_true(byte_buf_append_text(&buf, "12345"));
	assert_false(byte_buf_append_text(&buf, "6"));
	assert_false(byte_buf_printf(&buf, "%s", "6"));
	assert_null(byte_buf_reserve(&buf, SIZE_MAX));
	assert_string_equal(byte_buf_text(&buf), "12345");
}

static void detach_hands_the_memory_over(void **state)
{
	(void)state;
	struct byte_buf buf = BYTE_BUF_INIT(100);
	CLEANUP(free_pointer) char *empty = byte_buf_detach(&buf);
	assert_string_equal(empty, "");
	assert_true(byte_buf_append_text(&buf, "kept"));
	CLEANUP(free_pointer) char *text = byte_buf_detach(&buf);
	assert_string_equal(text, "kept");
	assert_null(buf.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_and_stays_terminated),
		cmocka_unit_test(refuses_to_pass_its_maximum),
		cmocka_unit_test(detach_hands_the_memory_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
