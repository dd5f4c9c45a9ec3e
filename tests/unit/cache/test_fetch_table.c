#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/gate.h"

#include <pthread.h>

enum how { BY_FILE, BY_LOAD };

/* One reader in a thread of its own. */
struct reader {
	pthread_t thread;
	struct cache_fixture *fixture;
	const char *path;
	unsigned seed;
	enum how how;
	int64_t time_ms;
	enum hfkv_status status;
};

static enum hfkv_status read_by_file(struct reader *reader, uint8_t *got)
{
	CLEANUP(staged_file_unrefp) struct staged_file *file = NULL;
	enum hfkv_status status = kv_cache_open_reader(reader->fixture->cache, reader->path,
						       deadline_after_ms(reader->time_ms), &file, NULL, NULL);
	if (status == HFKV_OK)
		assert_int_equal(pread(staged_file_fd(file), got, FULL_BYTES, 0), FULL_BYTES);
	return status;
}

static enum hfkv_status read_by_load(struct reader *reader, uint8_t *got)
{
	struct kv_cache_load load = { .path = reader->path, .into = got, .length = FULL_BYTES };
	enum hfkv_status status =
	    kv_cache_load_many(reader->fixture->cache, &load, 1, deadline_after_ms(reader->time_ms), NULL);
	return status == HFKV_OK ? load.status : status;
}

static void *reader_main(void *argument)
{
	struct reader *reader = argument;
	uint8_t got[FULL_BYTES], expected[FULL_BYTES];
	reader->status = reader->how == BY_FILE ? read_by_file(reader, got) : read_by_load(reader, got);
	fill_bytes(expected, FULL_BYTES, reader->seed);
	if (reader->status == HFKV_OK)
		assert_memory_equal(got, expected, FULL_BYTES);
	return NULL;
}

static void start(struct reader *reader, struct cache_fixture *fixture, const char *path, unsigned seed,
		  enum how how, int64_t time_ms)
{
	*reader =
	    (struct reader){ .fixture = fixture, .path = path, .seed = seed, .how = how, .time_ms = time_ms };
	pthread_create(&reader->thread, NULL, reader_main, reader);
}

static enum hfkv_status finish(struct reader *reader)
{
	pthread_join(reader->thread, NULL);
	return reader->status;
}

static void hold_reads(struct cache_fixture *fixture, struct gate *gate, unsigned times)
{
	gate_init(gate);
	assert_int_equal(fault_store_add(fixture->store, &(struct fault_store_rule){ .call = FAULT_STORE_READ,
										     .times = times,
										     .gate = gate_pass,
										     .gate_context = gate }),
			 HFKV_OK);
}

/* Sixteen readers, files and loads mixed, of one object under two names: one download. */
static void one_download_whoever_asks(void **state)
{
	(void)state;
	enum { READERS = 16 };
	struct cache_fixture fixture;
	struct gate gate;
	struct reader readers[READERS];
	for (enum how first = BY_FILE; first <= BY_LOAD; first++) {
		fixture_open(&fixture, NULL);
		put_behind(&fixture, "p/a", FULL_BYTES, 7);
		put_behind(&fixture, "p/b", FULL_BYTES, 7);
		hold_reads(&fixture, &gate, 0);
		start(&readers[0], &fixture, "a", 7, first, 10000);
		gate_await(&gate, 1);
		for (int i = 1; i < READERS; i++)
			start(&readers[i], &fixture, i % 3 ? "a" : "b", 7, i % 2 ? BY_FILE : BY_LOAD, 10000);
		/* They come in whenever they do: those before the gate opens wait, those after find the file. */
		while (fault_store_items(fixture.store, FAULT_STORE_STAT) < 2)
			sched_yield();
		gate_open(&gate);
		for (int i = 0; i < READERS; i++)
			assert_int_equal(finish(&readers[i]), HFKV_OK);
		/* Who comes after a load that nobody waited for downloads once more. */
		assert_in_range(fault_store_calls(fixture.store, FAULT_STORE_READ), 1, first == BY_FILE ? 1 : 2);
		fixture_close(&fixture);
		gate_done(&gate);
	}
}

/* Twenty stalled readers slow nobody, and each gets his error at his deadline. */
static void stalled_downloads_hold_up_nobody_else(void **state)
{
	(void)state;
	enum { STALLED = 20 };
	struct cache_fixture fixture;
	struct gate gate;
	struct reader stalled[STALLED], waiting[STALLED];
	char paths[STALLED][16];
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/good", FULL_BYTES, 99);
	hold_reads(&fixture, &gate, STALLED);
	for (int i = 0; i < STALLED; i++) {
		snprintf(paths[i], sizeof(paths[i]), "p/s%d", i);
		put_behind(&fixture, paths[i], FULL_BYTES, (unsigned)i);
		start(&stalled[i], &fixture, paths[i] + 2, (unsigned)i, i % 2 ? BY_FILE : BY_LOAD, 10000);
	}
	gate_await(&gate, STALLED);
	for (int i = 0; i < STALLED; i++)
		start(&waiting[i], &fixture, paths[i] + 2, (unsigned)i, BY_FILE, 50);
	expect_read(&fixture, "good", FULL_BYTES, 99);
	for (int i = 0; i < STALLED; i++)
		assert_int_equal(finish(&waiting[i]), HFKV_TIMEOUT);
	gate_open(&gate);
	for (int i = 0; i < STALLED; i++)
		assert_int_equal(finish(&stalled[i]), HFKV_OK);
	fixture_close(&fixture);
	gate_done(&gate);
}

/* The one who downloads runs out of time; one of the others takes over. */
static void who_has_time_left_begins_anew(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct gate gate;
	struct reader first, second;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/a", FULL_BYTES, 3);
	gate_init(&gate);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_READ,
										    .times = 1,
										    .gate = gate_pass,
										    .gate_context = &gate,
										    .status = HFKV_TIMEOUT }),
			 HFKV_OK);
	start(&first, &fixture, "a", 3, BY_FILE, 10000);
	gate_await(&gate, 1);
	start(&second, &fixture, "a", 3, BY_LOAD, 10000);
	gate_open(&gate);
	assert_int_equal(finish(&first), HFKV_TIMEOUT);
	assert_int_equal(finish(&second), HFKV_OK);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void bad_bytes_drop_the_metadata(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/a", FULL_BYTES, 1);
	assert_int_equal(stat_one(&fixture, "a"), HFKV_OK);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_READ,
										    .times = 1,
										    .status = HFKV_CORRUPT }),
			 HFKV_OK);
	uint8_t got[FULL_BYTES];
	struct kv_cache_load load = { .path = "a", .into = got, .length = FULL_BYTES };
	assert_int_equal(kv_cache_load_many(fixture.cache, &load, 1, deadline_after_ms(5000), NULL), HFKV_OK);
	assert_int_equal(load.status, HFKV_CORRUPT);
	assert_int_equal(load.fault.status, HFKV_CORRUPT);
	assert_int_equal(counters_of(&fixture).verify_failures, 1);
	unsigned asked = fault_store_calls(fixture.store, FAULT_STORE_STAT);
	assert_int_equal(stat_one(&fixture, "a"), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), asked + 1);
	/* Content that is gone is asked for once more, as its name may hold something else by now. */
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_READ,
										    .skip = 0,
										    .times = 1,
										    .status = HFKV_NOT_FOUND }),
			 HFKV_OK);
	expect_read(&fixture, "a", FULL_BYTES, 1);
	fixture_close(&fixture);
}

static void adjust_small(struct kv_cache_settings *settings)
{
	settings->staging_bytes = 4 * FULL_BYTES;
}

static void full_staging_is_an_error_for_files_and_none_for_loads(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct staged_file *files[4], *more = NULL;
	char path[16];
	fixture_open(&fixture, adjust_small);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "p/k%u", i);
		put_behind(&fixture, path, FULL_BYTES, i);
		if (i < 4)
			assert_int_equal(kv_cache_open_reader(fixture.cache, path + 2, deadline_after_ms(5000),
							      &files[i], NULL, NULL),
					 HFKV_OK);
	}
	assert_int_equal(kv_cache_open_reader(fixture.cache, "k5", deadline_after_ms(5000), &more, NULL, NULL),
			 HFKV_NO_SPACE);
	struct reader reader;
	start(&reader, &fixture, "k5", 5, BY_LOAD, 5000);
	assert_int_equal(finish(&reader), HFKV_OK);
	struct object_info info;
	struct staged_file *again = kv_cache_open_reader_now(fixture.cache, "k1", &info);
	assert_non_null(again);
	staged_file_unref(again);
	assert_null(kv_cache_open_reader_now(fixture.cache, "k5", &info));
	for (int i = 0; i < 4; i++)
		staged_file_unref(files[i]);
	expect_read(&fixture, "k5", FULL_BYTES, 5);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_download_whoever_asks),
		cmocka_unit_test(stalled_downloads_hold_up_nobody_else),
		cmocka_unit_test(who_has_time_left_begins_anew),
		cmocka_unit_test(bad_bytes_drop_the_metadata),
		cmocka_unit_test(full_staging_is_an_error_for_files_and_none_for_loads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
