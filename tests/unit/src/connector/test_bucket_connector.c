#include "tests/unit/cmocka_prelude.h"

#include "backend/store/fault_store.h"
#include "backend/store/memory_store.h"
#include "src/connector/bucket_connector.h"
#include "src/connector/l2_adapter.h"
#include "tests/unit/src/connector/log_lines.h"
#include "tests/unit/src/connector/scratch_dir.h"

#include <poll.h>
#include <stdlib.h>

#define BYTES   4096
#define BATCH   8
#define WAIT_MS 20000

struct fixture {
	char root[SCRATCH_PATH_BYTES];
	struct object_store *store; /* the fault store; owned by the backend once that is open */
	struct kv_backend *backend;
	char keys[BATCH][64];
	uint8_t bytes[BATCH][BYTES], back[BATCH][BYTES];
	struct hfkv_item items[BATCH];
};

static void open_store(struct fixture *fixture)
{
	struct object_store *memory = NULL;
	assert_int_equal(memory_store_new(&memory, NULL), HFKV_OK);
	assert_int_equal(fault_store_new(memory, &fixture->store, NULL), HFKV_OK);
}

static void open_backend(struct fixture *fixture, bool multi_process, uint64_t chunk_bytes)
{
	struct fault fault = FAULT_NONE;
	struct bucket_connector_parts parts = { .store = fixture->store };
	struct size_rule_settings rule = { .chunk_bytes = chunk_bytes, .learns = multi_process };
	assert_int_equal(size_rule_new(&rule, &parts.rule, &fault), HFKV_OK);
	struct kv_cache_settings settings = kv_cache_settings_default();
	settings.store = fixture->store;
	settings.prefix = "pre/fix";
	settings.spec = size_rule_spec(parts.rule);
	settings.staging_dir = fixture->root;
	settings.staging_label = "test";
	settings.staging_bytes = 1024 * 1024;
	settings.timeout_ms = 5000;
	if (kv_cache_open(&settings, &parts.cache, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	assert_int_equal(bucket_connector_new(&parts, multi_process, &fixture->backend), HFKV_OK);
}

/* Keys n = 0.. of either family, and bytes that differ. */
static void make_items(struct fixture *fixture, bool multi_process)
{
	for (int i = 0; i < BATCH; i++) {
		const char *before = multi_process ? "org/m@00000001@0@" : "org/m@1@0@";
		const char *after = multi_process ? "" : "@half";
		snprintf(fixture->keys[i], sizeof(fixture->keys[i]), "%s%02x%s", before, i, after);
		memset(fixture->bytes[i], 'a' + i, BYTES);
		fixture->items[i] =
		    (struct hfkv_item){ .key = fixture->keys[i], .data = fixture->bytes[i], .length = BYTES };
	}
}

static int set_up(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	scratch_dir_make(fixture->root);
	assert_string_not_equal(fixture->root, "");
	open_store(fixture);
	make_items(fixture, false);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	kv_backend_free(fixture->backend, deadline_after_ms(1000));
	scratch_dir_remove(fixture->root);
	test_free(fixture);
	return 0;
}

static enum hfkv_status run(struct fixture *fixture, enum hfkv_operation operation, struct hfkv_item *items,
			    size_t count)
{
	return kv_backend_run(fixture->backend, operation, items, count, deadline_after_ms(5000), NULL);
}

static void put_all(struct fixture *fixture)
{
	assert_int_equal(run(fixture, HFKV_OP_PUT, fixture->items, BATCH), HFKV_OK);
}

/* An object that somebody else put. */
static void put_object(struct fixture *fixture, const char *path, size_t length)
{
	static const uint8_t zeroes[2 * BYTES];
	struct object_put put = { .path = path, .source = { zeroes, -1, length } };
	assert_int_equal(object_store_put_many(fixture->store, &put, 1, NULL, NULL, deadline_after_ms(5000), NULL),
			 HFKV_OK);
}

static void aim_at_back(struct fixture *fixture, struct hfkv_item *items)
{
	memset(fixture->back, 0, sizeof(fixture->back));
	for (int i = 0; i < BATCH; i++)
		items[i] =
		    (struct hfkv_item){ .key = fixture->keys[i], .data = fixture->back[i], .length = BYTES };
}

/* ---- in process ---- */

static void a_batch_is_one_call_each_way_and_order_is_kept(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	struct hfkv_item items[BATCH];
	aim_at_back(fixture, items);
	assert_int_equal(run(fixture, HFKV_OP_EXISTS, items, BATCH), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture->store, FAULT_STORE_STAT), 1);
	for (int i = 0; i < BATCH; i++)
		assert_int_equal(items[i].status, HFKV_NOT_FOUND);
	assert_int_equal(run(fixture, HFKV_OP_PUT, fixture->items, BATCH - 1), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture->store, FAULT_STORE_PUT), 1);
	assert_int_equal(run(fixture, HFKV_OP_GET, items, BATCH), HFKV_OK);
	for (int i = 0; i < BATCH; i++) {
		bool there = i < BATCH - 1;
		assert_int_equal(items[i].status, there ? HFKV_OK : HFKV_NOT_FOUND);
		assert_int_equal(items[i].bytes, there ? BYTES : 0);
		if (there)
			assert_memory_equal(fixture->back[i], fixture->bytes[i], BYTES);
	}
	assert_int_equal(run(fixture, HFKV_OP_EXISTS, items, BATCH - 1), HFKV_OK);
	for (int i = 0; i < BATCH - 1; i++)
		assert_int_equal(items[i].bytes, BYTES);
}

static void objects_have_the_percent_encoded_key_under_the_prefix(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	put_all(fixture);
	struct object_stat stat = { .path = "pre/fix/org%2Fm%401%400%4003%40half" };
	assert_int_equal(object_store_stat_many(fixture->store, &stat, 1, deadline_after_ms(5000), NULL), HFKV_OK);
	assert_int_equal(stat.status, HFKV_OK);
	assert_int_equal(stat.info.size_bytes, BYTES);
}

static void wrong_sizes_are_absent_and_refused(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	put_object(fixture, "pre/fix/org%2Fm%401%400%4000%40half", 100);
	struct hfkv_item item = { .key = fixture->keys[0], .data = fixture->back[0], .length = BYTES };
	assert_int_equal(run(fixture, HFKV_OP_EXISTS, &item, 1), HFKV_OK);
	assert_int_equal(item.status, HFKV_NOT_FOUND);
	assert_int_equal(run(fixture, HFKV_OP_GET, &item, 1), HFKV_OK);
	assert_int_equal(item.status, HFKV_NOT_FOUND);
	struct hfkv_item puts[3];
	memcpy(puts, fixture->items, sizeof(puts));
	puts[1].length = BYTES - 1;
	assert_int_equal(run(fixture, HFKV_OP_PUT, puts, 3), HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(puts[0].status, HFKV_OK); /* the others are stored, and the wrong object is healed */
	assert_int_equal(puts[1].status, HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(puts[2].status, HFKV_OK);
	assert_int_equal(fault_store_items(fixture->store, FAULT_STORE_PUT), 3); /* one was ours above */
	assert_int_equal(run(fixture, HFKV_OP_GET, &item, 1), HFKV_OK);
	assert_int_equal(item.status, HFKV_OK);
	item.header = fixture->back[1];
	item.header_length = 28;
	assert_int_equal(run(fixture, HFKV_OP_PUT, &item, 1), HFKV_INVALID);
}

static enum hfkv_status collect_keys(void *context, const char *key, uint64_t bytes, int64_t modified_at_ms)
{
	char *text = context;
	size_t length = strlen(text);
	(void)modified_at_ms;
	assert_int_equal(bytes, BYTES);
	snprintf(text + length, 1024 - length, "%s\n", key);
	return HFKV_OK;
}

static void a_listing_gives_keys_and_skips_the_rest(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	assert_int_equal(run(fixture, HFKV_OP_PUT, fixture->items, 2), HFKV_OK);
	put_object(fixture, "pre/fix/org%2Fm%401%400%40ff%40half", 100);
	put_object(fixture, "pre/fix/not a key", BYTES);
	put_object(fixture, "pre/fix/%41", BYTES);
	put_object(fixture, "pre/fix/org%2Fm%4000000001%400%40ab", BYTES); /* the MP side's */
	put_object(fixture, "pre/fix/sub/org%2Fm%401%400%4007%40half", BYTES);
	put_object(fixture, "pre/fixed", BYTES);
	char keys[1024] = "";
	assert_int_equal(kv_backend_list(fixture->backend, collect_keys, keys, deadline_after_ms(5000), NULL),
			 HFKV_OK);
	assert_string_equal(keys, "org/m@1@0@00@half\norg/m@1@0@01@half\n");
}

static void removing_what_is_not_there_succeeds(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	put_all(fixture);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(run(fixture, HFKV_OP_REMOVE, fixture->items, 2), HFKV_OK);
		assert_int_equal(fixture->items[1].status, HFKV_OK);
	}
	assert_int_equal(run(fixture, HFKV_OP_EXISTS, fixture->items, 3), HFKV_OK);
	assert_int_equal(fixture->items[0].status, HFKV_NOT_FOUND);
	assert_int_equal(fixture->items[2].status, HFKV_OK);
}

static void a_failure_is_never_a_miss(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	struct fault_store_rule rule = { .call = FAULT_STORE_STAT, .status = HFKV_UNAVAILABLE };
	assert_int_equal(fault_store_add(fixture->store, &rule), HFKV_OK);
	struct hfkv_item items[2];
	memcpy(items, fixture->items, sizeof(items));
	assert_int_equal(run(fixture, HFKV_OP_EXISTS, items, 2), HFKV_UNAVAILABLE);
	assert_int_equal(items[0].status, HFKV_UNAVAILABLE);
	assert_int_equal(items[1].status, HFKV_UNAVAILABLE);
	fault_store_clear(fixture->store);
	assert_int_equal(run(fixture, HFKV_OP_EXISTS, items, 2), HFKV_OK);
	assert_int_equal(items[0].status, HFKV_NOT_FOUND);
	rule.call = FAULT_STORE_PROBE;
	assert_int_equal(fault_store_add(fixture->store, &rule), HFKV_OK);
	assert_int_equal(kv_backend_ping(fixture->backend, DEADLINE_NONE, NULL), HFKV_UNAVAILABLE);
	fault_store_clear(fixture->store);
	assert_int_equal(kv_backend_ping(fixture->backend, DEADLINE_NONE, NULL), HFKV_OK);
}

static void keys_that_share_no_name_stay_apart(void **state)
{
	struct fixture *fixture = *state;
	open_backend(fixture, false, BYTES);
	static const char *const keys[] = { "org/m-SEP-x@1@0@ab@half", "org/m/x@1@0@ab@half", "m#?%+&@1@0@ab@half",
					    "m%2F@1@0@ab@half@user%42" };
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		fixture->items[i].key = keys[i];
	assert_int_equal(run(fixture, HFKV_OP_PUT, fixture->items, ARRAY_LENGTH(keys)), HFKV_OK);
	struct hfkv_item items[BATCH];
	aim_at_back(fixture, items);
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		items[i].key = keys[i];
	assert_int_equal(run(fixture, HFKV_OP_GET, items, ARRAY_LENGTH(keys)), HFKV_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		assert_memory_equal(fixture->back[i], fixture->bytes[i], BYTES);
}

/* ---- the L2 core on it ---- */

static struct hfkv_l2 *open_l2(struct fixture *fixture, uint64_t chunk_bytes)
{
	make_items(fixture, true);
	open_backend(fixture, true, chunk_bytes);
	struct l2_settings settings = { .threads = 2, .timeout_ms = 5000 };
	struct hfkv_l2 *l2 = NULL;
	assert_int_equal(l2_adapter_new(fixture->backend, &settings, &l2, NULL), HFKV_OK);
	fixture->backend = NULL;
	return l2;
}

static struct hfkv_l2_result run_l2(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, struct hfkv_item *items,
				    size_t count)
{
	uint64_t task;
	struct hfkv_l2_result result = { 0 };
	assert_int_equal(hfkv_l2_submit(l2, kind, items, count, &task, NULL), HFKV_OK);
	struct pollfd waiting = { .fd = hfkv_l2_event_fd(l2, kind), .events = POLLIN };
	assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
	uint64_t ignored;
	assert_int_equal(read(waiting.fd, &ignored, sizeof(ignored)), sizeof(ignored));
	assert_int_equal(hfkv_l2_query(l2, kind, task, &result), HFKV_OK);
	return result;
}

static void the_size_is_learned_from_what_this_process_moves(void **state)
{
	struct fixture *fixture = *state;
	struct hfkv_l2 *l2 = open_l2(fixture, 0);
	put_object(fixture, "pre/fix/org%2Fm%4000000001%400%4007", 100);
	struct hfkv_l2_result result = run_l2(l2, HFKV_L2_LOOKUP, &fixture->items[7], 1);
	assert_int_equal(result.ok_count, 1); /* not known: any size above 0 is a hit, and the load decides */
	result = run_l2(l2, HFKV_L2_LOAD, &fixture->items[7], 1);
	assert_int_equal(result.ok_count, 0);
	result = run_l2(l2, HFKV_L2_STORE, fixture->items, 2);
	assert_int_equal(result.status, HFKV_OK);
	result = run_l2(l2, HFKV_L2_LOOKUP, fixture->items, BATCH);
	assert_int_equal(result.ok_count, 2); /* now it is known */
	hfkv_l2_close(l2);
}

static void what_landed_of_a_half_applied_batch_is_counted_once(void **state)
{
	struct fixture *fixture = *state;
	struct hfkv_l2 *l2 = open_l2(fixture, BYTES);
	struct fault_store_rule rule = { .call = FAULT_STORE_PUT, .status = HFKV_FORBIDDEN, .apply_first = 3 };
	assert_int_equal(fault_store_add(fixture->store, &rule), HFKV_OK);
	struct hfkv_l2_result result = run_l2(l2, HFKV_L2_STORE, fixture->items, BATCH);
	assert_int_equal(result.status, HFKV_FORBIDDEN);
	assert_int_equal(result.ok_count, 3);
	struct hfkv_l2_usage usage;
	hfkv_l2_usage_read(l2, &usage);
	assert_int_equal(usage.total_bytes, 3 * BYTES);
	fault_store_clear(fixture->store);
	result = run_l2(l2, HFKV_L2_LOOKUP, fixture->items, BATCH);
	assert_int_equal(result.ok_count, 3);
	result = run_l2(l2, HFKV_L2_STORE, fixture->items, BATCH);
	assert_int_equal(result.status, HFKV_OK);
	hfkv_l2_usage_read(l2, &usage);
	assert_int_equal(usage.total_bytes, BATCH * BYTES);
	hfkv_l2_close(l2);
}

static void a_failed_load_drops_what_was_known(void **state)
{
	struct fixture *fixture = *state;
	struct hfkv_l2 *l2 = open_l2(fixture, BYTES);
	put_object(fixture, "pre/fix/org%2Fm%4000000001%400%4000", BYTES);
	struct hfkv_l2_result result = run_l2(l2, HFKV_L2_LOOKUP, fixture->items, 1);
	assert_int_equal(result.ok_count, 1);
	/* Somebody else removes it, and its bytes cannot be had any more. */
	struct object_stat gone = { .path = "pre/fix/org%2Fm%4000000001%400%4000" };
	assert_int_equal(object_store_delete_many(fixture->store, &gone, 1, deadline_after_ms(5000), NULL),
			 HFKV_OK);
	struct fault_store_rule rule = { .call = FAULT_STORE_READ, .status = HFKV_NOT_FOUND };
	assert_int_equal(fault_store_add(fixture->store, &rule), HFKV_OK);
	result = run_l2(l2, HFKV_L2_LOAD, fixture->items, 1);
	assert_int_equal(result.ok_count, 0);
	result = run_l2(l2, HFKV_L2_LOOKUP, fixture->items, 1);
	assert_int_equal(result.ok_count, 0);
	hfkv_l2_close(l2);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_batch_is_one_call_each_way_and_order_is_kept),
		WITH_FIXTURE(objects_have_the_percent_encoded_key_under_the_prefix),
		WITH_FIXTURE(wrong_sizes_are_absent_and_refused),
		WITH_FIXTURE(a_listing_gives_keys_and_skips_the_rest),
		WITH_FIXTURE(removing_what_is_not_there_succeeds),
		WITH_FIXTURE(a_failure_is_never_a_miss),
		WITH_FIXTURE(keys_that_share_no_name_stay_apart),
		WITH_FIXTURE(the_size_is_learned_from_what_this_process_moves),
		WITH_FIXTURE(what_landed_of_a_half_applied_batch_is_counted_once),
		WITH_FIXTURE(a_failed_load_drops_what_was_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
