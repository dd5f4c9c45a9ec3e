#include "tests/unit/cmocka_prelude.h"

#include "common/clock.h"
#include "fuse/fs_retry.h"
#include "fuse/thread_group.h"

#include <unistd.h>

static void a_noted_thread_is_expected_until_it_opens(void **state)
{
	(void)state;
	struct fs_retries retries;
	fs_retries_init(&retries);
	bool truncates = false;
	assert_false(fs_retry_expected(&retries, 1, &truncates));
	fs_retry_note(&retries, 1, true);
	fs_retry_note(&retries, 2, false);
	assert_true(fs_retry_expected(&retries, 1, &truncates));
	assert_true(truncates);
	assert_true(fs_retry_expected(&retries, 2, &truncates));
	assert_false(truncates);
	fs_retry_note(&retries, 1, false);
	assert_true(fs_retry_expected(&retries, 1, &truncates));
	assert_false(truncates);
	fs_retry_end(&retries, 1);
	fs_retry_end(&retries, 1);
	assert_false(fs_retry_expected(&retries, 1, &truncates));
	assert_true(fs_retry_expected(&retries, 2, &truncates));
	fs_retries_done(&retries);
}

static void notes_expire(void **state)
{
	(void)state;
	struct fs_retries retries;
	fs_retries_init(&retries);
	bool truncates = false;
	fs_retry_note(&retries, 1, true);
	clock_advance_for_tests(60000);
	assert_false(fs_retry_expected(&retries, 1, &truncates));
	fs_retries_done(&retries);
}

static void notes_are_bounded(void **state)
{
	(void)state;
	struct fs_retries retries;
	fs_retries_init(&retries);
	bool truncates = false;
	for (pid_t thread = 1; thread <= FS_RETRY_MAX + 10; thread++)
		fs_retry_note(&retries, thread, true);
	assert_true(fs_retry_expected(&retries, FS_RETRY_MAX + 10, &truncates));
	assert_true(fs_retry_expected(&retries, FS_RETRY_MAX, &truncates));
	fs_retries_done(&retries);
}

static void processes_are_told_apart(void **state)
{
	(void)state;
	assert_true(thread_group_shared(getpid(), getpid()));
	assert_false(thread_group_shared(getpid(), getppid()));
	assert_false(thread_group_shared(0, 0));
	assert_false(thread_group_shared(getpid(), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_noted_thread_is_expected_until_it_opens),
		cmocka_unit_test(notes_expire),
		cmocka_unit_test(notes_are_bounded),
		cmocka_unit_test(processes_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
