#include "tests/unit/cmocka_prelude.h"

#include "src/connector/connector.h"
#include "tests/unit/src/connector/gate_backend.h"

#include <poll.h>
#include <stdlib.h>

#define WAIT_MS 20000
#define BATCH   64

struct fixture {
	struct gate_backend *gate;
	struct hfkv_connector *connector;
	atomic_bool freed;
	char keys[BATCH][48];
	uint8_t buffers[BATCH][16];
	struct hfkv_item items[BATCH];
};

static void open_with(struct fixture *fixture, size_t threads, size_t step)
{
	fixture->gate = gate_backend_new(false);
	fixture->gate->step = step;
	fixture->gate->freed = &fixture->freed;
	struct connector_settings settings = { .threads = threads, .read_timeout_ms = 1000, .timeout_ms = 1000 };
	assert_int_equal(connector_new(&fixture->gate->backend, &settings, &fixture->connector, NULL), HFKV_OK);
}

static int set_up(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	for (int i = 0; i < BATCH; i++) {
		snprintf(fixture->keys[i], sizeof(fixture->keys[i]), "%c@1@0@%x@half", 'a' + i % 26, i);
		fixture->items[i] =
		    (struct hfkv_item){ .key = fixture->keys[i], .data = fixture->buffers[i], .length = 16 };
	}
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	hfkv_connector_close(fixture->connector);
	test_free(fixture);
	return 0;
}

static uint64_t submit(struct fixture *fixture, enum hfkv_operation operation, struct hfkv_item *items,
		       size_t count)
{
	uint64_t id = 0;
	assert_int_equal(hfkv_connector_submit(fixture->connector, operation, items, count, &id, NULL), HFKV_OK);
	assert_true(id > 0);
	return id;
}

static void await_event(struct fixture *fixture)
{
	struct pollfd waiting = { .fd = hfkv_connector_event_fd(fixture->connector), .events = POLLIN };
	assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
}

static struct hfkv_completion next_completion(struct fixture *fixture)
{
	struct hfkv_completion completion;
	await_event(fixture);
	assert_int_equal(hfkv_connector_drain(fixture->connector, &completion, 1), 1);
	return completion;
}

static bool is_readable(struct fixture *fixture)
{
	struct pollfd now = { .fd = hfkv_connector_event_fd(fixture->connector), .events = POLLIN };
	return poll(&now, 1, 0) == 1;
}

static void order_is_kept_in_batches(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 4, 1);
	assert_int_equal(hfkv_connector_run(fixture->connector, HFKV_OP_PUT, fixture->items, BATCH, 0, NULL),
			 HFKV_OK);
	struct hfkv_item remove = { .key = fixture->keys[7] };
	assert_int_equal(hfkv_connector_run(fixture->connector, HFKV_OP_REMOVE, &remove, 1, 0, NULL), HFKV_OK);
	struct hfkv_item items[BATCH];
	memcpy(items, fixture->items, sizeof(items));
	assert_int_equal(hfkv_connector_run(fixture->connector, HFKV_OP_GET, items, BATCH, 0, NULL), HFKV_OK);
	for (int i = 0; i < BATCH; i++) {
		assert_ptr_equal(items[i].key, fixture->keys[i]);
		assert_int_equal(items[i].status, i == 7 ? HFKV_NOT_FOUND : HFKV_OK);
		if (i != 7)
			assert_int_equal(fixture->buffers[i][15], 'a' + i % 26);
	}
	size_t hits = 0;
	assert_int_equal(hfkv_connector_contains_prefix(fixture->connector, items, BATCH, 0, &hits, NULL),
			 HFKV_OK);
	assert_int_equal(hits, 7);
	assert_int_equal(hfkv_connector_contains_prefix(fixture->connector, items, 0, 0, &hits, NULL), HFKV_OK);
	assert_int_equal(hits, 0);
}

static void a_batch_comes_back_once_and_ids_differ(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 2, 1);
	assert_false(is_readable(fixture));
	uint64_t first = submit(fixture, HFKV_OP_PUT, fixture->items, 8);
	struct hfkv_completion completion = next_completion(fixture);
	assert_int_equal(completion.id, first);
	assert_int_equal(completion.operation, HFKV_OP_PUT);
	assert_int_equal(completion.status, HFKV_OK);
	assert_ptr_equal(completion.items, fixture->items);
	assert_int_equal(completion.count, 8);
	assert_string_equal(completion.text, "");
	assert_int_equal(hfkv_connector_drain(fixture->connector, &completion, 1), 0);
	assert_false(is_readable(fixture));
	uint64_t second = submit(fixture, HFKV_OP_EXISTS, fixture->items, 8);
	assert_true(second != first);
	completion = next_completion(fixture);
	assert_int_equal(completion.id, second);
}

static void the_descriptor_stays_readable_while_results_wait(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 1, SIZE_MAX);
	submit(fixture, HFKV_OP_PUT, fixture->items, 1);
	submit(fixture, HFKV_OP_EXISTS, fixture->items + 1, 1);
	struct hfkv_completion first = next_completion(fixture), second = next_completion(fixture);
	assert_int_not_equal(first.id, second.id);
	assert_int_equal(second.items[0].status, HFKV_NOT_FOUND);
	assert_int_equal(second.status, HFKV_OK); /* a miss is an outcome */
}

static void an_empty_batch_comes_back_too(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 2, 1);
	uint64_t id = submit(fixture, HFKV_OP_GET, fixture->items, 0);
	struct hfkv_completion completion = next_completion(fixture);
	assert_int_equal(completion.id, id);
	assert_int_equal(completion.status, HFKV_OK);
}

static void a_cancelled_batch_gives_back_what_did_not_start(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 2, 1);
	gate_set_closed(fixture->gate, true);
	uint64_t id = submit(fixture, HFKV_OP_PUT, fixture->items, 8);
	gate_await_waiting(fixture->gate, 2);
	hfkv_connector_cancel(fixture->connector, id);
	hfkv_connector_cancel(fixture->connector, id + 1000); /* unknown: ignored */
	assert_false(is_readable(fixture));                   /* two items are still being worked on */
	gate_set_closed(fixture->gate, false);
	struct hfkv_completion completion = next_completion(fixture);
	assert_int_equal(completion.status, HFKV_CANCELLED);
	size_t done = 0, cancelled = 0;
	for (int i = 0; i < 8; i++) {
		done += fixture->items[i].status == HFKV_OK;
		cancelled += fixture->items[i].status == HFKV_CANCELLED;
	}
	assert_int_equal(done, 2);
	assert_int_equal(cancelled, 6);
	assert_int_equal(fixture->gate->count, 2);
}

static void a_failure_is_told_with_its_words(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 1, SIZE_MAX);
	fixture->gate->fail_puts_after = 2;
	submit(fixture, HFKV_OP_PUT, fixture->items, 4);
	struct hfkv_completion completion = next_completion(fixture);
	assert_int_equal(completion.status, HFKV_UNAVAILABLE);
	assert_string_equal(completion.text, "the gate says no");
	assert_int_equal(fixture->items[1].status, HFKV_OK);
	assert_int_equal(fixture->items[2].status, HFKV_UNAVAILABLE);
	struct hfkv_error error;
	fixture->gate->fail_puts_after = 0;
	assert_int_equal(hfkv_connector_run(fixture->connector, HFKV_OP_PUT, fixture->items, 1, 0, &error),
			 HFKV_UNAVAILABLE);
	assert_int_equal(error.status, HFKV_UNAVAILABLE);
	assert_string_equal(error.text, "the gate says no");
}

static void *open_gate_soon(void *argument)
{
	struct fixture *fixture = argument;
	gate_await_waiting(fixture->gate, 1);
	/* Close is under way or about to be: either order must end well. */
	gate_set_closed(fixture->gate, false);
	return NULL;
}

static void closing_with_work_in_flight_leaves_no_item_undone(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 1, SIZE_MAX);
	gate_set_closed(fixture->gate, true);
	for (int i = 0; i < 16; i++) {
		fixture->items[i].status = HFKV_BUG;
		submit(fixture, HFKV_OP_PUT, &fixture->items[i], 1);
	}
	gate_await_waiting(fixture->gate, 1);
	pthread_t opener;
	assert_int_equal(pthread_create(&opener, NULL, open_gate_soon, fixture), 0);
	hfkv_connector_close(fixture->connector);
	fixture->connector = NULL;
	pthread_join(opener, NULL);
	assert_true(atomic_load(&fixture->freed));
	for (int i = 0; i < 16; i++)
		assert_true(fixture->items[i].status == HFKV_OK || fixture->items[i].status == HFKV_CANCELLED);
	assert_int_equal(fixture->items[0].status, HFKV_OK); /* it was running */
}

static void *hammer(void *argument)
{
	struct fixture *fixture = argument;
	uint8_t bytes[16] = { 0 };
	for (int round = 0; round < 50; round++) {
		struct hfkv_item items[8];
		for (int i = 0; i < 8; i++)
			items[i] = (struct hfkv_item){ .key = fixture->keys[i], .data = bytes, .length = 16 };
		if (hfkv_connector_run(fixture->connector, HFKV_OP_PUT, items, 8, 0, NULL) != HFKV_OK)
			return (void *)1;
	}
	return NULL;
}

static void many_threads_share_one_connector(void **state)
{
	struct fixture *fixture = *state;
	open_with(fixture, 3, 2);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, fixture), 0);
	size_t submitted = 0, drained = 0;
	struct hfkv_completion completions[8];
	while (submitted < BATCH || drained < submitted) {
		if (submitted < BATCH) {
			submit(fixture, HFKV_OP_EXISTS, &fixture->items[submitted], 1);
			submitted++;
		} else {
			await_event(fixture);
		}
		drained += hfkv_connector_drain(fixture->connector, completions, 8);
	}
	assert_int_equal(drained, BATCH);
	for (int i = 0; i < 4; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(order_is_kept_in_batches),
		WITH_FIXTURE(a_batch_comes_back_once_and_ids_differ),
		WITH_FIXTURE(the_descriptor_stays_readable_while_results_wait),
		WITH_FIXTURE(an_empty_batch_comes_back_too),
		WITH_FIXTURE(a_cancelled_batch_gives_back_what_did_not_start),
		WITH_FIXTURE(a_failure_is_told_with_its_words),
		WITH_FIXTURE(closing_with_work_in_flight_leaves_no_item_undone),
		WITH_FIXTURE(many_threads_share_one_connector),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
