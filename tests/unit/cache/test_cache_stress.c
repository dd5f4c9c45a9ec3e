/*
 * Everything at once on few names and little staging: whatever is read is one writer's chunk, whole, and
 * afterwards the cache believes what the bucket holds.
 */
#include "tests/unit/cache/cache_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ROUNDS  300
#define NAMES   12

struct worker {
	pthread_t thread;
	struct cache_fixture *fixture;
	uint64_t random;
	unsigned next_seed;
};

static uint64_t draw(struct worker *worker, uint64_t below)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random % below;
}

static void name_of(uint64_t index, char name[16])
{
	snprintf(name, 16, index % 3 ? "k%u" : "d/k%u", (unsigned)index);
}

/* A chunk tells its seed in its first bytes; all others follow from it. */
static void make_chunk(uint8_t *bytes, uint32_t seed)
{
	fill_bytes(bytes, FULL_BYTES, seed);
	memcpy(bytes, &seed, sizeof(seed));
}

static void check_chunk(const uint8_t *bytes)
{
	uint8_t expected[FULL_BYTES];
	uint32_t seed;
	memcpy(&seed, bytes, sizeof(seed));
	make_chunk(expected, seed);
	assert_memory_equal(bytes, expected, FULL_BYTES);
}

static struct deadline soon(void)
{
	return deadline_after_ms(20000);
}

static void may_be(enum hfkv_status status, enum hfkv_status also)
{
	if (status != HFKV_OK && status != also && status != HFKV_UNAVAILABLE)
		fail_msg("%s", hfkv_status_name(status));
}

static void publish(struct worker *worker, const char *path)
{
	uint8_t bytes[FULL_BYTES];
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	make_chunk(bytes, worker->next_seed++);
	enum hfkv_status status = kv_cache_new_body(worker->fixture->cache, FULL_BYTES, &body, NULL);
	may_be(status, HFKV_NO_SPACE);
	if (status != HFKV_OK)
		return;
	assert_int_equal(pwrite(staged_file_fd(body), bytes, FULL_BYTES, 0), FULL_BYTES);
	int flags = draw(worker, 4) == 0 ? KV_CACHE_PUBLISH_STILL_WRITTEN : 0;
	may_be(kv_cache_publish(worker->fixture->cache, body, path, flags, soon(), NULL, NULL), HFKV_NO_SPACE);
}

static void put(struct worker *worker)
{
	enum { PUTS = 3 };
	uint8_t bytes[FULL_BYTES];
	char names[PUTS][16];
	struct object_put puts[PUTS];
	make_chunk(bytes, worker->next_seed++);
	for (int i = 0; i < PUTS; i++) {
		name_of(draw(worker, NAMES), names[i]);
		puts[i] = (struct object_put){ .path = names[i], .source = { bytes, -1, FULL_BYTES } };
	}
	may_be(kv_cache_put_many(worker->fixture->cache, puts, PUTS, soon(), NULL), HFKV_OK);
}

static void read_file(struct worker *worker, const char *path)
{
	CLEANUP(staged_file_unrefp) struct staged_file *file = NULL;
	uint8_t bytes[FULL_BYTES + 1];
	enum hfkv_status status = kv_cache_open_reader(worker->fixture->cache, path, soon(), &file, NULL, NULL);
	if (status != HFKV_NO_SPACE)
		may_be(status, HFKV_NOT_FOUND);
	if (status != HFKV_OK)
		return;
	assert_int_equal(pread(staged_file_fd(file), bytes, sizeof(bytes), 0), FULL_BYTES);
	check_chunk(bytes);
}

static void load(struct worker *worker)
{
	enum { LOADS = 4 };
	char names[LOADS][16];
	struct kv_cache_load loads[LOADS];
	static _Thread_local uint8_t bytes[LOADS][FULL_BYTES];
	for (int i = 0; i < LOADS; i++) {
		name_of(draw(worker, NAMES), names[i]);
		loads[i] = (struct kv_cache_load){ .path = names[i], .into = bytes[i], .length = FULL_BYTES };
	}
	assert_int_equal(kv_cache_load_many(worker->fixture->cache, loads, LOADS, soon(), NULL), HFKV_OK);
	for (int i = 0; i < LOADS; i++) {
		may_be(loads[i].status, HFKV_NOT_FOUND);
		if (loads[i].status == HFKV_OK)
			check_chunk(loads[i].into);
	}
}

static enum hfkv_status visit_name(void *context, const struct kv_cache_name *name)
{
	(void)context;
	if (!name->is_directory)
		assert_int_equal(name->info.size_bytes, FULL_BYTES);
	return HFKV_OK;
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct kv_cache *cache = worker->fixture->cache;
	for (int round = 0; round < ROUNDS; round++) {
		char name[16], other[16];
		name_of(draw(worker, NAMES), name);
		name_of(draw(worker, NAMES), other);
		struct object_stat gone = { .path = name };
		switch (draw(worker, 8)) {
		case 0: publish(worker, name); break;
		case 1: put(worker); break;
		case 2: read_file(worker, name); break;
		case 3: load(worker); break;
		case 4:
			may_be(kv_cache_list(cache, draw(worker, 2) ? "d" : "", visit_name, NULL, soon(), NULL),
			       HFKV_OK);
			break;
		case 5: may_be(kv_cache_remove_many(cache, &gone, 1, soon(), NULL), HFKV_OK); break;
		case 6: may_be(kv_cache_rename(cache, name, other, 0, soon(), NULL), HFKV_NOT_FOUND); break;
		default: may_be(stat_one(worker->fixture, name), HFKV_NOT_FOUND); break;
		}
	}
	return NULL;
}

/* What the cache says of each name is what the store says. */
static void compare_with_store(struct cache_fixture *fixture)
{
	for (unsigned i = 0; i < NAMES; i++) {
		char name[16], full[24];
		name_of(i, name);
		snprintf(full, sizeof(full), "p/%s", name);
		struct object_stat truth = { .path = full };
		struct kv_cache_question question = { .path = name };
		assert_int_equal(object_store_stat_many(fixture->store, &truth, 1, soon(), NULL), HFKV_OK);
		assert_int_equal(kv_cache_stat_many(fixture->cache, &question, 1, soon(), NULL), HFKV_OK);
		assert_int_equal(question.status, truth.status);
		if (truth.status == HFKV_OK)
			assert_true(content_hash_equal(&question.entry.info.hash, &truth.info.hash));
	}
}

static void adjust(struct kv_cache_settings *settings)
{
	settings->staging_bytes = 10 * FULL_BYTES;
	settings->metadata_entries_max = 64;
}

static void run(bool with_faults)
{
	struct cache_fixture fixture;
	struct worker workers[THREADS];
	fixture_open(&fixture, adjust);
	for (unsigned i = 0; with_faults && i < 10; i++) {
		struct fault_store_rule lost_answer = { .call = FAULT_STORE_PUT,
							.skip = 7 * i,
							.times = 1,
							.status = HFKV_UNAVAILABLE,
							.after_work = i % 2,
							.apply_first = 1 };
		assert_int_equal(fault_store_add(fixture.store, &lost_answer), HFKV_OK);
		struct fault_store_rule no_answer = {
			.call = FAULT_STORE_STAT, .skip = 5 * i, .times = 1, .status = HFKV_UNAVAILABLE
		};
		assert_int_equal(fault_store_add(fixture.store, &no_answer), HFKV_OK);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .fixture = &fixture,
					      .random = 88172645463325252ULL + i * 7919,
					      .next_seed = i << 20 };
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	fault_store_clear(fixture.store);
	compare_with_store(&fixture);
	assert_true(counters_of(&fixture).staging_used_bytes <= 10 * FULL_BYTES);
	fixture_close(&fixture);
}

static void whole_chunks_and_true_metadata(void **state)
{
	(void)state;
	run(false);
}

static void the_same_with_failing_calls(void **state)
{
	(void)state;
	run(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_chunks_and_true_metadata),
		cmocka_unit_test(the_same_with_failing_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
