#include "tests/unit/backend/local_server/scratch_directory.h"

#include "backend/local_server/catalog.h"

static struct content_hash hash_of(uint8_t byte)
{
	struct content_hash hash;
	memset(hash.bytes, byte, sizeof(hash.bytes));
	return hash;
}

static struct catalog *open_catalog(void **state)
{
	struct catalog *catalog = NULL;
	assert_int_equal(catalog_open(*state, false, &catalog, NULL), HFKV_OK);
	return catalog;
}

static struct catalog_bucket make_bucket(struct catalog *catalog, const char *name)
{
	struct catalog_bucket bucket;
	assert_int_equal(catalog_bucket_create(catalog, "o", name, true, &bucket, NULL), HFKV_OK);
	return bucket;
}

static void add_file(struct catalog *catalog, uint8_t byte, uint64_t size)
{
	struct catalog_term term = { .xorb = hash_of(0xee), .end_xet_chunk = 1, .raw_bytes = (uint32_t)size };
	struct catalog_file file = { .hash = hash_of(byte), .size_bytes = size, .term_count = 1, .terms = &term };
	size_t inserted = 0;
	assert_int_equal(catalog_files_add(catalog, &file, 1, &inserted, NULL), HFKV_OK);
	assert_int_equal(inserted, 1);
}

static enum hfkv_status add(struct catalog *catalog, int64_t bucket, const char *path, uint8_t byte)
{
	struct catalog_change change = {
		.kind = CATALOG_ADD, .path = path, .hash = hash_of(byte), .modified_at_ms = -1
	};
	assert_int_equal(catalog_objects_change(catalog, bucket, &change, 1, NULL), HFKV_OK);
	return change.status;
}

static void buckets_live_and_die(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	struct catalog_bucket first = make_bucket(catalog, "b"), again, found;
	assert_int_equal(catalog_bucket_create(catalog, "o", "b", false, &again, NULL), HFKV_EXISTS);
	assert_true(again.id == first.id && again.is_private);
	assert_int_equal(catalog_bucket_set_private(catalog, first.id, false, NULL), HFKV_OK);
	assert_int_equal(catalog_bucket_find(catalog, "o", "b", &found, NULL), HFKV_OK);
	assert_true(!found.is_private && found.updated_at_ms > first.updated_at_ms);
	make_bucket(catalog, "c");
	assert_int_equal(catalog_bucket_rename(catalog, first.id, "o", "c", NULL), HFKV_EXISTS);
	assert_int_equal(catalog_bucket_rename(catalog, first.id, "p", "c", NULL), HFKV_OK);
	assert_int_equal(catalog_bucket_find(catalog, "o", "b", &found, NULL), HFKV_NOT_FOUND);
	assert_int_equal(catalog_bucket_delete(catalog, first.id, NULL), HFKV_OK);
	assert_int_equal(catalog_bucket_delete(catalog, first.id, NULL), HFKV_NOT_FOUND);
	assert_int_equal(catalog_bucket_find_id(catalog, first.id, &found, NULL), HFKV_NOT_FOUND);
	assert_true(make_bucket(catalog, "b").id != first.id);
}

static void changes_keep_the_sums(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	int64_t id = make_bucket(catalog, "b").id;
	struct catalog_bucket bucket;
	add_file(catalog, 1, 100);
	add_file(catalog, 2, 7);
	assert_int_equal(add(catalog, id, "x", 1), HFKV_OK);
	assert_int_equal(add(catalog, id, "x", 1), HFKV_OK);
	assert_int_equal(add(catalog, id, "y", 0), HFKV_OK);
	assert_int_equal(add(catalog, id, "z", 3), HFKV_NOT_FOUND);
	struct catalog_change changes[] = {
		{ .kind = CATALOG_ADD, .path = "x", .hash = hash_of(2), .modified_at_ms = 5 },
		{ .kind = CATALOG_DELETE, .path = "never" },
		{ .kind = CATALOG_DELETE, .path = "y" },
		{ .kind = CATALOG_DELETE, .path = "x", .status = HFKV_INVALID },
	};
	assert_int_equal(catalog_objects_change(catalog, id, changes, 4, NULL), HFKV_OK);
	assert_int_equal(changes[3].status, HFKV_INVALID);
	assert_int_equal(catalog_bucket_find_id(catalog, id, &bucket, NULL), HFKV_OK);
	assert_int_equal(bucket.size_bytes, 7);
	assert_int_equal(bucket.file_count, 1);
	assert_int_equal(catalog_objects_change(catalog, id + 1, changes, 4, NULL), HFKV_NOT_FOUND);
}

static enum catalog_scan_next note_path(void *context, const struct catalog_object *object, char *skip_to,
					size_t *skip_bytes)
{
	strcat(context, object->path);
	strcat(context, " ");
	if (strcmp(object->path, "b/1") == 0) {
		memcpy(skip_to, "b0", 2);
		*skip_bytes = 2;
		return CATALOG_SCAN_SKIP;
	}
	return strcmp(object->path, "d") == 0 ? CATALOG_SCAN_STOP : CATALOG_SCAN_ON;
}

static void expect_scan(struct catalog *catalog, int64_t bucket, const char *from, const char *prefix,
			const char *want)
{
	char got[200] = "";
	struct catalog_scan scan = {
		.from = from, .from_bytes = strlen(from), .prefix = prefix, .visit = note_path, .context = got
	};
	assert_int_equal(catalog_objects_scan(catalog, bucket, &scan, NULL), HFKV_OK);
	assert_string_equal(got, want);
}

static void scans_skip_and_stop_in_byte_order(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	int64_t id = make_bucket(catalog, "b").id, other = make_bucket(catalog, "c").id;
	const char *names[] = { "\xc3\xa9", "e", "d", "c", "b0", "b/2", "b/1", "a", "B" };
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_int_equal(add(catalog, id, names[i], 0), HFKV_OK);
	assert_int_equal(add(catalog, other, "bb", 0), HFKV_OK);
	expect_scan(catalog, id, "", "", "B a b/1 b0 c d ");
	expect_scan(catalog, id, "c", "", "c d ");
	expect_scan(catalog, id, "a", "b", "b/1 b0 ");
	expect_scan(catalog, id, "bz", "b", "");
	expect_scan(catalog, id, "", "\xc3", "\xc3\xa9 ");
	expect_scan(catalog, id + 100, "", "", "");
}

static void count_found(void *context, size_t index, const struct catalog_object *object)
{
	(void)object;
	*(size_t *)context += (size_t)1 << index;
}

static void content_comes_back_as_it_went(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	struct xorb_listing_chunk chunks[] = { { hash_of(1), 10, 18 }, { hash_of(2), 30, 46 } };
	struct xorb_listing xorb = { .hash = hash_of(9), .chunk_count = 2, .chunks = chunks };
	bool inserted = false;
	assert_int_equal(catalog_xorb_exists(catalog, &xorb.hash, NULL), HFKV_NOT_FOUND);
	assert_int_equal(catalog_xorb_add(catalog, &xorb, &inserted, NULL), HFKV_OK);
	assert_true(inserted);
	assert_int_equal(catalog_xorb_add(catalog, &xorb, &inserted, NULL), HFKV_OK);
	assert_false(inserted);
	CLEANUP(xorb_listing_done) struct xorb_listing found = { 0 };
	assert_int_equal(catalog_xorb_find(catalog, &xorb.hash, &found, NULL), HFKV_OK);
	assert_int_equal(found.raw_bytes, 30);
	assert_int_equal(found.records_bytes, 46);
	assert_memory_equal(found.chunks, chunks, sizeof(chunks));
	add_file(catalog, 1, 30);
	CLEANUP(catalog_file_done) struct catalog_file file = { 0 };
	struct content_hash hash = hash_of(1), unknown = hash_of(77);
	assert_int_equal(catalog_file_find(catalog, &hash, &file, NULL), HFKV_OK);
	assert_true(file.size_bytes == 30 && file.term_count == 1 && file.terms[0].raw_bytes == 30);
	assert_int_equal(catalog_file_find(catalog, &unknown, &file, NULL), HFKV_NOT_FOUND);
}

static void everything_outlives_the_process(void **state)
{
	struct catalog *catalog = open_catalog(state);
	int64_t id = make_bucket(catalog, "b").id;
	assert_int_equal(add(catalog, id, "x", 0), HFKV_OK);
	catalog_close(catalog);
	CLEANUP(catalog_closep) struct catalog *again = open_catalog(state);
	const char *paths[] = { "w", "x" };
	size_t found = 0;
	struct catalog_look_up look_up = { .paths = paths, .count = 2, .visit = count_found, .context = &found };
	assert_int_equal(catalog_objects_find(again, id, &look_up, NULL), HFKV_OK);
	assert_int_equal(found, 2);
}

/* ---- many threads ---- */

#define WRITERS 4
#define ROUNDS  50

struct writer {
	struct catalog *catalog;
	int64_t bucket;
	unsigned number;
};

static void *write_and_look(void *context)
{
	const struct writer *writer = context;
	for (unsigned round = 0; round < ROUNDS; round++) {
		char path[32];
		const char *paths[] = { path };
		size_t found = 0;
		snprintf(path, sizeof(path), "%u/%u", writer->number, round);
		assert_int_equal(add(writer->catalog, writer->bucket, path, 0), HFKV_OK);
		struct catalog_look_up look_up = {
			.paths = paths, .count = 1, .visit = count_found, .context = &found
		};
		assert_int_equal(catalog_objects_find(writer->catalog, writer->bucket, &look_up, NULL), HFKV_OK);
		assert_int_equal(found, 1);
	}
	return NULL;
}

static void threads_see_what_is_done(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	int64_t id = make_bucket(catalog, "b").id;
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ catalog, id, i };
		assert_int_equal(pthread_create(&threads[i], NULL, write_and_look, &writers[i]), 0);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	struct catalog_bucket bucket;
	assert_int_equal(catalog_bucket_find_id(catalog, id, &bucket, NULL), HFKV_OK);
	assert_int_equal(bucket.file_count, WRITERS * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(buckets_live_and_die, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(changes_keep_the_sums, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(scans_skip_and_stop_in_byte_order, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(content_comes_back_as_it_went, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(everything_outlives_the_process, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(threads_see_what_is_done, scratch_make, scratch_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
