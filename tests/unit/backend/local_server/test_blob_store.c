#include "tests/unit/backend/local_server/scratch_directory.h"

#include "backend/local_server/blob_store.h"

#include <dirent.h>

static const struct content_hash name = { .bytes = { 0xab, 1, 2, 3, 4, 5, 6, 0x7f } };

static struct blob_store *open_store(void **state)
{
	struct blob_store *store = NULL;
	assert_int_equal(blob_store_open(*state, true, &store, NULL), HFKV_OK);
	return store;
}

static struct blob_writer *begin(struct blob_store *store, const char *text)
{
	struct blob_writer *writer = NULL;
	assert_int_equal(blob_writer_new(store, &writer, NULL), HFKV_OK);
	assert_int_equal(blob_writer_append(writer, text, strlen(text), NULL), HFKV_OK);
	return writer;
}

static size_t half_written(void **state)
{
	char path[100];
	snprintf(path, sizeof(path), "%s/incoming", (char *)*state);
	DIR *directory = opendir(path);
	assert_non_null(directory);
	size_t count = 0;
	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

static void a_blob_is_there_once_committed(void **state)
{
	CLEANUP(blob_store_closep) struct blob_store *store = open_store(state);
	CLEANUP(blob_reader_freep) struct blob_reader *reader = NULL;
	CLEANUP(blob_writer_freep) struct blob_writer *writer = begin(store, "hello ");
	assert_int_equal(blob_reader_open(store, &name, &reader, NULL), HFKV_NOT_FOUND);
	assert_int_equal(blob_writer_append(writer, "world", 5, NULL), HFKV_OK);
	assert_int_equal(blob_writer_commit(writer, &name, NULL), HFKV_OK);
	assert_int_equal(blob_reader_open(store, &name, &reader, NULL), HFKV_OK);
	assert_int_equal(blob_reader_bytes(reader), 11);
	char text[12] = "";
	assert_int_equal(blob_reader_read(reader, 6, text, 5, NULL), HFKV_OK);
	assert_string_equal(text, "world");
	assert_int_equal(blob_reader_read(reader, 6, text, 6, NULL), HFKV_CORRUPT);
	CLEANUP(close_fd) int fd = blob_reader_dup_fd(reader);
	assert_int_equal(pread(fd, text, 5, 0), 5);
	assert_memory_equal(text, "hello", 5);
}

static void what_is_given_up_leaves_nothing(void **state)
{
	CLEANUP(blob_store_closep) struct blob_store *store = open_store(state);
	blob_writer_free(begin(store, "never"));
	assert_int_equal(half_written(state), 0);
}

static void a_second_commit_replaces(void **state)
{
	CLEANUP(blob_store_closep) struct blob_store *store = open_store(state);
	for (int round = 0; round < 2; round++) {
		CLEANUP(blob_writer_freep) struct blob_writer *writer = begin(store, "same");
		assert_int_equal(blob_writer_commit(writer, &name, NULL), HFKV_OK);
	}
	assert_int_equal(half_written(state), 0);
}

static void left_overs_of_a_dead_process_go(void **state)
{
	struct blob_store *store = open_store(state);
	char path[100];
	blob_store_close(store);
	snprintf(path, sizeof(path), "%s/incoming/dead", (char *)*state);
	FILE *stream = fopen(path, "w");
	assert_non_null(stream);
	fclose(stream);
	assert_int_equal(half_written(state), 1);
	CLEANUP(blob_store_closep) MAYBE_UNUSED struct blob_store *again = open_store(state);
	assert_int_equal(half_written(state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_blob_is_there_once_committed, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(what_is_given_up_leaves_nothing, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(a_second_commit_replaces, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(left_overs_of_a_dead_process_go, scratch_make, scratch_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
