#include "tests/unit/cmocka_prelude.h"

#include "src/connector/fs_connector.h"
#include "src/connector/fs_paths.h"
#include "src/connector/fs_sweep.h"
#include "tests/unit/src/connector/log_lines.h"
#include "tests/unit/src/connector/scratch_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#define BODY_BYTES 8192
#define KEY        "org/model@1@0@ab12@bfloat16"
#define KEY_FILE   "org-SEP-model@1@0@ab12@bfloat16.data"
#define MP_KEY     "org/model@01000100@0@ab12"
#define MP_FILE    "org-SEP-model@0x01000100@0@ab12.data"

struct fixture {
	char root[SCRATCH_PATH_BYTES];
	struct connector_config config;
	struct size_rule_settings rule;
	struct kv_backend *backend;
	uint8_t bytes[BODY_BYTES + 64], back[BODY_BYTES + 64];
};

static int set_up(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	scratch_dir_make(fixture->root);
	assert_string_not_equal(fixture->root, "");
	fixture->config.kind = CONNECTOR_FS;
	fixture->config.full_chunks = true;
	fixture->rule.chunk_bytes = BODY_BYTES;
	for (size_t i = 0; i < sizeof(fixture->bytes); i++)
		fixture->bytes[i] = (uint8_t)(i * 31 + i / 256);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	kv_backend_free(fixture->backend, DEADLINE_NONE);
	connector_config_done(&fixture->config);
	scratch_dir_remove(fixture->root);
	test_free(fixture);
	return 0;
}

static enum hfkv_status try_open(struct fixture *fixture, const char *paths, struct fault *fault)
{
	struct size_rule *rule = NULL;
	fixture->rule.header_bytes = fixture->config.save_chunk_meta ? kv_chunk_header_bytes(1) : 0;
	fixture->rule.any_size = !fixture->config.full_chunks;
	fixture->rule.learns = fixture->config.multi_process;
	enum hfkv_status status = config_set_base_paths(&fixture->config, "base_path", paths, fault);
	if (status == HFKV_OK)
		status = size_rule_new(&fixture->rule, &rule, fault);
	if (status == HFKV_OK)
		status = fs_connector_new(&fixture->config, rule, &fixture->backend, fault);
	if (status != HFKV_OK)
		size_rule_free(rule);
	return status;
}

static void open_at(struct fixture *fixture, const char *paths)
{
	struct fault fault = FAULT_NONE;
	if (try_open(fixture, paths, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
}

static enum hfkv_status run(struct fixture *fixture, enum hfkv_operation operation, struct hfkv_item *item)
{
	return kv_backend_run(fixture->backend, operation, item, 1, DEADLINE_NONE, NULL);
}

static enum hfkv_status put(struct fixture *fixture, const char *key, const void *data, size_t length)
{
	struct hfkv_item item = { .key = key, .data = (void *)data, .length = length };
	enum hfkv_status status = run(fixture, HFKV_OP_PUT, &item);
	assert_int_equal(item.status, status);
	return status;
}

static enum hfkv_status get(struct fixture *fixture, const char *key, size_t length)
{
	struct hfkv_item item = { .key = key, .data = fixture->back, .length = length };
	(void)run(fixture, HFKV_OP_GET, &item);
	return item.status;
}

static enum hfkv_status exists(struct fixture *fixture, const char *key)
{
	struct hfkv_item item = { .key = key };
	(void)run(fixture, HFKV_OP_EXISTS, &item);
	return item.status;
}

static void file_path(struct fixture *fixture, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", fixture->root, name);
}

static void write_file(struct fixture *fixture, const char *name, const void *bytes, size_t length)
{
	char path[PATH_MAX];
	file_path(fixture, name, path);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static long file_size(struct fixture *fixture, const char *name)
{
	char path[PATH_MAX];
	struct stat info;
	file_path(fixture, name, path);
	return stat(path, &info) == 0 ? (long)info.st_size : -1;
}

static size_t count_entries(const char *directory)
{
	size_t count = 0;
	DIR *stream = opendir(directory);
	assert_non_null(stream);
	for (struct dirent *entry; (entry = readdir(stream));)
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(stream);
	return count;
}

/* ---- one path ---- */

static void a_chunk_goes_round_under_lmcaches_file_name(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	assert_int_equal(exists(fixture, KEY), HFKV_NOT_FOUND);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(file_size(fixture, KEY_FILE), BODY_BYTES);
	assert_int_equal(count_entries(fixture->root), 1);
	assert_int_equal(exists(fixture, KEY), HFKV_OK);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_OK);
	assert_memory_equal(fixture->back, fixture->bytes, BODY_BYTES);
	assert_int_equal(put(fixture, KEY, fixture->bytes + 1, BODY_BYTES), HFKV_OK); /* replaced whole */
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_OK);
	assert_memory_equal(fixture->back, fixture->bytes + 1, BODY_BYTES);
	struct hfkv_item item = { .key = KEY };
	assert_int_equal(run(fixture, HFKV_OP_REMOVE, &item), HFKV_OK);
	assert_int_equal(item.status, HFKV_OK);
	assert_int_equal(run(fixture, HFKV_OP_REMOVE, &item), HFKV_OK);
	assert_int_equal(item.status, HFKV_NOT_FOUND);
}

static void other_sizes_are_refused_and_leave_nothing(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES - 1), HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES + 1), HFKV_OVERSIZE);
	assert_int_equal(put(fixture, KEY, fixture->bytes, 0), HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(count_entries(fixture->root), 0);
	write_file(fixture, KEY_FILE, fixture->bytes, 100);
	assert_int_equal(exists(fixture, KEY), HFKV_NOT_FOUND);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	write_file(fixture, KEY_FILE, fixture->bytes, BODY_BYTES + 10);
	memset(fixture->back, 0x5a, sizeof(fixture->back));
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	assert_int_equal(fixture->back[BODY_BYTES], 0x5a); /* not a byte past the buffer */
	assert_int_equal(get(fixture, KEY, BODY_BYTES + 10), HFKV_OVERSIZE);
	assert_int_equal(get(fixture, KEY, 10), HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK); /* storing heals */
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_OK);
}

static enum hfkv_status collect_keys(void *context, const char *key, uint64_t bytes, int64_t modified_at_ms)
{
	char *text = context;
	size_t length = strlen(text);
	assert_true(bytes > 0);
	assert_true(modified_at_ms > 0);
	snprintf(text + length, 1024 - length, "%s\n", key);
	return HFKV_OK;
}

static void a_listing_shows_whole_chunks_and_nothing_else(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	write_file(fixture, "m@1@0@cd@half.data", fixture->bytes, 5);
	write_file(fixture, "m@1@0@cd@half.tmp", fixture->bytes, BODY_BYTES);
	write_file(fixture, "notes.txt", fixture->bytes, BODY_BYTES);
	write_file(fixture, "nokey.data", fixture->bytes, BODY_BYTES);
	write_file(fixture, MP_FILE, fixture->bytes, BODY_BYTES);
	char path[PATH_MAX];
	file_path(fixture, "m@1@0@ef@half.data", path);
	assert_int_equal(mkdir(path, 0700), 0);
	char keys[1024] = "";
	assert_int_equal(kv_backend_list(fixture->backend, collect_keys, keys, DEADLINE_NONE, NULL), HFKV_OK);
	assert_string_equal(keys, KEY "\n");
}

static void keys_of_the_other_side_are_refused_by_name(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	static const char *const keys[] = { MP_KEY,           "m@1@0",        "m", "@1@0@ab@half",
					    "m@1@0@xyz@half", "m@@0@ab@half", NULL };
	for (size_t i = 0; keys[i]; i++) {
		struct hfkv_item item = { .key = keys[i], .data = fixture->bytes, .length = BODY_BYTES };
		struct fault fault = FAULT_NONE;
		assert_int_equal(kv_backend_run(fixture->backend, HFKV_OP_PUT, &item, 1, DEADLINE_NONE, &fault),
				 HFKV_INVALID);
		assert_int_equal(item.status, HFKV_INVALID);
		assert_non_null(strstr(fault.text, keys[i]));
	}
	assert_int_equal(count_entries(fixture->root), 0);
}

static void a_bad_key_does_not_spoil_the_batch(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	struct hfkv_item items[3] = {
		{ .key = "m@1@0@a@half", .data = fixture->bytes, .length = BODY_BYTES },
		{ .key = MP_KEY, .data = fixture->bytes, .length = BODY_BYTES },
		{ .key = "m@1@0@b@half", .data = fixture->bytes, .length = BODY_BYTES },
	};
	assert_int_equal(kv_backend_run(fixture->backend, HFKV_OP_PUT, items, 3, DEADLINE_NONE, NULL),
			 HFKV_INVALID);
	assert_int_equal(items[0].status, HFKV_OK);
	assert_int_equal(items[1].status, HFKV_INVALID);
	assert_int_equal(items[2].status, HFKV_OK);
	assert_int_equal(kv_backend_run(fixture->backend, HFKV_OP_EXISTS, items, 3, DEADLINE_NONE, NULL),
			 HFKV_INVALID);
	assert_int_equal(items[2].status, HFKV_OK);
}

static void names_with_the_slash_word_stay_two_keys(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	assert_int_equal(put(fixture, "org/m-SEP-x@1@0@ab@half", fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(exists(fixture, "org/m/x@1@0@ab@half"), HFKV_NOT_FOUND);
	assert_int_equal(put(fixture, "org/m/x@1@0@ab@half", fixture->bytes + 7, BODY_BYTES), HFKV_OK);
	assert_int_equal(get(fixture, "org/m-SEP-x@1@0@ab@half", BODY_BYTES), HFKV_OK);
	assert_memory_equal(fixture->back, fixture->bytes, BODY_BYTES);
}

static void a_name_too_long_for_the_disk_is_refused(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	char key[400];
	memset(key, 'm', 300);
	strcpy(key + 300, "@1@0@ab@half");
	assert_int_equal(put(fixture, key, fixture->bytes, BODY_BYTES), HFKV_OVERSIZE);
	assert_int_equal(count_entries(fixture->root), 0);
}

/* ---- several paths ---- */

static void the_hash_picks_the_directory_as_lmcache_does(void **state)
{
	(void)state;
	char *bases[] = { (char *)"/a", (char *)"/b", (char *)"/c" };
	struct fs_paths *paths = NULL;
	assert_int_equal(fs_paths_new(bases, 3, NULL, &paths, NULL), HFKV_OK);
	/* abs(int(hash, 16)) % 3, computed with Python. */
	assert_int_equal(fs_paths_choose(paths, "m@1@0@0@half"), 0);
	assert_int_equal(fs_paths_choose(paths, "m@1@0@ab13@half"), 1);
	assert_int_equal(fs_paths_choose(paths, "m@1@0@-ab13@half"), 1);
	assert_int_equal(fs_paths_choose(paths, "m@1@0@-5@half@layer"), 2);
	assert_int_equal(fs_paths_choose(paths, "m@1@0@123456789abcdef0fedcba9876543210f@half"), 0);
	fs_paths_free(paths);
}

static void each_directory_holds_its_share(void **state)
{
	struct fixture *fixture = *state;
	char paths[3 * SCRATCH_PATH_BYTES + 16], base[SCRATCH_PATH_BYTES + 16];
	snprintf(paths, sizeof(paths), "%s/d0, %s/d1 ,%s/d2", fixture->root, fixture->root, fixture->root);
	open_at(fixture, paths);
	static const char *const keys[] = { "m@1@0@0@half", "m@1@0@1@half", "m@1@0@-2@half", "m@1@0@3@half" };
	static const size_t where[] = { 0, 1, 2, 0 };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(put(fixture, keys[i], fixture->bytes + i, BODY_BYTES), HFKV_OK);
		char name[64];
		snprintf(name, sizeof(name), "d%zu/%s.data", where[i], keys[i]);
		assert_int_equal(file_size(fixture, name), BODY_BYTES);
	}
	/* A file in a directory where its key does not belong is not there. */
	write_file(fixture, "d1/m@1@0@6@half.data", fixture->bytes, BODY_BYTES);
	char listed[1024] = "";
	assert_int_equal(kv_backend_list(fixture->backend, collect_keys, listed, DEADLINE_NONE, NULL), HFKV_OK);
	assert_null(strstr(listed, "@6@"));
	for (size_t i = 0; i < 4; i++)
		assert_non_null(strstr(listed, keys[i]));
	snprintf(base, sizeof(base), "%s/d0", fixture->root);
	assert_int_equal(count_entries(base), 2);
}

/* ---- header ---- */

static void fill_header(uint8_t header[28], int32_t length)
{
	int32_t words[7] = { length, 2, 3, 2, 4, 16, 32 };
	memcpy(header, words, 28);
}

static void a_header_lies_before_the_data(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.save_chunk_meta = true;
	open_at(fixture, fixture->root);
	uint8_t header[28], header_back[28];
	fill_header(header, BODY_BYTES);
	struct hfkv_item item = {
		.key = KEY, .data = fixture->bytes, .length = BODY_BYTES, .header = header, .header_length = 28
	};
	assert_int_equal(run(fixture, HFKV_OP_PUT, &item), HFKV_OK);
	assert_int_equal(file_size(fixture, KEY_FILE), BODY_BYTES + 28);
	assert_int_equal(exists(fixture, KEY), HFKV_OK);
	item.data = fixture->back;
	item.header = header_back;
	assert_int_equal(run(fixture, HFKV_OP_GET, &item), HFKV_OK);
	assert_int_equal(item.status, HFKV_OK);
	assert_int_equal(item.bytes, BODY_BYTES);
	assert_memory_equal(header_back, header, 28);
	assert_memory_equal(fixture->back, fixture->bytes, BODY_BYTES);
	/* The body as stored, header in front. */
	assert_int_equal(get(fixture, KEY, BODY_BYTES + 28), HFKV_OK);
	assert_memory_equal(fixture->back, header, 28);
	assert_int_equal(put(fixture, "m@1@0@1@half", fixture->back, BODY_BYTES + 28), HFKV_OK);
	assert_int_equal(get(fixture, "m@1@0@1@half", BODY_BYTES + 28), HFKV_OK);
}

static void a_header_that_lies_is_refused_and_never_served(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.save_chunk_meta = true;
	fixture->rule.chunk_bytes = 0; /* sizes not told: the header tells */
	open_at(fixture, fixture->root);
	uint8_t body[28 + 100] = { 0 };
	fill_header(body, 99);
	assert_int_equal(put(fixture, KEY, body, sizeof(body)), HFKV_INVALID);
	write_file(fixture, KEY_FILE, body, sizeof(body));
	assert_int_equal(exists(fixture, KEY), HFKV_NOT_FOUND);
	assert_int_equal(get(fixture, KEY, sizeof(body)), HFKV_NOT_FOUND);
	fill_header(body, 100);
	write_file(fixture, KEY_FILE, body, sizeof(body));
	assert_int_equal(exists(fixture, KEY), HFKV_OK);
	assert_int_equal(get(fixture, KEY, sizeof(body)), HFKV_OK);
	uint8_t header[20];
	struct hfkv_item item = { .key = KEY, .data = body, .length = 100, .header = header, .header_length = 20 };
	assert_int_equal(run(fixture, HFKV_OP_PUT, &item), HFKV_INVALID);
}

static void any_size_goes_where_full_chunks_is_off(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.full_chunks = false;
	open_at(fixture, fixture->root);
	assert_int_equal(put(fixture, KEY, fixture->bytes, 100), HFKV_OK);
	assert_int_equal(exists(fixture, KEY), HFKV_OK);
	struct hfkv_item item = { .key = KEY, .data = fixture->back, .length = BODY_BYTES };
	assert_int_equal(run(fixture, HFKV_OP_GET, &item), HFKV_OK);
	assert_int_equal(item.bytes, 100);
	item.length = 50;
	(void)run(fixture, HFKV_OP_GET, &item);
	assert_int_equal(item.status, HFKV_OVERSIZE);
}

/* ---- how bytes move ---- */

static void read_ahead_gives_the_same_bytes(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.read_ahead_bytes = 1000;
	open_at(fixture, fixture->root);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_OK);
	assert_memory_equal(fixture->back, fixture->bytes, BODY_BYTES);
	write_file(fixture, KEY_FILE, fixture->bytes, 500); /* ends within the window */
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	write_file(fixture, KEY_FILE, fixture->bytes, 1500); /* ends behind it */
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
}

static void o_direct_takes_unaligned_buffers(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.use_odirect = true;
	open_at(fixture, fixture->root);
	uint8_t *aligned = NULL;
	assert_int_equal(posix_memalign((void **)&aligned, 4096, BODY_BYTES), 0);
	memcpy(aligned, fixture->bytes + 3, BODY_BYTES);
	assert_int_equal(put(fixture, "m@1@0@1@half", aligned, BODY_BYTES), HFKV_OK);
	assert_int_equal(put(fixture, "m@1@0@2@half", fixture->bytes + 3, BODY_BYTES), HFKV_OK);
	struct hfkv_item item = { .key = "m@1@0@2@half", .data = fixture->back + 5, .length = BODY_BYTES };
	assert_int_equal(run(fixture, HFKV_OP_GET, &item), HFKV_OK);
	assert_memory_equal(fixture->back + 5, fixture->bytes + 3, BODY_BYTES);
	item.key = "m@1@0@1@half";
	item.data = aligned;
	memset(aligned, 0, BODY_BYTES);
	assert_int_equal(run(fixture, HFKV_OP_GET, &item), HFKV_OK);
	assert_memory_equal(aligned, fixture->bytes + 3, BODY_BYTES);
	free(aligned);
	write_file(fixture, KEY_FILE, fixture->bytes, BODY_BYTES + 10);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
}

/* The first write is short; what it says is why the rest did not go. */
static void a_short_o_direct_write_tells_why(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.use_odirect = true;
	open_at(fixture, fixture->root);
	struct rlimit before, small;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct hfkv_item item = { .key = KEY, .data = fixture->bytes, .length = BODY_BYTES };
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    kv_backend_run(fixture->backend, HFKV_OP_PUT, &item, 1, DEADLINE_NONE, &fault);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(fault.error_number, EFBIG);
	assert_int_not_equal(status, HFKV_OK);
	assert_int_equal(count_entries(fixture->root), 0);
}

static void what_is_no_regular_file_is_a_miss(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	char path[PATH_MAX];
	file_path(fixture, KEY_FILE, path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	int writer = open(path, O_RDWR);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	close(writer);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(exists(fixture, KEY), HFKV_NOT_FOUND);
	assert_int_equal(get(fixture, KEY, BODY_BYTES), HFKV_NOT_FOUND);
	assert_int_equal(rmdir(path), 0);
}

static void an_unaligned_size_goes_without_o_direct_and_says_so_once(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.use_odirect = true;
	fixture->rule.chunk_bytes = 1000;
	open_at(fixture, fixture->root);
	struct log_lines lines;
	log_lines_collect(&lines);
	assert_int_equal(put(fixture, KEY, fixture->bytes, 1000), HFKV_OK);
	assert_int_equal(get(fixture, KEY, 1000), HFKV_OK);
	log_lines_collect(NULL);
	assert_memory_equal(fixture->back, fixture->bytes, 1000);
	char *first = strstr(lines.text, "O_DIRECT");
	assert_non_null(first);
	assert_null(strstr(first + 1, "O_DIRECT"));
}

static void temporaries_go_to_their_directory_and_leave_it(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.relative_tmp_dir = strdup("tmp/deep");
	open_at(fixture, fixture->root);
	char tmp[SCRATCH_PATH_BYTES + 16];
	snprintf(tmp, sizeof(tmp), "%s/tmp/deep", fixture->root);
	assert_int_equal(count_entries(tmp), 0);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(count_entries(tmp), 0);
	assert_int_equal(file_size(fixture, KEY_FILE), BODY_BYTES);
}

static void temporary_names_are_never_the_same(void **state)
{
	(void)state;
	char *bases[] = { (char *)"/a" };
	struct fs_paths *one = NULL, *two = NULL;
	assert_int_equal(fs_paths_new(bases, 1, NULL, &one, NULL), HFKV_OK);
	assert_int_equal(fs_paths_new(bases, 1, NULL, &two, NULL), HFKV_OK);
	char first[PATH_MAX], second[PATH_MAX], other[PATH_MAX];
	fs_paths_temporary(one, 0, first);
	fs_paths_temporary(one, 0, second);
	fs_paths_temporary(two, 0, other);
	assert_string_not_equal(first, second);
	assert_string_not_equal(first, other);
	fs_paths_free(one);
	fs_paths_free(two);
}

static void a_failed_rename_leaves_no_temporary(void **state)
{
	struct fixture *fixture = *state;
	open_at(fixture, fixture->root);
	char path[PATH_MAX];
	file_path(fixture, KEY_FILE, path);
	assert_int_equal(mkdir(path, 0700), 0); /* a file cannot replace a directory */
	assert_int_not_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(count_entries(fixture->root), 1);
}

static void only_old_temporaries_of_ours_are_swept(void **state)
{
	struct fixture *fixture = *state;
	static const char *const names[] = { ".hfkv-0123456789abcdef-0.tmp", ".hfkv-0123456789abcdef-1.tmp",
					     "m@1@0@ab@half.tmp", ".other.tmp", KEY_FILE };
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		write_file(fixture, names[i], "x", 1);
	struct timespec old[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	char path[PATH_MAX];
	for (size_t i = 1; i < ARRAY_LENGTH(names); i++) {
		file_path(fixture, names[i], path);
		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	}
	atomic_bool stop = false;
	assert_int_equal(fs_sweep_directory(fixture->root, clock_wall_ms(), &stop), 1);
	assert_int_equal(file_size(fixture, names[1]), -1);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (i != 1)
			assert_int_equal(file_size(fixture, names[i]), 1);
}

/* ---- the start ---- */

static void missing_directories_are_made(void **state)
{
	struct fixture *fixture = *state;
	char path[SCRATCH_PATH_BYTES + 16];
	snprintf(path, sizeof(path), "%s/a/b/c/", fixture->root);
	fixture->config.use_odirect = true; /* asks the block size, after they were made */
	open_at(fixture, path);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(file_size(fixture, "a/b/c/" KEY_FILE), BODY_BYTES);
}

static void a_base_path_that_is_a_file_is_an_error_at_the_start(void **state)
{
	struct fixture *fixture = *state;
	write_file(fixture, "file", "x", 1);
	char path[SCRATCH_PATH_BYTES + 16];
	snprintf(path, sizeof(path), "%s/file", fixture->root);
	struct fault fault = FAULT_NONE;
	assert_int_equal(try_open(fixture, path, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, path));
	assert_non_null(strstr(fault.text, "not a directory"));
}

static void a_base_path_without_permission_is_an_error_at_the_start(void **state)
{
	struct fixture *fixture = *state;
	if (geteuid() == 0 && seteuid(65534) != 0)
		skip();
	char path[SCRATCH_PATH_BYTES + 16];
	snprintf(path, sizeof(path), "/proc/hfkv-no-such-directory");
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = try_open(fixture, path, &fault);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_not_equal(status, HFKV_OK);
	assert_non_null(strstr(fault.text, path));
}

/* ---- MP ---- */

static void mp_keys_have_the_file_names_of_lmcaches_mp_adapters(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.multi_process = true;
	open_at(fixture, fixture->root);
	assert_int_equal(put(fixture, MP_KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(file_size(fixture, MP_FILE), BODY_BYTES);
	assert_int_equal(put(fixture, MP_KEY "@salt", fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(file_size(fixture, "org-SEP-model@0x01000100@0@ab12@salt.data"), BODY_BYTES);
	assert_int_equal(put(fixture, MP_KEY "@sa/lt", fixture->bytes, BODY_BYTES), HFKV_INVALID);
	assert_int_equal(put(fixture, KEY, fixture->bytes, BODY_BYTES), HFKV_INVALID);
	assert_int_equal(put(fixture, "m@01000100@ab", fixture->bytes, BODY_BYTES),
			 HFKV_INVALID); /* the old form */
	assert_int_equal(exists(fixture, "m@01000100@ab"), HFKV_NOT_FOUND);
	char keys[1024] = "";
	assert_int_equal(kv_backend_list(fixture->backend, collect_keys, keys, DEADLINE_NONE, NULL), HFKV_OK);
	assert_non_null(strstr(keys, MP_KEY "\n"));
	assert_non_null(strstr(keys, MP_KEY "@salt\n"));
}

static void an_mp_store_leaves_a_whole_file_and_replaces_another(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.multi_process = true;
	fixture->rule.chunk_bytes = 0;
	open_at(fixture, fixture->root);
	write_file(fixture, MP_FILE, fixture->bytes + 9, BODY_BYTES);
	assert_int_equal(put(fixture, MP_KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(get(fixture, MP_KEY, BODY_BYTES), HFKV_OK);
	assert_memory_equal(fixture->back, fixture->bytes + 9, BODY_BYTES);
	write_file(fixture, MP_FILE, fixture->bytes, 17);
	assert_int_equal(exists(fixture, MP_KEY), HFKV_NOT_FOUND); /* the size was learned from the store */
	assert_int_equal(put(fixture, MP_KEY, fixture->bytes, BODY_BYTES), HFKV_OK);
	assert_int_equal(get(fixture, MP_KEY, BODY_BYTES), HFKV_OK);
	assert_memory_equal(fixture->back, fixture->bytes, BODY_BYTES);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_chunk_goes_round_under_lmcaches_file_name),
		WITH_FIXTURE(other_sizes_are_refused_and_leave_nothing),
		WITH_FIXTURE(a_listing_shows_whole_chunks_and_nothing_else),
		WITH_FIXTURE(keys_of_the_other_side_are_refused_by_name),
		WITH_FIXTURE(a_bad_key_does_not_spoil_the_batch),
		WITH_FIXTURE(names_with_the_slash_word_stay_two_keys),
		WITH_FIXTURE(a_name_too_long_for_the_disk_is_refused),
		cmocka_unit_test(the_hash_picks_the_directory_as_lmcache_does),
		WITH_FIXTURE(each_directory_holds_its_share),
		WITH_FIXTURE(a_header_lies_before_the_data),
		WITH_FIXTURE(a_header_that_lies_is_refused_and_never_served),
		WITH_FIXTURE(any_size_goes_where_full_chunks_is_off),
		WITH_FIXTURE(read_ahead_gives_the_same_bytes),
		WITH_FIXTURE(o_direct_takes_unaligned_buffers),
		WITH_FIXTURE(a_short_o_direct_write_tells_why),
		WITH_FIXTURE(what_is_no_regular_file_is_a_miss),
		WITH_FIXTURE(an_unaligned_size_goes_without_o_direct_and_says_so_once),
		WITH_FIXTURE(temporaries_go_to_their_directory_and_leave_it),
		cmocka_unit_test(temporary_names_are_never_the_same),
		WITH_FIXTURE(a_failed_rename_leaves_no_temporary),
		WITH_FIXTURE(only_old_temporaries_of_ours_are_swept),
		WITH_FIXTURE(missing_directories_are_made),
		WITH_FIXTURE(a_base_path_that_is_a_file_is_an_error_at_the_start),
		WITH_FIXTURE(a_base_path_without_permission_is_an_error_at_the_start),
		WITH_FIXTURE(mp_keys_have_the_file_names_of_lmcaches_mp_adapters),
		WITH_FIXTURE(an_mp_store_leaves_a_whole_file_and_replaces_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
