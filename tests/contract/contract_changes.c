/* Changes: overwriting, removing, renaming, large batches, writers at once, deadlines. */
#include "tests/contract/contract.h"

#include <string.h>

static void test_overwrite(void **state)
{
	struct contract_world *world = *state;
	uint8_t *old_bytes = contract_bytes(200000, 1), *new_bytes = contract_bytes(4096, 2);
	contract_put(world, "k", old_bytes, 200000);
	struct object_info old_info;
	assert_int_equal(contract_stat(world, "k", &old_info), HFKV_OK);
	contract_put(world, "k", new_bytes, 4096);
	contract_expect(world, "k", new_bytes, 4096);
	/* The old content is the old content, or gone: never a mix. */
	uint8_t *got = malloc(200000);
	struct object_sink sink = { .memory = got, .fd = -1 };
	enum hfkv_status status =
	    object_store_read_whole(world->store, &old_info, &sink, NULL, NULL, WITHIN, NULL);
	assert_true(status == HFKV_NOT_FOUND || (status == HFKV_OK && memcmp(got, old_bytes, 200000) == 0));
	free(got);
	free(old_bytes);
	free(new_bytes);
}

static void test_modified_time(void **state)
{
	struct contract_world *world = *state;
	struct object_put put = { .path = contract_path(world, "dated"),
				  .source = { .memory = (const uint8_t *)"x", .fd = -1, .size_bytes = 1 },
				  .modified_at_ms = 1500000000123 };
	assert_int_equal(object_store_put_many(world->store, &put, 1, NULL, NULL, WITHIN, NULL), HFKV_OK);
	struct object_info info;
	assert_int_equal(contract_stat(world, "dated", &info), HFKV_OK);
	assert_int_equal(info.modified_at_ms, 1500000000123);
}

static void test_delete(void **state)
{
	struct contract_world *world = *state;
	contract_put(world, "there", "x", 1);
	contract_put(world, "kept", "x", 1);
	struct object_stat stats[] = { { .path = contract_path(world, "there") },
				       { .path = contract_path(world, "never-was") } };
	assert_int_equal(object_store_delete_many(world->store, stats, 2, WITHIN, NULL), HFKV_OK);
	assert_int_equal(stats[0].status, HFKV_OK);
	assert_int_equal(stats[1].status, HFKV_OK);
	assert_int_equal(contract_stat(world, "there", NULL), HFKV_NOT_FOUND);
	assert_int_equal(contract_stat(world, "kept", NULL), HFKV_OK);
}

static void test_rename(void **state)
{
	struct contract_world *world = *state;
	uint8_t *bytes = contract_bytes(300000, 3);
	contract_put(world, "from", bytes, 300000);
	contract_put(world, "over", "old", 3);
	contract_put(world, "empty", "", 0);
	struct object_info info;
	assert_int_equal(contract_stat(world, "from", &info), HFKV_OK);
	assert_int_equal(object_store_rename(world->store, contract_path(world, "from"), &info,
					     contract_path(world, "sub/to"), WITHIN, NULL),
			 HFKV_OK);
	assert_int_equal(contract_stat(world, "from", NULL), HFKV_NOT_FOUND);
	contract_expect(world, "sub/to", bytes, 300000);
	assert_int_equal(object_store_rename(world->store, contract_path(world, "sub/to"), &info,
					     contract_path(world, "over"), WITHIN, NULL),
			 HFKV_OK);
	contract_expect(world, "over", bytes, 300000);
	assert_int_equal(object_store_rename(world->store, contract_path(world, "over"), &info,
					     contract_path(world, "over"), WITHIN, NULL),
			 HFKV_OK); /* onto itself: nothing happens */
	contract_expect(world, "over", bytes, 300000);
	assert_int_equal(contract_stat(world, "empty", &info), HFKV_OK);
	assert_int_equal(object_store_rename(world->store, contract_path(world, "empty"), &info,
					     contract_path(world, "empty2"), WITHIN, NULL),
			 HFKV_OK);
	contract_expect(world, "empty2", "", 0);
	assert_int_not_equal(
	    object_store_rename(world->store, contract_path(world, "over"), &info, "a/../b", WITHIN, NULL),
	    HFKV_OK);
	free(bytes);
}

/* More than one batch call, more than one paths-info call, more than one page of a listing. */
#define MANY 1001

static void test_many(void **state)
{
	struct contract_world *world = *state;
	struct object_put *puts = calloc(MANY, sizeof(*puts));
	struct object_stat *stats = calloc(MANY + 1, sizeof(*stats));
	for (size_t i = 0; i < MANY; i++) {
		char name[16];
		snprintf(name, sizeof(name), "%04zu", i);
		stats[i].path = strdup(contract_path(world, name));
		uint8_t *bytes = contract_bytes(10 + i, i);
		puts[i] = (struct object_put){ .path = stats[i].path,
					       .source = { .memory = bytes, .fd = -1, .size_bytes = 10 + i } };
	}
	stats[MANY].path = strdup(contract_path(world, "missing"));
	assert_int_equal(object_store_put_many(world->store, puts, MANY, NULL, NULL, WITHIN, NULL), HFKV_OK);
	assert_int_equal(object_store_stat_many(world->store, stats, MANY + 1, WITHIN, NULL), HFKV_OK);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(puts[i].status, HFKV_OK);
		assert_int_equal(stats[i].status, HFKV_OK);
		assert_int_equal(stats[i].info.size_bytes, 10 + i);
		assert_true(content_hash_equal(&stats[i].info.hash, &puts[i].hash));
	}
	assert_int_equal(stats[MANY].status, HFKV_NOT_FOUND);
	struct byte_buf names = contract_names(world, "", false);
	assert_int_equal(names.length, MANY * 5 - 1);
	byte_buf_done(&names);
	assert_int_equal(object_store_delete_many(world->store, stats, MANY + 1, WITHIN, NULL), HFKV_OK);
	names = contract_names(world, "", true);
	assert_int_equal(names.length, 0);
	for (size_t i = 0; i <= MANY; i++) {
		free((char *)stats[i].path);
		if (i < MANY)
			free((uint8_t *)puts[i].source.memory);
	}
	free(stats);
	free(puts);
}

/* ---- writers of one new key at once ---- */

#define WRITERS 4

struct writer {
	struct contract_world *world;
	uint64_t seed;
	enum hfkv_status status;
};

static void *write_key(void *context)
{
	struct writer *writer = context;
	uint8_t *bytes = contract_bytes(150000, writer->seed);
	struct object_put put = { .path = contract_path(writer->world, "shared"),
				  .source = { .memory = bytes, .fd = -1, .size_bytes = 150000 } };
	writer->status = object_store_put_many(writer->world->store, &put, 1, NULL, NULL, WITHIN, NULL);
	free(bytes);
	return NULL;
}

static void test_writers_at_once(void **state)
{
	struct contract_world *world = *state;
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	for (size_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ world, 100 + i / 2, HFKV_BUG }; /* two pairs of equal bodies */
		assert_int_equal(pthread_create(&threads[i], NULL, write_key, &writers[i]), 0);
	}
	for (size_t i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(writers[i].status, HFKV_OK);
	}
	struct byte_buf names = contract_names(world, "", true);
	assert_string_equal(byte_buf_text(&names), "shared");
	byte_buf_done(&names);
	struct object_info info;
	assert_int_equal(contract_stat(world, "shared", &info), HFKV_OK);
	uint8_t *got = malloc(150000), *first = contract_bytes(150000, 100), *second = contract_bytes(150000, 101);
	struct object_sink sink = { .memory = got, .fd = -1 };
	assert_int_equal(object_store_read_whole(world->store, &info, &sink, NULL, NULL, WITHIN, NULL), HFKV_OK);
	assert_true(memcmp(got, first, 150000) == 0 || memcmp(got, second, 150000) == 0);
	free(got);
	free(first);
	free(second);
}

/* An error never makes an absence. */
static void test_deadline_passed(void **state)
{
	struct contract_world *world = *state;
	contract_put(world, "here", "x", 1);
	struct object_stat stat = { .path = contract_path(world, "here") };
	struct object_put put = { .path = contract_path(world, "late"),
				  .source = { .memory = (const uint8_t *)"x", .fd = -1, .size_bytes = 1 } };
	struct deadline passed = deadline_after_ms(-1);
	assert_int_equal(object_store_stat_many(world->store, &stat, 1, passed, NULL), HFKV_TIMEOUT);
	assert_int_equal(stat.status, HFKV_TIMEOUT);
	assert_int_equal(object_store_put_many(world->store, &put, 1, NULL, NULL, passed, NULL), HFKV_TIMEOUT);
	assert_int_equal(put.status, HFKV_TIMEOUT);
	assert_int_equal(object_store_delete_many(world->store, &stat, 1, passed, NULL), HFKV_TIMEOUT);
	assert_int_equal(contract_stat(world, "here", NULL), HFKV_OK);
}

static void test_probe(void **state)
{
	struct contract_world *world = *state;
	struct fault fault = FAULT_NONE;
	if (object_store_probe(world->store, WITHIN, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
}

static void test_nothing_asked(void **state)
{
	struct contract_world *world = *state;
	assert_int_equal(object_store_stat_many(world->store, NULL, 0, WITHIN, NULL), HFKV_OK);
	assert_int_equal(object_store_put_many(world->store, NULL, 0, NULL, NULL, WITHIN, NULL), HFKV_OK);
	assert_int_equal(object_store_delete_many(world->store, NULL, 0, WITHIN, NULL), HFKV_OK);
}

const struct CMUnitTest contract_change_tests[] = {
	CONTRACT_TEST(test_overwrite),
	CONTRACT_TEST(test_modified_time),
	CONTRACT_TEST(test_delete),
	CONTRACT_TEST(test_rename),
	CONTRACT_TEST(test_many),
	CONTRACT_TEST(test_writers_at_once),
	CONTRACT_TEST(test_deadline_passed),
	CONTRACT_TEST(test_probe),
	CONTRACT_TEST(test_nothing_asked),
};
const size_t contract_change_test_count = ARRAY_LENGTH(contract_change_tests);
