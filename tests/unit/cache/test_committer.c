#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/gate.h"

#include <pthread.h>

struct writer {
	pthread_t thread;
	struct cache_fixture *fixture;
	char path[16];
	unsigned seed;
	int64_t time_ms;
	enum hfkv_status status;
	struct fault fault;
};

static void *writer_main(void *argument)
{
	struct writer *writer = argument;
	uint8_t bytes[FULL_BYTES];
	fill_bytes(bytes, FULL_BYTES, writer->seed);
	struct object_put put = { .path = writer->path, .source = { bytes, -1, FULL_BYTES } };
	writer->status =
	    kv_cache_put_many(writer->fixture->cache, &put, 1, deadline_after_ms(writer->time_ms), &writer->fault);
	return NULL;
}

static void start(struct writer *writer, struct cache_fixture *fixture, const char *path, unsigned seed,
		  int64_t time_ms)
{
	*writer = (struct writer){ .fixture = fixture, .seed = seed, .time_ms = time_ms };
	snprintf(writer->path, sizeof(writer->path), "%s", path);
	pthread_create(&writer->thread, NULL, writer_main, writer);
}

static enum hfkv_status finish(struct writer *writer)
{
	pthread_join(writer->thread, NULL);
	return writer->status;
}

static void add_put_rule(struct cache_fixture *fixture, struct gate *gate, unsigned times, enum hfkv_status status,
			 size_t apply_first)
{
	struct fault_store_rule rule = {
		.call = FAULT_STORE_PUT, .times = times, .status = status, .apply_first = apply_first
	};
	if (gate) {
		rule.gate = gate_pass;
		rule.gate_context = gate;
	}
	assert_int_equal(fault_store_add(fixture->store, &rule), HFKV_OK);
}

static void await_pending(struct cache_fixture *fixture, uint64_t pending)
{
	while (counters_of(fixture).commits_pending < pending)
		sched_yield();
}

/* While three batches are under way 40 more writers queue; they share one batch. */
static void concurrent_writers_share_batches(void **state)
{
	(void)state;
	enum { FIRST = 3, MORE = 40 };
	struct cache_fixture fixture;
	struct gate gate;
	struct writer writers[FIRST + MORE];
	char path[16];
	gate_init(&gate);
	fixture_open(&fixture, NULL);
	add_put_rule(&fixture, &gate, FIRST, HFKV_OK, 0);
	for (unsigned i = 0; i < FIRST + MORE; i++) {
		snprintf(path, sizeof(path), "k%u", i);
		start(&writers[i], &fixture, path, i, 10000);
		if (i < FIRST)
			gate_await(&gate, i + 1); /* alone each: nothing is held back to wait for company */
	}
	await_pending(&fixture, MORE);
	gate_open(&gate);
	for (unsigned i = 0; i < FIRST + MORE; i++) {
		assert_int_equal(finish(&writers[i]), HFKV_OK);
		expect_read(&fixture, writers[i].path, FULL_BYTES, i);
	}
	assert_int_equal(fault_store_items(fixture.store, FAULT_STORE_PUT), FIRST + MORE);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_PUT), FIRST + 1);
	assert_int_equal(counters_of(&fixture).commits, FIRST + MORE);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void many_of_one_caller_are_one_batch(void **state)
{
	(void)state;
	enum { PUTS = 32 };
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	struct object_put puts[PUTS];
	char paths[PUTS][16];
	uint8_t *bytes = malloc(PUTS * FULL_BYTES);
	for (unsigned i = 0; i < PUTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "k%u", i);
		fill_bytes(bytes + i * FULL_BYTES, FULL_BYTES, i);
		puts[i] =
		    (struct object_put){ .path = paths[i], .source = { bytes + i * FULL_BYTES, -1, FULL_BYTES } };
	}
	assert_int_equal(kv_cache_put_many(fixture.cache, puts, PUTS, deadline_after_ms(5000), NULL), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_PUT), 1);
	for (unsigned i = 0; i < PUTS; i++)
		expect_read(&fixture, paths[i], FULL_BYTES, i);
	/* One name twice in a call: the later one stays, in a batch of its own. */
	puts[1].path = puts[0].path;
	assert_int_equal(kv_cache_put_many(fixture.cache, puts, 2, deadline_after_ms(5000), NULL), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_PUT), 3);
	expect_read(&fixture, paths[0], FULL_BYTES, 1);
	free(bytes);
	fixture_close(&fixture);
}

/* The batch fails after 3 of 8: these are known as stored, the others are not, and the caller sees the failure. */
static void what_landed_of_a_failed_batch_is_known(void **state)
{
	(void)state;
	enum { PUTS = 8, LANDED = 3 };
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	add_put_rule(&fixture, NULL, 1, HFKV_UNAVAILABLE, LANDED);
	struct object_put puts[PUTS];
	char paths[PUTS][16];
	uint8_t bytes[FULL_BYTES];
	fill_bytes(bytes, FULL_BYTES, 5);
	for (unsigned i = 0; i < PUTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "k%u", i);
		puts[i] = (struct object_put){ .path = paths[i], .source = { bytes, -1, FULL_BYTES } };
		assert_int_equal(stat_one(&fixture, paths[i]), HFKV_NOT_FOUND);
	}
	struct fault fault = FAULT_NONE;
	assert_int_equal(kv_cache_put_many(fixture.cache, puts, PUTS, deadline_after_ms(5000), &fault),
			 HFKV_UNAVAILABLE);
	assert_int_equal(fault.status, HFKV_UNAVAILABLE);
	for (unsigned i = 0; i < PUTS; i++) {
		assert_int_equal(puts[i].status, i < LANDED ? HFKV_OK : HFKV_UNAVAILABLE);
		assert_int_equal(stat_one(&fixture, paths[i]), i < LANDED ? HFKV_OK : HFKV_NOT_FOUND);
	}
	assert_int_equal(counters_of(&fixture).commits, LANDED);
	assert_int_equal(counters_of(&fixture).commit_failures, PUTS - LANDED);
	fixture_close(&fixture);
}

/* Changes of one name come one after the other; the last one started is what stays. */
static void changes_of_one_name_do_not_overlap(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct gate gate;
	struct writer first, second;
	gate_init(&gate);
	fixture_open(&fixture, NULL);
	add_put_rule(&fixture, &gate, 1, HFKV_OK, 0);
	start(&first, &fixture, "k", 1, 10000);
	gate_await(&gate, 1);
	start(&second, &fixture, "k", 2, 10000);
	await_pending(&fixture, 1);
	struct fault fault = FAULT_NONE;
	struct object_stat gone = { .path = "k" };
	assert_int_equal(kv_cache_remove_many(fixture.cache, &gone, 1, deadline_after_ms(20), &fault),
			 HFKV_TIMEOUT);
	assert_int_equal(kv_cache_sync(fixture.cache, "k", deadline_after_ms(20), NULL), HFKV_TIMEOUT);
	assert_int_equal(kv_cache_sync(fixture.cache, "other", deadline_after_ms(20), NULL), HFKV_OK);
	gate_open(&gate);
	assert_int_equal(finish(&first), HFKV_OK);
	assert_int_equal(finish(&second), HFKV_OK);
	expect_read(&fixture, "k", FULL_BYTES, 2);
	assert_int_equal(kv_cache_sync(fixture.cache, "k", deadline_after_ms(5000), NULL), HFKV_OK);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void a_writer_that_only_waited_leaves_at_his_deadline(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct gate gate;
	struct writer first, second;
	gate_init(&gate);
	fixture_open(&fixture, NULL);
	add_put_rule(&fixture, &gate, 1, HFKV_OK, 0);
	start(&first, &fixture, "k", 1, 10000);
	gate_await(&gate, 1);
	start(&second, &fixture, "k", 2, 30);
	assert_int_equal(finish(&second), HFKV_TIMEOUT);
	assert_int_equal(second.fault.status, HFKV_TIMEOUT);
	gate_open(&gate);
	assert_int_equal(finish(&first), HFKV_OK);
	expect_read(&fixture, "k", FULL_BYTES, 1);
	fixture_close(&fixture);
	gate_done(&gate);
}

/* A stat that was asked before the store and is answered after it does not make the object absent. */
static void an_old_question_does_not_hide_a_new_object(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct gate gate;
	struct kv_cache_question question = { .path = "k" };
	gate_init(&gate);
	fixture_open(&fixture, NULL);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_STAT,
										    .times = 1,
										    .gate = gate_pass,
										    .gate_context = &gate }),
			 HFKV_OK);
	assert_int_equal(kv_cache_stat_many(fixture.cache, &question, 1, deadline_after_ms(10), NULL),
			 HFKV_TIMEOUT);
	gate_await(&gate, 1);
	assert_int_equal(publish_chunk(&fixture, "k", FULL_BYTES, 1, 0), HFKV_OK);
	struct object_stat gone = { .path = "k" };
	assert_int_equal(kv_cache_remove_many(fixture.cache, &gone, 1, deadline_after_ms(5000), NULL), HFKV_OK);
	assert_int_equal(publish_chunk(&fixture, "k", FULL_BYTES, 2, 0), HFKV_OK);
	gate_open(&gate);
	assert_int_equal(stat_one(&fixture, "k"), HFKV_OK);
	expect_read(&fixture, "k", FULL_BYTES, 2);
	fixture_close(&fixture);
	gate_done(&gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(concurrent_writers_share_batches),
		cmocka_unit_test(many_of_one_caller_are_one_batch),
		cmocka_unit_test(what_landed_of_a_failed_batch_is_known),
		cmocka_unit_test(changes_of_one_name_do_not_overlap),
		cmocka_unit_test(a_writer_that_only_waited_leaves_at_his_deadline),
		cmocka_unit_test(an_old_question_does_not_hide_a_new_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
