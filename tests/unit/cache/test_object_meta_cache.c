#include "tests/unit/cmocka_prelude.h"

#include "cache/object_meta_cache.h"

#include <stdio.h>

#define FULL_BYTES 100

struct fixture {
	struct kv_chunk_spec *spec;
	struct kv_chunk_check check;
	struct object_meta_cache *cache;
};

static void open_cache(struct fixture *fixture, size_t entries_max)
{
	assert_int_equal(kv_chunk_spec_new(FULL_BYTES, 0, &fixture->spec, NULL), HFKV_OK);
	fixture->check = (struct kv_chunk_check){ .spec = fixture->spec };
	struct object_meta_settings settings = { entries_max, 30000, 2000, &fixture->check };
	assert_int_equal(object_meta_cache_new(&settings, &fixture->cache), HFKV_OK);
}

static void close_cache(struct fixture *fixture)
{
	object_meta_cache_free(fixture->cache);
	kv_chunk_spec_free(fixture->spec);
}

static struct object_info info_of(uint64_t size_bytes, uint8_t mark)
{
	return (struct object_info){ .size_bytes = size_bytes, .hash = { { mark } } };
}

static enum hfkv_status learn(struct fixture *fixture, const char *path, const struct object_info *info)
{
	return object_meta_cache_learn(fixture->cache, path, info, object_meta_cache_generation(fixture->cache))
	    .status;
}

static void presence_outlives_absence(void **state)
{
	(void)state;
	struct fixture fixture;
	struct object_meta meta;
	open_cache(&fixture, 100);
	struct object_info info = info_of(FULL_BYTES, 7);
	assert_false(object_meta_cache_get(fixture.cache, "a", &meta));
	assert_int_equal(learn(&fixture, "a", &info), HFKV_OK);
	assert_int_equal(learn(&fixture, "b", NULL), HFKV_NOT_FOUND);
	assert_true(object_meta_cache_get(fixture.cache, "a", &meta));
	assert_int_equal(meta.info.hash.bytes[0], 7);
	assert_true(object_meta_cache_get(fixture.cache, "b", &meta));
	assert_int_equal(meta.status, HFKV_NOT_FOUND);
	clock_advance_for_tests(2001);
	assert_false(object_meta_cache_get(fixture.cache, "b", &meta));
	assert_true(object_meta_cache_get(fixture.cache, "a", &meta));
	clock_advance_for_tests(28000);
	assert_false(object_meta_cache_get(fixture.cache, "a", &meta));
	close_cache(&fixture);
}

static void an_older_answer_never_undoes_an_own_write(void **state)
{
	(void)state;
	struct fixture fixture;
	struct object_meta meta;
	open_cache(&fixture, 100);
	struct object_info old = info_of(FULL_BYTES, 1), own = info_of(FULL_BYTES, 2),
			   new = info_of(FULL_BYTES, 3);
	uint64_t asked = object_meta_cache_generation(fixture.cache);
	object_meta_cache_wrote(fixture.cache, "a", &own);
	assert_int_equal(object_meta_cache_learn(fixture.cache, "a", NULL, asked).status, HFKV_OK);
	assert_int_equal(object_meta_cache_learn(fixture.cache, "a", &old, asked).info.hash.bytes[0], 2);
	object_meta_cache_removed(fixture.cache, "a");
	assert_int_equal(object_meta_cache_learn(fixture.cache, "a", &old, asked).status, HFKV_NOT_FOUND);
	/* Asked after the write, an answer counts. */
	assert_int_equal(learn(&fixture, "a", &new), HFKV_OK);
	assert_true(object_meta_cache_get(fixture.cache, "a", &meta));
	assert_int_equal(meta.info.hash.bytes[0], 3);
	/* A write with unknown outcome: the older answer is passed on, and not kept. */
	asked = object_meta_cache_generation(fixture.cache);
	object_meta_cache_forget(fixture.cache, "a");
	assert_int_equal(object_meta_cache_learn(fixture.cache, "a", NULL, asked).status, HFKV_NOT_FOUND);
	assert_false(object_meta_cache_get(fixture.cache, "a", &meta));
	close_cache(&fixture);
}

static void wrong_sizes_are_absent_and_named_once(void **state)
{
	(void)state;
	struct fixture fixture;
	open_cache(&fixture, 100);
	struct object_info small = info_of(FULL_BYTES - 1, 1), empty = info_of(0, 0),
			   full = info_of(FULL_BYTES, 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(learn(&fixture, "a", &small), HFKV_NOT_FOUND);
		assert_int_equal(learn(&fixture, "b", &empty), HFKV_NOT_FOUND);
		clock_advance_for_tests(3000);
	}
	assert_int_equal(fixture.check.hidden_wrong_size, 2);
	object_meta_cache_wrote(fixture.cache, "a", &full);
	struct object_meta meta;
	assert_true(object_meta_cache_get(fixture.cache, "a", &meta));
	assert_int_equal(meta.status, HFKV_OK);
	close_cache(&fixture);
}

static void keeps_the_recently_used(void **state)
{
	(void)state;
	enum { MAX = 50 };
	struct fixture fixture;
	struct object_meta meta;
	open_cache(&fixture, MAX);
	char path[16];
	for (int i = 0; i < 10 * MAX; i++) {
		snprintf(path, sizeof(path), "k%d", i);
		assert_int_equal(learn(&fixture, path, NULL), HFKV_NOT_FOUND);
		if (i > 0)
			assert_true(object_meta_cache_get(fixture.cache, "k0", &meta));
	}
	assert_int_equal(object_meta_cache_count(fixture.cache), MAX);
	assert_false(object_meta_cache_get(fixture.cache, "k1", &meta));
	assert_true(object_meta_cache_get(fixture.cache, path, &meta));
	close_cache(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presence_outlives_absence),
		cmocka_unit_test(an_older_answer_never_undoes_an_own_write),
		cmocka_unit_test(wrong_sizes_are_absent_and_named_once),
		cmocka_unit_test(keeps_the_recently_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
