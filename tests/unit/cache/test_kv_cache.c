#include "tests/unit/cache/cache_fixture.h"

static struct deadline soon(void)
{
	return deadline_after_ms(5000);
}

/* ---- listings as text ---- */

struct listed {
	char text[4096];
};

static enum hfkv_status add_name(void *context, const struct kv_cache_name *name)
{
	struct listed *listed = context;
	strcat(listed->text, name->name);
	strcat(listed->text, name->is_directory ? "/ " : " ");
	return HFKV_OK;
}

static void expect_list(struct cache_fixture *fixture, const char *directory, const char *expected)
{
	struct listed listed = { "" };
	assert_int_equal(kv_cache_list(fixture->cache, directory, add_name, &listed, soon(), NULL), HFKV_OK);
	assert_string_equal(listed.text, expected);
}

static void stores_reads_lists_renames_removes(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	assert_int_equal(stat_one(&fixture, "a"), HFKV_NOT_FOUND);
	expect_list(&fixture, "", "");
	assert_int_equal(publish_chunk(&fixture, "a", FULL_BYTES, 1, 0), HFKV_OK);
	assert_int_equal(publish_chunk(&fixture, "d/b", FULL_BYTES, 2, KV_CACHE_PUBLISH_STILL_WRITTEN), HFKV_OK);
	assert_int_equal(stat_one(&fixture, "a"), HFKV_OK);
	expect_list(&fixture, "", "a d/ ");
	expect_list(&fixture, "d", "b ");
	expect_read(&fixture, "a", FULL_BYTES, 1);
	assert_int_equal(counters_of(&fixture).downloads, 0);
	expect_read(&fixture, "d/b", FULL_BYTES, 2);
	assert_int_equal(counters_of(&fixture).downloads, 1);
	assert_int_equal(kv_cache_rename(fixture.cache, "a", "d/b", KV_CACHE_RENAME_NO_REPLACE, soon(), NULL),
			 HFKV_EXISTS);
	assert_int_equal(kv_cache_rename(fixture.cache, "none", "x", 0, soon(), NULL), HFKV_NOT_FOUND);
	assert_int_equal(kv_cache_rename(fixture.cache, "a", "d/c", KV_CACHE_RENAME_NO_REPLACE, soon(), NULL),
			 HFKV_OK);
	expect_list(&fixture, "", "d/ ");
	expect_list(&fixture, "d", "b c ");
	expect_read(&fixture, "d/c", FULL_BYTES, 1);
	struct object_stat gone[] = {
		{ .path = "d/c" }, { .path = "d/b" }, { .path = "d/b" }, { .path = "never" }
	};
	assert_int_equal(kv_cache_remove_many(fixture.cache, gone, 4, soon(), NULL), HFKV_OK);
	assert_int_equal(stat_one(&fixture, "d/c"), HFKV_NOT_FOUND);
	expect_list(&fixture, "d", "");
	expect_list(&fixture, "", "");
	assert_int_equal(kv_cache_sync(fixture.cache, NULL, soon(), NULL), HFKV_OK);
	fixture_close(&fixture);
}

static void wrong_sizes_are_refused_and_hidden(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	put_behind(&fixture, "p/small", 100, 3);
	put_behind(&fixture, "p/good", FULL_BYTES, 4);
	put_behind(&fixture, "p/empty", 0, 4);
	unsigned puts_before = fault_store_calls(fixture.store, FAULT_STORE_PUT);
	expect_list(&fixture, "", "good ");
	expect_list(&fixture, "", "good ");
	assert_int_equal(stat_one(&fixture, "small"), HFKV_NOT_FOUND);
	assert_int_equal(counters_of(&fixture).hidden_wrong_size, 2);
	assert_int_equal(publish_chunk(&fixture, "x", FULL_BYTES - 1, 1, 0), HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(publish_chunk(&fixture, "x", FULL_BYTES + 1, 1, 0), HFKV_OVERSIZE);
	uint8_t bytes[FULL_BYTES];
	fill_bytes(bytes, sizeof(bytes), 9);
	struct object_put puts[] = { { .path = "k1", .source = { bytes, -1, FULL_BYTES } },
				     { .path = "k2", .source = { bytes, -1, 10 } } };
	assert_int_equal(kv_cache_put_many(fixture.cache, puts, 2, soon(), NULL), HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(puts[0].status, HFKV_OK);
	assert_int_equal(puts[1].status, HFKV_PARTIAL_KV_CHUNK);
	assert_int_equal(fault_store_calls(fixture.store, FAULT_STORE_PUT), puts_before + 1);
	assert_int_equal(counters_of(&fixture).refused_partial, 2);
	assert_int_equal(counters_of(&fixture).refused_oversize, 1);
	/* Storing it again heals it. */
	assert_int_equal(publish_chunk(&fixture, "small", FULL_BYTES, 5, 0), HFKV_OK);
	expect_read(&fixture, "small", FULL_BYTES, 5);
	expect_list(&fixture, "", "good k1 small ");
	fixture_close(&fixture);
}

static void loads_many_in_order_with_misses(void **state)
{
	(void)state;
	enum { LOADS = 40 };
	struct cache_fixture fixture;
	fixture_open(&fixture, NULL);
	char names[LOADS][16];
	struct kv_cache_load loads[LOADS];
	uint8_t *memory = malloc(LOADS * FULL_BYTES), expected[FULL_BYTES];
	for (unsigned i = 0; i < LOADS; i++) {
		snprintf(names[i], sizeof(names[i]), "p/k%u", i);
		if (i % 4 != 3)
			put_behind(&fixture, names[i], FULL_BYTES, i);
		loads[i] = (struct kv_cache_load){ .path = names[i] + 2,
						   .into = memory + i * FULL_BYTES,
						   .length = FULL_BYTES };
	}
	loads[0].length = FULL_BYTES - 1;
	assert_int_equal(kv_cache_load_many(fixture.cache, loads, LOADS, soon(), NULL), HFKV_OK);
	for (unsigned i = 0; i < LOADS; i++) {
		assert_int_equal(loads[i].status, i % 4 == 3 || i == 0 ? HFKV_NOT_FOUND : HFKV_OK);
		fill_bytes(expected, FULL_BYTES, i);
		if (loads[i].status == HFKV_OK)
			assert_memory_equal(loads[i].into, expected, FULL_BYTES);
	}
	assert_int_equal(counters_of(&fixture).stat_calls_to_store, 1);
	assert_int_equal(counters_of(&fixture).downloads, 29);
	free(memory);
	fixture_close(&fixture);
}

static void adjust_plain(struct kv_cache_settings *settings)
{
	settings->spec = NULL;
	settings->prefix = "";
}

static void plain_layout_has_any_size(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, adjust_plain);
	put_behind(&fixture, "e", 0, 0);
	put_behind(&fixture, "a", 5, 1);
	put_behind(&fixture, "a/b", 7, 2);
	expect_read(&fixture, "e", 0, 0);
	expect_read(&fixture, "a", 5, 1);
	expect_read(&fixture, "a/b", 7, 2);
	expect_list(&fixture, "", "a a/ e ");
	assert_int_equal(publish_chunk(&fixture, "new", 0, 0, 0), HFKV_OK);
	expect_read(&fixture, "new", 0, 0);
	fixture_close(&fixture);
}

static void adjust_read_only(struct kv_cache_settings *settings)
{
	settings->read_only = true;
}

static void refuses_what_it_cannot_do(void **state)
{
	(void)state;
	struct cache_fixture fixture;
	fixture_open(&fixture, adjust_read_only);
	assert_int_equal(publish_chunk(&fixture, "a", FULL_BYTES, 1, 0), HFKV_FORBIDDEN);
	struct object_stat path = { .path = "a" };
	assert_int_equal(kv_cache_remove_many(fixture.cache, &path, 1, soon(), NULL), HFKV_FORBIDDEN);
	assert_int_equal(stat_one(&fixture, "a//b"), HFKV_INVALID);
	assert_int_equal(kv_cache_check_path(fixture.cache, ".."), HFKV_INVALID);
	char longest[OBJECT_PATH_MAX_BYTES + 1];
	memset(longest, 'x', sizeof(longest));
	longest[OBJECT_PATH_MAX_BYTES - 2] = '\0';
	assert_int_equal(kv_cache_check_path(fixture.cache, longest), HFKV_OK);
	longest[OBJECT_PATH_MAX_BYTES - 2] = 'x';
	longest[OBJECT_PATH_MAX_BYTES - 1] = '\0';
	assert_int_equal(kv_cache_check_path(fixture.cache, longest), HFKV_OVERSIZE);
	assert_int_equal(stat_one(&fixture, longest), HFKV_OVERSIZE);
	struct kv_cache *none = NULL;
	struct fault fault = FAULT_NONE;
	struct kv_cache_settings settings = kv_cache_settings_default();
	settings.commit = KV_CACHE_COMMIT_WRITEBACK;
	assert_int_equal(kv_cache_open(&settings, &none, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, "release"));
	settings = kv_cache_settings_default();
	settings.spec = fixture.spec;
	settings.staging_dir = fixture.place;
	settings.staging_bytes = FULL_BYTES - 1;
	assert_int_equal(kv_cache_open(&settings, &none, &fault), HFKV_INVALID);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_reads_lists_renames_removes),
		cmocka_unit_test(wrong_sizes_are_refused_and_hidden),
		cmocka_unit_test(loads_many_in_order_with_misses),
		cmocka_unit_test(plain_layout_has_any_size),
		cmocka_unit_test(refuses_what_it_cannot_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
