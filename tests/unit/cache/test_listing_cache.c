#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/gate.h"

#include <pthread.h>

struct listed {
	char text[4096];
	unsigned count;
};

static enum hfkv_status add_name(void *context, const struct kv_cache_name *name)
{
	struct listed *listed = context;
	listed->count++;
	if (listed->count < 20) {
		strcat(listed->text, name->name);
		strcat(listed->text, name->is_directory ? "/ " : " ");
	}
	return HFKV_OK;
}

static void expect_list(struct cache_fixture *fixture, const char *directory, const char *expected)
{
	struct listed listed = { "", 0 };
	assert_int_equal(
	    kv_cache_list(fixture->cache, directory, add_name, &listed, deadline_after_ms(5000), NULL), HFKV_OK);
	assert_string_equal(listed.text, expected);
}

static unsigned list_calls(struct cache_fixture *fixture)
{
	return fault_store_calls(fixture->store, FAULT_STORE_LIST);
}

static enum hfkv_status exists(struct cache_fixture *fixture, const char *directory)
{
	return kv_cache_directory_exists(fixture->cache, directory, deadline_after_ms(5000), NULL);
}

static void a_listing_holds_and_follows_own_writes(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/b", FULL_BYTES, 1);
	put_behind(&fixture, "p/d/x", FULL_BYTES, 1);
	put_behind(&fixture, "other", FULL_BYTES, 1);
	expect_list(&fixture, "", "b d/ ");
	put_behind(&fixture, "p/z", FULL_BYTES, 1); /* by somebody else: seen when the time is over */
	assert_int_equal(publish_chunk(&fixture, "a", FULL_BYTES, 1, 0), HFKV_OK);
	assert_int_equal(publish_chunk(&fixture, "e/f/y", FULL_BYTES, 1, 0), HFKV_OK);
	expect_list(&fixture, "", "a b d/ e/ ");
	assert_int_equal(list_calls(&fixture), 1);
	struct object_stat gone = { .path = "b" };
	assert_int_equal(kv_cache_remove_many(fixture.cache, &gone, 1, deadline_after_ms(5000), NULL), HFKV_OK);
	expect_list(&fixture, "", "a d/ e/ ");
	assert_int_equal(list_calls(&fixture), 1);
	/* The listing taught the metadata: no question for a listed name. */
	assert_int_equal(stat_one(&fixture, "a"), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), 0);
	clock_advance_for_tests(30001);
	expect_list(&fixture, "", "a d/ e/ z ");
	assert_int_equal(list_calls(&fixture), 2);
	/* With its last file a directory goes. */
	gone.path = "d/x";
	assert_int_equal(kv_cache_remove_many(fixture.cache, &gone, 1, deadline_after_ms(5000), NULL), HFKV_OK);
	expect_list(&fixture, "", "a e/ z ");
	fixture_close(&fixture);
}

static void directories_are_asked_for_once(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/d/x", FULL_BYTES, 1);
	assert_int_equal(exists(&fixture, ""), HFKV_OK);
	assert_int_equal(list_calls(&fixture), 0);
	assert_int_equal(exists(&fixture, "d"), HFKV_OK);
	assert_int_equal(exists(&fixture, "d"), HFKV_OK);
	expect_list(&fixture, "d", "x ");
	assert_int_equal(list_calls(&fixture), 1);
	assert_int_equal(exists(&fixture, "none"), HFKV_NOT_FOUND);
	assert_int_equal(exists(&fixture, "none"), HFKV_NOT_FOUND);
	assert_int_equal(list_calls(&fixture), 2);
	/* Its own write makes a directory at once; an absence holds for 2 s. */
	assert_int_equal(publish_chunk(&fixture, "none/y", FULL_BYTES, 1, 0), HFKV_OK);
	assert_int_equal(exists(&fixture, "none"), HFKV_OK);
	assert_int_equal(exists(&fixture, "late"), HFKV_NOT_FOUND);
	put_behind(&fixture, "p/late/y", FULL_BYTES, 1);
	assert_int_equal(exists(&fixture, "late"), HFKV_NOT_FOUND);
	clock_advance_for_tests(2001);
	assert_int_equal(exists(&fixture, "late"), HFKV_OK);
	assert_int_equal(exists(&fixture, "a/../b"), HFKV_INVALID);
	/* The listing above tells of a directory without a call. */
	put_behind(&fixture, "p/seen/y", FULL_BYTES, 1);
	expect_list(&fixture, "", "d/ late/ none/ seen/ ");
	unsigned calls = list_calls(&fixture);
	assert_int_equal(exists(&fixture, "seen"), HFKV_OK);
	assert_int_equal(list_calls(&fixture), calls);
	fixture_close(&fixture);
}

struct lister {
	pthread_t thread;
	struct cache_fixture *fixture;
	struct deadline deadline;
	struct listed listed;
	enum hfkv_status status;
};

static void *list_in_thread(void *argument)
{
	struct lister *lister = argument;
	lister->status =
	    kv_cache_list(lister->fixture->cache, "", add_name, &lister->listed, lister->deadline, NULL);
	return NULL;
}

static void hold_lists(struct cache_fixture *fixture, struct gate *gate)
{
	gate_init(gate);
	assert_int_equal(fault_store_add(fixture->store, &(struct fault_store_rule){ .call = FAULT_STORE_LIST,
										     .times = 1,
										     .gate = gate_pass,
										     .gate_context = gate }),
			 HFKV_OK);
}

/* Listings of one directory at the same time share a call, and own writes meanwhile are in what all of them see.
 */
static void concurrent_listings_share_a_call(void **state)
{
	(void)state;
	enum { LISTERS = 8 };
	struct cache_fixture fixture;
	struct gate gate;
	struct lister listers[LISTERS];
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/a", FULL_BYTES, 1);
	put_behind(&fixture, "p/b", FULL_BYTES, 1);
	hold_lists(&fixture, &gate);
	for (int i = 0; i < LISTERS; i++) {
		listers[i] = (struct lister){ .fixture = &fixture, .deadline = deadline_after_ms(5000) };
		pthread_create(&listers[i].thread, NULL, list_in_thread, &listers[i]);
	}
	gate_await(&gate, 1);
	assert_int_equal(publish_chunk(&fixture, "c", FULL_BYTES, 1, 0), HFKV_OK);
	struct object_stat gone = { .path = "a" };
	assert_int_equal(kv_cache_remove_many(fixture.cache, &gone, 1, deadline_after_ms(5000), NULL), HFKV_OK);
	gate_open(&gate);
	for (int i = 0; i < LISTERS; i++) {
		pthread_join(listers[i].thread, NULL);
		assert_int_equal(listers[i].status, HFKV_OK);
		assert_string_equal(listers[i].listed.text, "b c ");
	}
	assert_int_equal(list_calls(&fixture), 1);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void who_waits_has_his_own_deadline(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	struct gate gate;
	fixture_open(&fixture, NULL);
	hold_lists(&fixture, &gate);
	struct lister first = { .fixture = &fixture, .deadline = deadline_after_ms(5000) };
	pthread_create(&first.thread, NULL, list_in_thread, &first);
	gate_await(&gate, 1);
	struct listed listed = { "", 0 };
	assert_int_equal(kv_cache_list(fixture.cache, "", add_name, &listed, deadline_after_ms(10), NULL),
			 HFKV_TIMEOUT);
	gate_open(&gate);
	pthread_join(first.thread, NULL);
	assert_int_equal(first.status, HFKV_OK);
	fixture_close(&fixture);
	gate_done(&gate);
}

static void a_failure_is_passed_on_and_not_kept(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/a", FULL_BYTES, 1);
	assert_int_equal(fault_store_add(fixture.store, &(struct fault_store_rule){ .call = FAULT_STORE_LIST,
										    .times = 2,
										    .status = HFKV_UNAVAILABLE }),
			 HFKV_OK);
	struct listed listed = { "", 0 };
	assert_int_equal(kv_cache_list(fixture.cache, "", add_name, &listed, deadline_after_ms(5000), NULL),
			 HFKV_UNAVAILABLE);
	assert_int_equal(exists(&fixture, "d"), HFKV_UNAVAILABLE);
	expect_list(&fixture, "", "a ");
	fixture_close(&fixture);
}

static void large_directories(void **state)
{
	(void)state;
	enum { NAMES = 3000 };
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	char path[32];
	for (int i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "p/big/k%d", i);
		put_behind(&fixture, path, FULL_BYTES, 1);
	}
	/* Existence needs only a look; the listing is a call of its own. */
	assert_int_equal(exists(&fixture, "big"), HFKV_OK);
	struct listed listed = { "", 0 };
	assert_int_equal(kv_cache_list(fixture.cache, "big", add_name, &listed, deadline_after_ms(5000), NULL),
			 HFKV_OK);
	assert_int_equal(listed.count, NAMES);
	assert_int_equal(list_calls(&fixture), 2);
	assert_int_equal(stat_one(&fixture, "big/k2999"), HFKV_OK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_STAT), 0);
	struct listed all = { "", 0 };
	assert_int_equal(kv_cache_list_recursive(fixture.cache, "", add_name, &all, deadline_after_ms(5000), NULL),
			 HFKV_OK);
	assert_int_equal(all.count, NAMES);
	assert_memory_equal(all.text, "big/k0 ", 7);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listing_holds_and_follows_own_writes),
		cmocka_unit_test(directories_are_asked_for_once),
		cmocka_unit_test(concurrent_listings_share_a_call),
		cmocka_unit_test(who_waits_has_his_own_deadline),
		cmocka_unit_test(a_failure_is_passed_on_and_not_kept),
		cmocka_unit_test(large_directories),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
