#include "tests/unit/cmocka_prelude.h"

#include "src/cli/local_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int enter_scratch(void **state)
{
	char directory[] = "/tmp/hfkv-file-XXXXXX";
	if (!mkdtemp(directory) || chdir(directory) != 0)
		return -1;
	*state = strdup(directory);
	return 0;
}

static int leave_scratch(void **state)
{
	int left = chdir("/") != 0 || rmdir(*state) != 0; /* fails when something is left in it */
	free(*state);
	return left;
}

static void write_text(const char *name, const char *text)
{
	FILE *stream = fopen(name, "w");
	fputs(text, stream);
	fclose(stream);
}

static void assert_text(const char *name, const char *text)
{
	char found[64] = "";
	FILE *stream = fopen(name, "r");
	assert_non_null(stream);
	size_t length = fread(found, 1, sizeof(found) - 1, stream);
	fclose(stream);
	found[length] = '\0';
	assert_string_equal(found, text);
}

static struct local_target opened(const char *name)
{
	struct local_target target;
	struct fault fault = FAULT_NONE;
	if (local_target_open(name, &target, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	return target;
}

static void a_target_appears_whole_at_its_commit(void **state)
{
	(void)state;
	struct local_target target = opened("new");
	assert_int_equal(pwrite(target.fd, "body", 4, 0), 4);
	assert_int_equal(access("new", F_OK), -1);
	assert_int_equal(local_target_commit(&target, 4, NULL), HFKV_OK);
	local_target_done(&target);
	assert_text("new", "body");
	unlink("new");
}

static void an_existing_file_is_replaced_or_kept(void **state)
{
	(void)state;
	write_text("there", "old");
	struct local_target target = opened("there");
	assert_int_equal(pwrite(target.fd, "new", 3, 0), 3);
	local_target_done(&target); /* given up */
	assert_text("there", "old");
	target = opened("there");
	assert_int_equal(pwrite(target.fd, "newer", 5, 0), 5);
	assert_int_equal(local_target_commit(&target, 5, NULL), HFKV_OK);
	local_target_done(&target);
	assert_text("there", "newer");
	unlink("there");
}

static void a_pipe_gets_its_bytes_at_the_commit(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	int reader = open("pipe", O_RDONLY | O_NONBLOCK);
	struct local_target target = opened("pipe");
	char found[16];
	assert_int_equal(pwrite(target.fd, "body", 4, 0), 4);
	assert_int_equal(read(reader, found, sizeof(found)), -1);
	assert_int_equal(local_target_commit(&target, 4, NULL), HFKV_OK);
	assert_int_equal(read(reader, found, sizeof(found)), 4);
	local_target_done(&target);
	close(reader);
	unlink("pipe");
}

static void a_directory_is_no_target_and_no_source(void **state)
{
	(void)state;
	struct local_target target;
	struct local_source source;
	assert_int_equal(local_target_open("/tmp", &target, NULL), HFKV_INVALID);
	assert_int_equal(local_source_open("/tmp", &source, NULL), HFKV_INVALID);
	assert_int_equal(local_source_open("absent", &source, NULL), HFKV_NOT_FOUND);
}

static void sources_know_their_size(void **state)
{
	(void)state;
	write_text("file", "12345");
	struct local_source source;
	assert_int_equal(local_source_open("file", &source, NULL), HFKV_OK);
	assert_int_equal(source.size_bytes, 5);
	close(source.fd);
	unlink("file");
}

static void a_stream_source_is_buffered(void **state)
{
	(void)state;
	int pipe_fds[2], saved = dup(STDIN_FILENO);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "streamed", 8), 8);
	close(pipe_fds[1]);
	dup2(pipe_fds[0], STDIN_FILENO);
	close(pipe_fds[0]);
	struct local_source source;
	assert_int_equal(local_source_open("-", &source, NULL), HFKV_OK);
	char found[16];
	assert_int_equal(source.size_bytes, 8);
	assert_int_equal(pread(source.fd, found, sizeof(found), 0), 8);
	assert_memory_equal(found, "streamed", 8);
	close(source.fd);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void directories_are_made_on_the_way(void **state)
{
	(void)state;
	assert_int_equal(local_make_directories("a/b/file", 0, NULL), HFKV_OK);
	assert_int_equal(local_make_directories("a/b/other", 0, NULL), HFKV_OK);
	assert_int_equal(access("a/b/file", F_OK), -1);
	assert_int_equal(rmdir("a/b"), 0);
	assert_int_equal(rmdir("a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_target_appears_whole_at_its_commit, enter_scratch, leave_scratch),
		cmocka_unit_test_setup_teardown(an_existing_file_is_replaced_or_kept, enter_scratch, leave_scratch),
		cmocka_unit_test_setup_teardown(a_pipe_gets_its_bytes_at_the_commit, enter_scratch, leave_scratch),
		cmocka_unit_test_setup_teardown(a_directory_is_no_target_and_no_source, enter_scratch, leave_scratch),
		cmocka_unit_test_setup_teardown(sources_know_their_size, enter_scratch, leave_scratch),
		cmocka_unit_test_setup_teardown(a_stream_source_is_buffered, enter_scratch, leave_scratch),
		cmocka_unit_test_setup_teardown(directories_are_made_on_the_way, enter_scratch, leave_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
