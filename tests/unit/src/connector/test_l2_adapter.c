#include "tests/unit/cmocka_prelude.h"

#include "src/connector/l2_adapter.h"
#include "tests/unit/src/connector/gate_backend.h"
#include "tests/unit/src/connector/log_lines.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>

#define WAIT_MS 20000
#define BATCH   16
#define BYTES   100

struct fixture {
	struct gate_backend *gate;
	struct hfkv_l2 *l2;
	struct l2_settings settings;
	char keys[BATCH][64];
	uint8_t buffers[BATCH][BYTES];
	struct hfkv_item items[BATCH];
};

static int set_up(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	fixture->settings = (struct l2_settings){
		.threads = 2, .timeout_ms = 5000, .trigger_watermark = 0.8, .eviction_ratio = 0.2
	};
	for (int i = 0; i < BATCH; i++) {
		snprintf(fixture->keys[i], sizeof(fixture->keys[i]), "m@00000001@0@%02x", i);
		fixture->items[i] =
		    (struct hfkv_item){ .key = fixture->keys[i], .data = fixture->buffers[i], .length = BYTES };
	}
	fixture->gate = gate_backend_new(true);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	hfkv_l2_close(fixture->l2);
	test_free(fixture);
	return 0;
}

static void open_it(struct fixture *fixture)
{
	assert_int_equal(l2_adapter_new(&fixture->gate->backend, &fixture->settings, &fixture->l2, NULL), HFKV_OK);
}

/* One who comes later: a second adapter on a new backend with the same objects. */
static void reopen(struct fixture *fixture)
{
	struct gate_backend *next = gate_backend_new(true);
	memcpy(next->keys, fixture->gate->keys, sizeof(next->keys));
	next->count = fixture->gate->count;
	hfkv_l2_close(fixture->l2);
	fixture->gate = next;
	open_it(fixture);
}

static void await_event(struct fixture *fixture, enum hfkv_l2_kind kind)
{
	struct pollfd waiting = { .fd = hfkv_l2_event_fd(fixture->l2, kind), .events = POLLIN };
	assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
	uint64_t ignored;
	assert_int_equal(read(waiting.fd, &ignored, sizeof(ignored)), sizeof(ignored));
}

static uint64_t submit(struct fixture *fixture, enum hfkv_l2_kind kind, size_t first, size_t count)
{
	uint64_t task = 0;
	assert_int_equal(hfkv_l2_submit(fixture->l2, kind, &fixture->items[first], count, &task, NULL), HFKV_OK);
	return task;
}

static struct hfkv_l2_result run(struct fixture *fixture, enum hfkv_l2_kind kind, size_t first, size_t count)
{
	uint64_t task = submit(fixture, kind, first, count);
	struct hfkv_l2_result result;
	await_event(fixture, kind);
	assert_int_equal(hfkv_l2_query(fixture->l2, kind, task, &result), HFKV_OK); /* there before the signal */
	assert_int_equal(result.task, task);
	return result;
}

static struct hfkv_l2_usage usage(struct fixture *fixture)
{
	struct hfkv_l2_usage now;
	hfkv_l2_usage_read(fixture->l2, &now);
	return now;
}

static void unlock(struct fixture *fixture, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		const char *key = fixture->keys[i];
		hfkv_l2_unlock(fixture->l2, &key, 1);
	}
}

static enum hfkv_status remove_one(struct fixture *fixture, size_t n, uint64_t *ret_bytes)
{
	struct hfkv_item item = { .key = fixture->keys[n] };
	assert_int_equal(hfkv_l2_delete(fixture->l2, &item, 1, 0, NULL), HFKV_OK);
	if (ret_bytes)
		*ret_bytes = item.bytes;
	return item.status;
}

static enum hfkv_status append_line(void *context, const char *key, uint64_t bytes)
{
	char *text = context;
	size_t length = strlen(text);
	snprintf(text + length, 2048 - length, "%s=%llu\n", key, (unsigned long long)bytes);
	return HFKV_OK;
}

/* ---- tasks ---- */

static void the_three_descriptors_differ(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	int store = hfkv_l2_event_fd(fixture->l2, HFKV_L2_STORE);
	int lookup = hfkv_l2_event_fd(fixture->l2, HFKV_L2_LOOKUP);
	int load = hfkv_l2_event_fd(fixture->l2, HFKV_L2_LOAD);
	assert_true(store >= 0 && lookup >= 0 && load >= 0);
	assert_true(store != lookup && lookup != load && store != load);
}

static void chunks_go_round_and_results_are_popped_once(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	struct hfkv_l2_result result = run(fixture, HFKV_L2_STORE, 0, 8);
	assert_int_equal(result.status, HFKV_OK);
	assert_int_equal(result.ok_count, 8);
	assert_int_equal(result.bytes, 8 * BYTES);
	assert_ptr_equal(result.items, fixture->items);
	struct hfkv_l2_result again;
	assert_int_equal(hfkv_l2_query(fixture->l2, HFKV_L2_STORE, result.task, &again), HFKV_NOT_FOUND);
	assert_int_equal(hfkv_l2_pop(fixture->l2, HFKV_L2_STORE, &again, 1), 0);
	result = run(fixture, HFKV_L2_LOOKUP, 4, 8);
	assert_int_equal(result.ok_count, 4);
	for (int i = 0; i < 8; i++)
		assert_int_equal(fixture->items[4 + i].status, i < 4 ? HFKV_OK : HFKV_NOT_FOUND);
	memset(fixture->buffers, 0, sizeof(fixture->buffers));
	result = run(fixture, HFKV_L2_LOAD, 4, 8);
	assert_int_equal(result.ok_count, 4);
	assert_int_equal(result.bytes, 4 * BYTES);
	assert_int_equal(fixture->buffers[4][BYTES - 1], 'm');
	assert_int_equal(fixture->buffers[8][0], 0);
}

static void several_results_pop_oldest_first(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	uint64_t tasks[3];
	for (int i = 0; i < 3; i++) {
		tasks[i] = submit(fixture, HFKV_L2_STORE, (size_t)i, 1);
		await_event(fixture, HFKV_L2_STORE);
	}
	struct hfkv_l2_result results[4];
	assert_int_equal(hfkv_l2_pop(fixture->l2, HFKV_L2_STORE, results, 4), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(results[i].task, tasks[i]);
}

static void a_submitted_task_does_not_block_its_caller(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	gate_set_closed(fixture->gate, true);
	uint64_t tasks[8];
	for (int i = 0; i < 8; i++)
		tasks[i] = submit(fixture, HFKV_L2_STORE, (size_t)i, 1);
	gate_await_waiting(fixture->gate, 2); /* both workers; the rest waits in the queue */
	struct hfkv_l2_result result;
	assert_int_equal(hfkv_l2_query(fixture->l2, HFKV_L2_STORE, tasks[0], &result), HFKV_NOT_FOUND);
	gate_set_closed(fixture->gate, false);
	for (int done = 0; done < 8;) {
		await_event(fixture, HFKV_L2_STORE);
		done += (int)hfkv_l2_pop(fixture->l2, HFKV_L2_STORE, &result, 1);
		while (hfkv_l2_pop(fixture->l2, HFKV_L2_STORE, &result, 1))
			done++;
	}
}

static void what_landed_of_a_failed_store_is_counted(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	fixture->gate->fail_puts_after = 3;
	struct hfkv_l2_result result = run(fixture, HFKV_L2_STORE, 0, 8);
	assert_int_equal(result.status, HFKV_UNAVAILABLE);
	assert_string_equal(result.text, "the gate says no");
	assert_int_equal(result.ok_count, 3);
	assert_int_equal(result.bytes, 3 * BYTES);
	assert_int_equal(usage(fixture).total_bytes, 3 * BYTES);
	assert_int_equal(usage(fixture).keys, 3);
	assert_int_equal(fixture->items[2].is_new, 1);
	assert_int_equal(fixture->items[3].is_new, 0);
}

static void keys_of_the_other_family_fail_by_name(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	fixture->items[0].key = "m@1@0@ab@half";
	struct hfkv_l2_result result = run(fixture, HFKV_L2_STORE, 0, 1);
	assert_int_equal(result.status, HFKV_INVALID);
	assert_non_null(strstr(result.text, "m@1@0@ab@half"));
}

static void closing_gives_every_task_back(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	for (int i = 0; i < BATCH; i++) {
		fixture->items[i].status = HFKV_BUG;
		submit(fixture, i % 2 ? HFKV_L2_LOOKUP : HFKV_L2_STORE, (size_t)i, 1);
	}
	hfkv_l2_close(fixture->l2);
	fixture->l2 = NULL;
	for (int i = 0; i < BATCH; i++)
		assert_int_not_equal(fixture->items[i].status, HFKV_BUG);
}

/* ---- locks ---- */

static void a_lock_keeps_a_key_from_being_deleted(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	run(fixture, HFKV_L2_STORE, 0, 4);
	run(fixture, HFKV_L2_LOOKUP, 1, 1);
	assert_int_equal(usage(fixture).locked_keys, 1);
	struct hfkv_item items[3] = { { .key = fixture->keys[0] },
				      { .key = fixture->keys[1] },
				      { .key = fixture->keys[2] } };
	assert_int_equal(hfkv_l2_delete(fixture->l2, items, 3, 0, NULL), HFKV_OK);
	assert_int_equal(items[0].status, HFKV_OK);
	assert_int_equal(items[1].status, HFKV_BUSY);
	assert_int_equal(items[2].status, HFKV_OK); /* the rest is done */
	assert_int_equal(items[0].bytes, BYTES);
	assert_int_equal(items[1].bytes, 0);
	assert_int_equal(usage(fixture).total_bytes, 2 * BYTES);
	unlock(fixture, 1, 1);
	assert_int_equal(remove_one(fixture, 1, NULL), HFKV_OK);
	assert_int_equal(usage(fixture).total_bytes, BYTES);
	assert_int_equal(usage(fixture).locked_keys, 0);
}

static void locks_are_counted(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	run(fixture, HFKV_L2_STORE, 0, 1);
	run(fixture, HFKV_L2_LOOKUP, 0, 1);
	run(fixture, HFKV_L2_LOOKUP, 0, 1);
	unlock(fixture, 0, 1);
	assert_int_equal(remove_one(fixture, 0, NULL), HFKV_BUSY);
	unlock(fixture, 0, 1);
	unlock(fixture, 0, 3); /* more than there are, and unknown ones: harmless */
	unlock(fixture, 9, 1);
	assert_int_equal(remove_one(fixture, 0, NULL), HFKV_OK);
	assert_int_equal(remove_one(fixture, 0, NULL), HFKV_OK); /* gone is gone */
}

static void a_failed_load_keeps_the_lock(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	run(fixture, HFKV_L2_STORE, 0, 1);
	run(fixture, HFKV_L2_LOOKUP, 0, 1);
	fixture->items[0].length = BYTES - 1;
	struct hfkv_l2_result result = run(fixture, HFKV_L2_LOAD, 0, 1);
	assert_int_equal(result.ok_count, 0);
	assert_int_equal(remove_one(fixture, 0, NULL), HFKV_BUSY); /* the caller unlocks, nobody else */
	unlock(fixture, 0, 1);
	assert_int_equal(remove_one(fixture, 0, NULL), HFKV_OK);
}

static void a_miss_locks_nothing(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	struct hfkv_l2_result result = run(fixture, HFKV_L2_LOOKUP, 0, BATCH);
	assert_int_equal(result.ok_count, 0);
	assert_int_equal(usage(fixture).locked_keys, 0);
}

/* ---- usage ---- */

static void usage_counts_a_key_once_and_by_salt(void **state)
{
	struct fixture *fixture = *state;
	fixture->settings.capacity_bytes = 1000 * BYTES;
	snprintf(fixture->keys[1], sizeof(fixture->keys[1]), "m@00000001@0@aa@alice");
	snprintf(fixture->keys[2], sizeof(fixture->keys[2]), "m@00000001@0@bb@alice");
	snprintf(fixture->keys[3], sizeof(fixture->keys[3]), "m@00000001@0@aa@bob");
	open_it(fixture);
	run(fixture, HFKV_L2_STORE, 0, 4);
	assert_int_equal(fixture->items[0].is_new, 1);
	run(fixture, HFKV_L2_STORE, 0, 4);
	assert_int_equal(fixture->items[0].is_new, 0);
	struct hfkv_l2_usage now = usage(fixture);
	assert_int_equal(now.total_bytes, 4 * BYTES);
	assert_int_equal(now.capacity_bytes, 1000 * BYTES);
	assert_true(now.fraction > 0.0039 && now.fraction < 0.0041);
	char salts[2048] = "";
	assert_int_equal(hfkv_l2_usage_by_salt(fixture->l2, append_line, salts), HFKV_OK);
	assert_non_null(strstr(salts, "alice=200\n"));
	assert_non_null(strstr(salts, "bob=100\n"));
	assert_non_null(strstr(salts, "\n=100\n") || strncmp(salts, "=100\n", 5) == 0 ? salts : NULL);
	remove_one(fixture, 3, NULL);
	salts[0] = '\0';
	assert_int_equal(hfkv_l2_usage_by_salt(fixture->l2, append_line, salts), HFKV_OK);
	assert_null(strstr(salts, "bob"));
}

static void *close_it(void *l2)
{
	hfkv_l2_close(l2);
	return NULL;
}

/* Tasks that end while the adapter closes want the evictor, whose thread is gone by then. */
static void a_store_that_ends_while_it_closes_starts_no_evictor(void **state)
{
	struct fixture *fixture = *state;
	fixture->settings.evicts = true;
	fixture->settings.capacity_bytes = BYTES;
	open_it(fixture);
	char ignored[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, ignored, 0, NULL), HFKV_OK);
	gate_set_closed(fixture->gate, true);
	for (size_t i = 0; i < 2; i++)
		submit(fixture, HFKV_L2_STORE, i * 4, 4);
	gate_await_waiting(fixture->gate, 2);
	pthread_t closer;
	assert_int_equal(pthread_create(&closer, NULL, close_it, fixture->l2), 0);
	const atomic_bool *stopping = l2_adapter_stopping(fixture->l2);
	while (!atomic_load(stopping))
		sched_yield();
	poll(NULL, 0, 20); /* gives the fault its time; without it nothing depends on that */
	gate_set_closed(fixture->gate, false);
	assert_int_equal(pthread_join(closer, NULL), 0);
	fixture->l2 = NULL;
	assert_int_equal(fixture->items[0].status, HFKV_OK);
}

/* From the look at the backend on, not only from the answer. */
static void what_a_lookup_finds_is_locked_while_it_looks(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	assert_int_equal(run(fixture, HFKV_L2_STORE, 0, 1).ok_count, 1);
	fixture->gate->late_answers = true;
	gate_set_closed(fixture->gate, true);
	struct hfkv_item found[2] = { { .key = fixture->keys[0] }, { .key = fixture->keys[1] } };
	uint64_t task;
	assert_int_equal(hfkv_l2_submit(fixture->l2, HFKV_L2_LOOKUP, found, 2, &task, NULL), HFKV_OK);
	gate_await_waiting(fixture->gate, 1);
	struct hfkv_item gone = { .key = fixture->keys[0] };
	assert_int_equal(hfkv_l2_delete(fixture->l2, &gone, 1, 0, NULL), HFKV_OK);
	assert_int_equal(gone.status, HFKV_BUSY);
	gate_set_closed(fixture->gate, false);
	await_event(fixture, HFKV_L2_LOOKUP);
	struct hfkv_l2_result result;
	assert_int_equal(hfkv_l2_query(fixture->l2, HFKV_L2_LOOKUP, task, &result), HFKV_OK);
	assert_int_equal(result.ok_count, 1);
	assert_int_equal(run(fixture, HFKV_L2_LOAD, 0, 1).ok_count, 1);
	assert_int_equal(usage(fixture).locked_keys, 1); /* not the one that was missing */
	unlock(fixture, 0, 1);
	assert_int_equal(usage(fixture).locked_keys, 0);
}

/* A lookup saw nothing; before it says so, the key is stored. */
static void an_absence_seen_before_a_store_does_not_uncount_it(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	fixture->gate->late_answers = true;
	gate_set_closed(fixture->gate, true);
	struct hfkv_item item = { .key = fixture->keys[0] };
	uint64_t task;
	assert_int_equal(hfkv_l2_submit(fixture->l2, HFKV_L2_LOOKUP, &item, 1, &task, NULL), HFKV_OK);
	gate_await_waiting(fixture->gate, 1);
	assert_int_equal(run(fixture, HFKV_L2_STORE, 0, 1).ok_count, 1);
	gate_set_closed(fixture->gate, false);
	await_event(fixture, HFKV_L2_LOOKUP);
	struct hfkv_l2_result result;
	assert_int_equal(hfkv_l2_query(fixture->l2, HFKV_L2_LOOKUP, task, &result), HFKV_OK);
	assert_int_equal(item.status, HFKV_NOT_FOUND);
	assert_int_equal(usage(fixture).keys, 1);
	assert_int_equal(usage(fixture).total_bytes, BYTES);
}

#define TASKS_AT_ONCE 4096

/* A delete that finds no room among the tasks deleted nothing, and must not say otherwise. */
static void a_delete_that_was_not_taken_deletes_nothing(void **state)
{
	struct fixture *fixture = *state;
	fixture->gate->step = 1;
	open_it(fixture);
	assert_int_equal(run(fixture, HFKV_L2_STORE, 0, 2).ok_count, 2);
	gate_set_closed(fixture->gate, true);
	struct hfkv_item *lookups = test_calloc(TASKS_AT_ONCE, sizeof(*lookups));
	for (size_t i = 0; i < TASKS_AT_ONCE; i++) {
		uint64_t task;
		lookups[i].key = fixture->keys[5];
		assert_int_equal(hfkv_l2_submit(fixture->l2, HFKV_L2_LOOKUP, &lookups[i], 1, &task, NULL), HFKV_OK);
	}
	struct hfkv_item items[2] = { { .key = fixture->keys[0] }, { .key = fixture->keys[1] } };
	assert_int_equal(hfkv_l2_delete(fixture->l2, items, 2, 0, NULL), HFKV_BUSY);
	assert_int_equal(items[0].status, HFKV_BUSY);
	assert_int_equal(items[1].status, HFKV_BUSY);
	assert_int_equal(usage(fixture).keys, 2);
	gate_set_closed(fixture->gate, false);
	hfkv_l2_close(fixture->l2);
	fixture->l2 = NULL;
	test_free(lookups);
}

static void without_capacity_the_fraction_is_minus_one_and_said_once(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	char keys[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL),
			 HFKV_OK); /* nothing logs beside us */
	run(fixture, HFKV_L2_STORE, 0, 1);
	struct log_lines lines;
	log_lines_collect(&lines);
	assert_true(usage(fixture).fraction == -1);
	assert_true(usage(fixture).fraction == -1);
	log_lines_collect(NULL);
	char *first = strstr(lines.text, "max_capacity_gb");
	assert_non_null(first);
	assert_null(strstr(first + 1, "max_capacity_gb"));
}

static void usage_is_rebuilt_after_a_restart_oldest_first(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	run(fixture, HFKV_L2_STORE, 0, 4);
	/* The order of the listing is not that of the times. */
	fixture->gate->keys[0].modified_at_ms = 3000;
	fixture->gate->keys[1].modified_at_ms = 1000;
	fixture->gate->keys[2].modified_at_ms = 4000;
	fixture->gate->keys[3].modified_at_ms = 2000;
	reopen(fixture);
	char keys[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	assert_string_equal(
	    keys, "m@00000001@0@01=100\nm@00000001@0@03=100\nm@00000001@0@00=100\nm@00000001@0@02=100\n");
	assert_int_equal(usage(fixture).total_bytes, 4 * BYTES);
	assert_int_equal(usage(fixture).rebuilt, 1);
	run(fixture, HFKV_L2_STORE, 0, 1);
	assert_int_equal(fixture->items[0].is_new, 0);
}

static void a_listing_that_failed_is_tried_again(void **state)
{
	struct fixture *fixture = *state;
	gate_store(fixture->gate, "m@00000001@0@ff", 50, 1);
	fixture->gate->lists_fail = true;
	open_it(fixture);
	char keys[2048] = "";
	struct hfkv_error error;
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, &error), HFKV_UNAVAILABLE);
	assert_int_equal(usage(fixture).rebuilt, 0);
	pthread_mutex_lock(&fixture->gate->mutex);
	fixture->gate->lists_fail = false;
	pthread_mutex_unlock(&fixture->gate->mutex);
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	assert_string_equal(keys, "m@00000001@0@ff=50\n");
}

static void what_others_stored_counts_when_it_is_found(void **state)
{
	struct fixture *fixture = *state;
	open_it(fixture);
	char keys[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	pthread_mutex_lock(&fixture->gate->mutex);
	gate_store(fixture->gate, fixture->keys[5], BYTES, 1);
	pthread_mutex_unlock(&fixture->gate->mutex);
	assert_int_equal(usage(fixture).keys, 0);
	run(fixture, HFKV_L2_LOOKUP, 5, 1);
	assert_int_equal(usage(fixture).total_bytes, BYTES);
}

/* ---- eviction ---- */

/* Waits for usage to come down: the evictor works beside the tasks. */
static void await_keys(struct fixture *fixture, uint64_t keys)
{
	struct deadline limit = deadline_after_ms(WAIT_MS);
	while (usage(fixture).keys != keys) {
		assert_false(deadline_passed(limit));
		struct timespec pause = { .tv_nsec = 1000000 };
		nanosleep(&pause, NULL);
	}
}

static void the_least_recently_used_unlocked_keys_go_first(void **state)
{
	struct fixture *fixture = *state;
	fixture->settings.capacity_bytes = 10 * BYTES;
	fixture->settings.evicts = true;
	fixture->settings.eviction_ratio = 0.3;
	open_it(fixture);
	char keys[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	run(fixture, HFKV_L2_STORE, 0, 7);
	run(fixture, HFKV_L2_LOOKUP, 0, 1); /* locked, and used last */
	run(fixture, HFKV_L2_LOAD, 1, 1);   /* used, not locked */
	run(fixture, HFKV_L2_LOOKUP, 2, 1); /* locked */
	run(fixture, HFKV_L2_LOOKUP, 3, 1);
	unlock(fixture, 3, 1);
	run(fixture, HFKV_L2_STORE, 7, 1); /* 8 of 10: the watermark */
	await_keys(fixture, 5);
	/* Order of use: 4 5 6 0 1 2 3 7. Three go. */
	keys[0] = '\0';
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	assert_string_equal(keys, "m@00000001@0@00=100\nm@00000001@0@01=100\nm@00000001@0@02=100\n"
				  "m@00000001@0@03=100\nm@00000001@0@07=100\n");
	assert_int_equal(fixture->gate->count, 5);
}

static void nothing_is_evicted_while_all_is_locked(void **state)
{
	struct fixture *fixture = *state;
	fixture->settings.capacity_bytes = 4 * BYTES;
	fixture->settings.evicts = true;
	open_it(fixture);
	char keys[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	run(fixture, HFKV_L2_STORE, 0, 2);
	run(fixture, HFKV_L2_LOOKUP, 0, 2);
	pthread_mutex_lock(&fixture->gate->mutex);
	gate_store(fixture->gate, fixture->keys[2], 2 * BYTES, 1);
	pthread_mutex_unlock(&fixture->gate->mutex);
	run(fixture, HFKV_L2_LOOKUP, 2, 1); /* locked, and full by now */
	run(fixture, HFKV_L2_STORE, 3, 1);  /* the only one that may go */
	await_keys(fixture, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(remove_one(fixture, i, NULL), HFKV_BUSY);
}

static void without_our_evictor_nothing_goes(void **state)
{
	struct fixture *fixture = *state;
	fixture->settings.capacity_bytes = 2 * BYTES;
	open_it(fixture);
	char keys[2048] = "";
	assert_int_equal(hfkv_l2_list(fixture->l2, append_line, keys, 0, NULL), HFKV_OK);
	run(fixture, HFKV_L2_STORE, 0, 8);
	run(fixture, HFKV_L2_STORE, 8, 1);
	assert_int_equal(usage(fixture).keys, 9);
	assert_true(usage(fixture).fraction == 4.5);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(the_three_descriptors_differ),
		WITH_FIXTURE(chunks_go_round_and_results_are_popped_once),
		WITH_FIXTURE(several_results_pop_oldest_first),
		WITH_FIXTURE(a_submitted_task_does_not_block_its_caller),
		WITH_FIXTURE(what_landed_of_a_failed_store_is_counted),
		WITH_FIXTURE(keys_of_the_other_family_fail_by_name),
		WITH_FIXTURE(closing_gives_every_task_back),
		WITH_FIXTURE(a_lock_keeps_a_key_from_being_deleted),
		WITH_FIXTURE(locks_are_counted),
		WITH_FIXTURE(a_failed_load_keeps_the_lock),
		WITH_FIXTURE(a_miss_locks_nothing),
		WITH_FIXTURE(usage_counts_a_key_once_and_by_salt),
		WITH_FIXTURE(a_store_that_ends_while_it_closes_starts_no_evictor),
		WITH_FIXTURE(what_a_lookup_finds_is_locked_while_it_looks),
		WITH_FIXTURE(an_absence_seen_before_a_store_does_not_uncount_it),
		WITH_FIXTURE(a_delete_that_was_not_taken_deletes_nothing),
		WITH_FIXTURE(without_capacity_the_fraction_is_minus_one_and_said_once),
		WITH_FIXTURE(usage_is_rebuilt_after_a_restart_oldest_first),
		WITH_FIXTURE(a_listing_that_failed_is_tried_again),
		WITH_FIXTURE(what_others_stored_counts_when_it_is_found),
		WITH_FIXTURE(the_least_recently_used_unlocked_keys_go_first),
		WITH_FIXTURE(nothing_is_evicted_while_all_is_locked),
		WITH_FIXTURE(without_our_evictor_nothing_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
