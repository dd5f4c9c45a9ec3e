#include "tests/unit/cmocka_prelude.h"

#include "common/fault.h"

#include <errno.h>
#include <string.h>

static void context_goes_in_front(void **state)
{
	(void)state;
	struct fault fault = FAULT_NONE;
	assert_int_equal(fault_set_errno(&fault, ENOSPC, "write '%s'", "x"), HFKV_NO_SPACE);
	fault_add_context(&fault, "put '%s'", "key");
	assert_string_equal(fault.text, "put 'key': write 'x': No space left on device");
	assert_int_equal(fault.error_number, ENOSPC);
}

static void long_texts_are_cut(void **state)
{
	(void)state;
	struct fault fault = FAULT_NONE;
	char long_text[2 * FAULT_TEXT_BYTES];
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_int_equal(fault_set(&fault, HFKV_INVALID, "%s", long_text), HFKV_INVALID);
	fault_add_context(&fault, "%s", long_text);
	assert_int_equal(strlen(fault.text), FAULT_TEXT_BYTES - 1);
}

static void no_fault_wanted_is_fine(void **state)
{
	(void)state;
	assert_int_equal(fault_set(NULL, HFKV_CORRUPT, "x"), HFKV_CORRUPT);
	fault_add_context(NULL, "x");
	assert_string_equal(fault_text(NULL, HFKV_CORRUPT), "corrupt");
}

static void errno_of_each_status(void **state)
{
	(void)state;
	assert_int_equal(status_to_errno(HFKV_OK), 0);
	assert_int_equal(status_to_errno(HFKV_NOT_FOUND), ENOENT);
	assert_int_equal(status_to_errno(HFKV_QUOTA), ENOSPC);
	assert_int_equal(status_to_errno(HFKV_RATE_LIMITED), EAGAIN);
	assert_int_equal(status_to_errno(HFKV_OVERSIZE), EFBIG);
	assert_int_equal(status_to_errno(HFKV_CHANGED), ESTALE);
	assert_int_equal(status_to_errno(HFKV_TIMEOUT), ETIMEDOUT);
	for (int status = 1; status < HFKV_STATUS_COUNT; status++) {
		assert_true(status_to_errno((enum hfkv_status)status) > 0);
		assert_string_not_equal(hfkv_status_name((enum hfkv_status)status), "unknown status");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_goes_in_front),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(no_fault_wanted_is_fine),
		cmocka_unit_test(errno_of_each_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
