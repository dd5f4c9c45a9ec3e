#include "tests/unit/cmocka_prelude.h"

#include "backend/store/fault_store.h"
#include "backend/store/memory_store.h"

static struct object_store *new_store(void)
{
	struct object_store *memory, *store;
	assert_int_equal(memory_store_new(&memory, NULL), HFKV_OK);
	assert_int_equal(fault_store_new(memory, &store, NULL), HFKV_OK);
	return store;
}

static enum hfkv_status put(struct object_store *store, struct object_put *puts, size_t count)
{
	static const char *const names[] = { "k0", "k1", "k2", "k3" };
	for (size_t i = 0; i < count; i++)
		puts[i] =
		    (struct object_put){ .path = names[i],
					 .source = { .memory = (const uint8_t *)"x", .fd = -1, .size_bytes = 1 } };
	return object_store_put_many(store, puts, count, NULL, NULL, DEADLINE_NONE, NULL);
}

static enum hfkv_status stat(struct object_store *store, const char *path)
{
	struct object_stat stat = { .path = path };
	assert_int_equal(object_store_stat_many(store, &stat, 1, DEADLINE_NONE, NULL), HFKV_OK);
	return stat.status;
}

static void test_half_a_batch(void **state)
{
	(void)state;
	struct object_store *store = new_store();
	struct object_put puts[4];
	struct fault_store_rule rule = { .call = FAULT_STORE_PUT,
					 .path_contains = "k3",
					 .times = 1,
					 .status = HFKV_UNAVAILABLE,
					 .apply_first = 3 };
	assert_int_equal(fault_store_add(store, &rule), HFKV_OK);
	assert_int_equal(put(store, puts, 2), HFKV_OK); /* no k3 in it */
	assert_int_equal(put(store, puts, 4), HFKV_UNAVAILABLE);
	assert_int_equal(puts[2].status, HFKV_OK);
	assert_int_equal(puts[3].status, HFKV_UNAVAILABLE);
	assert_int_equal(stat(store, "k2"), HFKV_OK);
	assert_int_equal(stat(store, "k3"), HFKV_NOT_FOUND);
	assert_int_equal(put(store, puts, 4), HFKV_OK); /* only once */
	assert_int_equal(fault_store_calls(store, FAULT_STORE_PUT), 3);
	assert_int_equal(fault_store_items(store, FAULT_STORE_PUT), 10);
	object_store_free(store);
}

static void test_skip_and_lost_answer(void **state)
{
	(void)state;
	struct object_store *store = new_store();
	struct object_put puts[1];
	struct fault fault = FAULT_NONE;
	struct fault_store_rule rule = {
		.call = FAULT_STORE_PUT, .skip = 1, .status = HFKV_TIMEOUT, .after_work = true
	};
	struct fault_store_rule limit = { .call = FAULT_STORE_STAT,
					  .status = HFKV_RATE_LIMITED,
					  .retry_after_ms = 7 };
	assert_int_equal(fault_store_add(store, &rule), HFKV_OK);
	assert_int_equal(put(store, puts, 1), HFKV_OK);
	assert_int_equal(put(store, puts, 1), HFKV_TIMEOUT);
	assert_int_equal(put(store, puts, 1), HFKV_TIMEOUT);
	assert_int_equal(stat(store, "k0"), HFKV_OK);
	assert_int_equal(fault_store_add(store, &limit), HFKV_OK);
	struct object_stat asked = { .path = "k0" };
	assert_int_equal(object_store_stat_many(store, &asked, 1, DEADLINE_NONE, &fault), HFKV_RATE_LIMITED);
	assert_int_equal(asked.status, HFKV_RATE_LIMITED);
	assert_int_equal(fault.retry_after_ms, 7);
	fault_store_clear(store);
	assert_int_equal(stat(store, "k0"), HFKV_OK);
	object_store_free(store);
}

static void count_gate(void *context)
{
	++*(unsigned *)context;
}

static void test_gate(void **state)
{
	(void)state;
	struct object_store *store = new_store();
	unsigned passed = 0;
	struct fault_store_rule rule = { .call = FAULT_STORE_STAT, .gate = count_gate, .gate_context = &passed };
	assert_int_equal(fault_store_add(store, &rule), HFKV_OK);
	assert_int_equal(stat(store, "k"), HFKV_NOT_FOUND);
	assert_int_equal(passed, 1);
	object_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_half_a_batch),
					    cmocka_unit_test(test_skip_and_lost_answer),
					    cmocka_unit_test(test_gate) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
