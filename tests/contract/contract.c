#include "tests/contract/contract.h"

#include <string.h>
#include <sys/random.h>

/* ---- worlds ---- */

struct contract_world *contract_world_new(struct object_store *store)
{
	struct contract_world *world = calloc(1, sizeof(*world));
	uint64_t random = 0;
	if (!world || getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		free(world);
		return NULL;
	}
	world->store = store;
	snprintf(world->root, sizeof(world->root), "contract-%016llx", (unsigned long long)random);
	return world;
}

int contract_close(void **state)
{
	struct contract_world *world = *state;
	if (world)
		object_store_free(world->store);
	free(world);
	return 0;
}

int contract_begin(void **state)
{
	struct contract_world *world = *state;
	snprintf(world->directory, sizeof(world->directory), "%s/%u", world->root, world->number++);
	return 0;
}

struct path_list {
	char **paths;
	size_t count;
};

static enum hfkv_status collect_path(void *context, const struct object_list_entry *entry)
{
	struct path_list *list = context;
	list->paths = reallocarray(list->paths, list->count + 1, sizeof(*list->paths));
	list->paths[list->count++] = strdup(entry->path);
	return HFKV_OK;
}

int contract_end(void **state)
{
	struct contract_world *world = *state;
	struct path_list list = { 0 };
	if (object_store_list(world->store, world->directory, true, collect_path, &list, WITHIN, NULL) != HFKV_OK)
		return -1;
	struct object_stat *stats = calloc(list.count + 1, sizeof(*stats));
	for (size_t i = 0; i < list.count; i++)
		stats[i].path = list.paths[i];
	enum hfkv_status status = object_store_delete_many(world->store, stats, list.count, WITHIN, NULL);
	for (size_t i = 0; i < list.count; i++)
		free(list.paths[i]);
	free(list.paths);
	free(stats);
	return status == HFKV_OK ? 0 : -1;
}

/* ---- for the tests ---- */

const char *contract_path(const struct contract_world *world, const char *name)
{
	static _Thread_local char paths[16][OBJECT_PATH_MAX_BYTES + 64];
	static _Thread_local unsigned next;
	char *path = paths[next++ % 16];
	snprintf(path, sizeof(paths[0]), "%s/%s", world->directory, name);
	return path;
}

uint8_t *contract_bytes(size_t length, uint64_t seed)
{
	uint8_t *bytes = malloc(length + 8);
	assert_non_null(bytes);
	for (size_t at = 0; at < length; at += 8) {
		seed += 0x9e3779b97f4a7c15; /* splitmix64 */
		uint64_t word = seed;
		word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
		word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
		word ^= word >> 31;
		memcpy(bytes + at, &word, 8);
	}
	return bytes;
}

struct object_info contract_put(const struct contract_world *world, const char *name, const void *bytes,
				size_t length)
{
	struct object_put put = { .path = contract_path(world, name),
				  .source = { .memory = bytes, .fd = -1, .size_bytes = length } };
	struct fault fault = FAULT_NONE;
	if (object_store_put_many(world->store, &put, 1, NULL, NULL, WITHIN, &fault) != HFKV_OK)
		fail_msg("put of '%s': %s", name, fault.text);
	assert_int_equal(put.status, HFKV_OK);
	return (struct object_info){ .size_bytes = length, .hash = put.hash };
}

enum hfkv_status contract_stat(const struct contract_world *world, const char *name, struct object_info *ret_info)
{
	struct object_stat stat = { .path = contract_path(world, name) };
	struct fault fault = FAULT_NONE;
	if (object_store_stat_many(world->store, &stat, 1, WITHIN, &fault) != HFKV_OK)
		fail_msg("stat of '%s': %s", name, fault.text);
	if (stat.status == HFKV_OK && ret_info)
		*ret_info = stat.info;
	return stat.status;
}

void contract_expect(const struct contract_world *world, const char *name, const void *bytes, size_t length)
{
	struct object_info info;
	struct fault fault = FAULT_NONE;
	assert_int_equal(contract_stat(world, name, &info), HFKV_OK);
	assert_int_equal(info.size_bytes, length);
	uint8_t *got = calloc(1, length + 1);
	struct object_sink sink = { .memory = got, .fd = -1 };
	if (object_store_read_whole(world->store, &info, &sink, NULL, NULL, WITHIN, &fault) != HFKV_OK)
		fail_msg("read of '%s': %s", name, fault.text);
	if (memcmp(got, bytes, length) != 0 || got[length] != 0)
		fail_msg("'%s' reads back as other bytes", name);
	free(got);
}

static enum hfkv_status collect_name(void *context, const struct object_list_entry *entry)
{
	struct path_list *list = context;
	char *name;
	if (asprintf(&name, "%s%s", entry->path, entry->is_directory ? "/" : "") < 0)
		return HFKV_NO_MEMORY;
	list->paths = reallocarray(list->paths, list->count + 1, sizeof(*list->paths));
	list->paths[list->count++] = name;
	return HFKV_OK;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct byte_buf contract_names(const struct contract_world *world, const char *under, bool recursive)
{
	struct path_list list = { 0 };
	struct byte_buf names = BYTE_BUF_INIT(1 << 20);
	char directory[512];
	snprintf(directory, sizeof(directory), "%s%s%s", world->directory, *under ? "/" : "", under);
	struct fault fault = FAULT_NONE;
	if (object_store_list(world->store, directory, recursive, collect_name, &list, WITHIN, &fault) != HFKV_OK)
		fail_msg("list of '%s': %s", directory, fault.text);
	if (list.count > 0)
		qsort(list.paths, list.count, sizeof(*list.paths), compare_texts);
	for (size_t i = 0; i < list.count; i++) {
		assert_true(strncmp(list.paths[i], directory, strlen(directory)) == 0);
		assert_true(
		    byte_buf_printf(&names, "%s%s", i > 0 ? "\n" : "", list.paths[i] + strlen(directory) + 1));
		free(list.paths[i]);
	}
	free(list.paths);
	return names;
}

int contract_run(const char *store_name, contract_open open)
{
	size_t count = contract_body_test_count + contract_name_test_count + contract_change_test_count, at = 0;
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	const struct {
		const struct CMUnitTest *tests;
		size_t count;
	} parts[] = { { contract_body_tests, contract_body_test_count },
		      { contract_name_tests, contract_name_test_count },
		      { contract_change_tests, contract_change_test_count } };
	for (size_t i = 0; i < 3; i++) {
		memcpy(tests + at, parts[i].tests, parts[i].count * sizeof(*tests));
		at += parts[i].count;
	}
	/* cmocka's macro wants the array's size; its function takes it. */
	int failed = _cmocka_run_group_tests(store_name, tests, count, open, contract_close);
	free(tests);
	return failed;
}
