#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Counts answers; one thread waits for a number of them. */
struct tally {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned answers, by_status[HFKV_STATUS_COUNT];
};

static void tally_init(struct tally *tally)
{
	memset(tally, 0, sizeof(*tally));
	pthread_mutex_init(&tally->mutex, NULL);
	condition_init(&tally->changed);
}

static void answered(void *token, enum hfkv_status status, const struct kv_cache_entry *entry,
		     const struct fault *fault)
{
	(void)entry;
	(void)fault;
	struct tally *tally = token;
	SCOPED_LOCK(&tally->mutex);
	tally->answers++;
	tally->by_status[status]++;
	pthread_cond_signal(&tally->changed);
}

static void await_answers(struct tally *tally, unsigned count)
{
	struct deadline deadline = deadline_after_ms(20000);
	SCOPED_LOCK(&tally->mutex);
	while (tally->answers < count)
		assert_true(deadline_wait(&tally->changed, &tally->mutex, deadline));
}

static void pause_us(long microseconds)
{
	nanosleep(&(struct timespec){ 0, microseconds * 1000 }, NULL);
}

static int64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A store call takes a while, as over a network: the pace of the model, not a wait for anything. */
static void take_one_ms(void *context)
{
	(void)context;
	pause_us(1000);
}

/* The kernel hands over 1000 lookups within some 80 ms; they must cost at most 10 calls. */
static void a_thousand_within_80_ms_cost_few_calls(void **state)
{
	(void)state;
	enum { NAMES = 1000, GROUP = 25 };
	struct cache_fixture fixture;
	struct tally tally;
	tally_init(&tally);
	fixture_open(&fixture, NULL);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_STAT,
										    .gate = take_one_ms }),
			 HFKV_OK);
	char path[16];
	int64_t began_ms = clock_now_ms();
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "k%u", i);
		kv_cache_stat(fixture.cache, path, i + 1, answered, &tally);
		if (i % GROUP == GROUP - 1)
			pause_us(2000);
	}
	/* A machine that is busy elsewhere spreads them further; the bound is per 80 ms. */
	int64_t windows = 1 + (clock_now_ms() - began_ms) / 120;
	await_answers(&tally, NAMES);
	assert_int_equal(tally.by_status[HFKV_NOT_FOUND], NAMES);
	assert_in_range(fault_store_calls(fixture.store, FAULT_STORE_STAT), 1, 10 * windows);
	/* Within the limit of absence nothing is asked again. */
	unsigned calls = fault_store_calls(fixture.store, FAULT_STORE_STAT);
	for (unsigned i = 0; i < NAMES; i++)
		kv_cache_stat(fixture.cache, "k7", i + 1, answered, &tally);
	await_answers(&tally, 2 * NAMES);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), calls);
	fixture_close(&fixture);
}

/* One after another, each question is its own call and waits for nobody. */
static void a_lone_question_is_sent_at_once(void **state)
{
	(void)state;
	enum { NAMES = 100 };
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	int64_t fastest_us = INT64_MAX;
	char path[16];
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "k%u", i);
		int64_t began_us = now_us();
		assert_int_equal(stat_one(&fixture, path), HFKV_NOT_FOUND);
		int64_t took_us = now_us() - began_us;
		fastest_us = took_us < fastest_us ? took_us : fastest_us;
	}
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), NAMES);
	/* The shortest pause that waits for company is 3 ms (2 on a clock of whole ms). */
	assert_in_range(fastest_us, 0, 1900);
	fixture_close(&fixture);
}

/* What comes while a call is in flight shares the next one, and equal paths share a question. */
static void questions_during_a_call_share_the_next(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct tally tally;
	struct gate gate;
	tally_init(&tally);
	gate_init(&gate);
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/k5", FULL_BYTES, 1);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_STAT,
										    .times = 1,
										    .gate = gate_pass,
										    .gate_context = &gate }),
			 HFKV_OK);
	kv_cache_stat(fixture.cache, "first", 1, answered, &tally);
	gate_await(&gate, 1);
	char path[16];
	for (unsigned i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "k%u", i % 10);
		kv_cache_stat(fixture.cache, path, i % 2, answered, &tally);
	}
	gate_open(&gate);
	await_answers(&tally, 101);
	assert_int_equal(tally.by_status[HFKV_OK], 10);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), 2);
	assert_int_equal(fault_store_items(fixture.store, FAULT_STORE_STAT), 11);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void a_call_that_hangs_does_not_hold_up_others(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct tally tally;
	struct gate gate;
	tally_init(&tally);
	gate_init(&gate);
	fixture_open(&fixture, NULL);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_STAT,
										    .path_contains = "stuck",
										    .gate = gate_pass,
										    .gate_context = &gate }),
			 HFKV_OK);
	kv_cache_stat(fixture.cache, "stuck", 1, answered, &tally);
	gate_await(&gate, 1);
	kv_cache_stat(fixture.cache, "free", 1, answered, &tally);
	await_answers(&tally, 1);
	assert_int_equal(tally.by_status[HFKV_NOT_FOUND], 1);
	/* A blocking asker gives up at his deadline, and leaves nothing behind that the late answer could hurt. */
	struct kv_cache_question question = { .path = "stuck" };
	struct fault fault = FAULT_NONE;
	assert_int_equal(kv_cache_stat_many(fixture.cache, &question, 1, deadline_after_ms(20), &fault),
			 HFKV_TIMEOUT);
	assert_int_equal(question.status, HFKV_TIMEOUT);
	gate_open(&gate);
	await_answers(&tally, 2);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void errors_make_no_absence(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/a", FULL_BYTES, 1);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_STAT,
										    .times = 2,
										    .status = HFKV_RATE_LIMITED }),
			 HFKV_OK);
	struct kv_cache_question questions[] = { { .path = "a" }, { .path = "b" } };
	struct fault fault = FAULT_NONE;
	assert_int_equal(kv_cache_stat_many(fixture.cache, questions, 2, deadline_after_ms(5000), &fault),
			 HFKV_RATE_LIMITED);
	assert_int_equal(fault.status, HFKV_RATE_LIMITED);
	assert_int_equal(stat_one(&fixture, "a"), HFKV_RATE_LIMITED);
	assert_int_equal(stat_one(&fixture, "a"), HFKV_OK);
	assert_int_equal(stat_one(&fixture, "b"), HFKV_NOT_FOUND);
	fixture_close(&fixture);
}

static void a_batch_of_names_is_one_call_per_thousand(void **state)
{
	(void)state;
	enum { NAMES = 1000 };
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	static char paths[NAMES][16];
	static struct kv_cache_question questions[NAMES];
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "k%u", i);
		questions[i].path = paths[i];
	}
	put_behind(&fixture, "p/k17", FULL_BYTES, 1);
	assert_int_equal(kv_cache_stat_many(fixture.cache, questions, NAMES, deadline_after_ms(5000), NULL),
			 HFKV_OK);
	for (unsigned i = 0; i < NAMES; i++)
		assert_int_equal(questions[i].status, i == 17 ? HFKV_OK : HFKV_NOT_FOUND);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), 1);
	assert_int_equal(kv_cache_stat_many(fixture.cache, questions, NAMES, deadline_after_ms(5000), NULL),
			 HFKV_OK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), 1);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_within_80_ms_cost_few_calls),
		cmocka_unit_test(a_lone_question_is_sent_at_once),
		cmocka_unit_test(questions_during_a_call_share_the_next),
		cmocka_unit_test(a_call_that_hangs_does_not_hold_up_others),
		cmocka_unit_test(errors_make_no_absence),
		cmocka_unit_test(a_batch_of_names_is_one_call_per_thousand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
