#include "tests/unit/cmocka_prelude.h"

#include "common/cleanup.h"
#include "common/file_io.h"

#include <fcntl.h>
#include <string.h>

static int new_file(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void reads_what_was_written_at_an_offset(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = new_file();
	char text[8] = { 0 };
	assert_true(file_io_write_at(fd, "abcdef", 6, 10));
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(file_io_read_at(fd, text, 4, 11), 4);
	assert_string_equal(text, "bcde");
}

static void says_how_much_there_was_before_the_end(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = new_file();
	char text[8] = { 0 };
	assert_true(file_io_write(fd, "abc", 3));
	assert_int_equal(file_io_read_at(fd, text, sizeof(text), 1), 2);
	assert_int_equal(file_io_read_at(fd, text, sizeof(text), 3), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(file_io_read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
}

/* A pipe gives what has come so far: each read of it is short. */
static void goes_on_after_a_short_read(void **state)
{
	(void)state;
	int ends[2];
	char text[8] = { 0 };
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_DIRECT), 0);
	assert_true(file_io_write(ends[1], "abc", 3));
	assert_true(file_io_write(ends[1], "def", 3));
	close(ends[1]);
	assert_int_equal(file_io_read(ends[0], text, sizeof(text)), 6);
	assert_string_equal(text, "abcdef");
	close(ends[0]);
}

static void leaves_the_reason_in_errno(void **state)
{
	(void)state;
	char byte = 'x';
	CLEANUP(close_fd) int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	assert_false(file_io_write(full, &byte, 1));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(file_io_read(-1, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(file_io_read_at(-1, &byte, 1, 0), -1);
	assert_false(file_io_write_at(-1, &byte, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written_at_an_offset),
		cmocka_unit_test(says_how_much_there_was_before_the_end),
		cmocka_unit_test(goes_on_after_a_short_read),
		cmocka_unit_test(leaves_the_reason_in_errno),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
