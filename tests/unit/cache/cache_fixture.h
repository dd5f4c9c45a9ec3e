/*
 * A kv_cache on a memory store behind a fault store, with staging of its own under /dev/shm.
 */
#ifndef TESTS_UNIT_CACHE_CACHE_FIXTURE_H
#define TESTS_UNIT_CACHE_CACHE_FIXTURE_H

#include "tests/unit/cmocka_prelude.h"

#include "backend/store/fault_store.h"
#include "backend/store/memory_store.h"
#include "cache/kv_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FULL_BYTES 8192

struct cache_fixture {
	struct object_store *store; /* a fault_store over a memory_store */
	struct kv_chunk_spec *spec;
	struct kv_cache *cache;
	char place[64];
};

/* Starts from the defaults: full size FULL_BYTES, prefix "p". `adjust` may change the settings; NULL: as they are.
 */
static inline void fixture_open(struct cache_fixture *fixture, void (*adjust)(struct kv_cache_settings *settings))
{
	struct object_store *memory;
	snprintf(fixture->place, sizeof(fixture->place), "/dev/shm/hfkv-unit-XXXXXX");
	assert_non_null(mkdtemp(fixture->place));
	assert_int_equal(memory_store_new(&memory, NULL), HFKV_OK);
	assert_int_equal(fault_store_new(memory, &fixture->store, NULL), HFKV_OK);
	assert_int_equal(kv_chunk_spec_new(FULL_BYTES, 0, &fixture->spec, NULL), HFKV_OK);
	struct kv_cache_settings settings = kv_cache_settings_default();
	settings.store = fixture->store;
	settings.spec = fixture->spec;
	settings.prefix = "p";
	settings.staging_dir = fixture->place;
	settings.staging_bytes = 64 * FULL_BYTES;
	if (adjust)
		adjust(&settings);
	struct fault fault = FAULT_NONE;
	if (kv_cache_open(&settings, &fixture->cache, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
}

static inline void fixture_close(struct cache_fixture *fixture)
{
	size_t abandoned = 1;
	kv_cache_close(fixture->cache, deadline_after_ms(5000), &abandoned);
	assert_int_equal(abandoned, 0);
	kv_chunk_spec_free(fixture->spec);
	object_store_free(fixture->store);
	assert_int_equal(rmdir(fixture->place), 0); /* the private directory is gone */
}

/* Bytes that differ for every seed, and from place to place. */
static inline void fill_bytes(uint8_t *bytes, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(seed * 131 + i * 7 + (i >> 8));
}

/* Puts an object into the bucket behind the cache's back. `path` is from the bucket's root. */
static inline void put_behind(struct cache_fixture *fixture, const char *path, size_t length, unsigned seed)
{
	uint8_t *bytes = malloc(length + 1);
	fill_bytes(bytes, length, seed);
	struct object_put put = { .path = path, .source = { .memory = bytes, .fd = -1, .size_bytes = length } };
	assert_int_equal(object_store_put_many(fixture->store, &put, 1, NULL, NULL, DEADLINE_NONE, NULL), HFKV_OK);
	free(bytes);
}

/* Stores a full-size KV chunk through the cache, by a body. */
static inline enum hfkv_status publish_chunk(struct cache_fixture *fixture, const char *path, size_t length,
					     unsigned seed, int flags)
{
	uint8_t *bytes = malloc(length + 1);
	fill_bytes(bytes, length, seed);
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	assert_int_equal(kv_cache_new_body(fixture->cache, length, &body, NULL), HFKV_OK);
	assert_int_equal(pwrite(staged_file_fd(body), bytes, length, 0), length);
	free(bytes);
	return kv_cache_publish(fixture->cache, body, path, flags, deadline_after_ms(5000), NULL, NULL);
}

/* Reads `path` through a staged file and compares. */
static inline void expect_read(struct cache_fixture *fixture, const char *path, size_t length, unsigned seed)
{
	CLEANUP(staged_file_unrefp) struct staged_file *file = NULL;
	CLEANUP(free_pointer) uint8_t *expected = malloc(length + 1), *got = malloc(length + 1);
	fill_bytes(expected, length, seed);
	struct fault fault = FAULT_NONE;
	struct object_info info;
	enum hfkv_status status =
	    kv_cache_open_reader(fixture->cache, path, deadline_after_ms(5000), &file, &info, &fault);
	if (status != HFKV_OK)
		fail_msg("'%s': %s", path, fault_text(&fault, status));
	assert_int_equal(info.size_bytes, length);
	assert_int_equal(pread(staged_file_fd(file), got, length + 1, 0), length);
	assert_memory_equal(got, expected, length);
}

/* The status of one name. */
static inline enum hfkv_status stat_one(struct cache_fixture *fixture, const char *path)
{
	struct kv_cache_question question = { .path = path };
	enum hfkv_status status = kv_cache_stat_many(fixture->cache, &question, 1, deadline_after_ms(5000), NULL);
	return status == HFKV_OK ? question.status : status;
}

static inline struct kv_cache_counters counters_of(struct cache_fixture *fixture)
{
	struct kv_cache_counters counters;
	kv_cache_counters_read(fixture->cache, &counters);
	return counters;
}

#endif
