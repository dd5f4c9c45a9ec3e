/* Recorded uploads through the two intakes, whole and spoiled, onto real stores. */
#include "tests/unit/backend/local_server/scratch_directory.h"

#include "backend/local_server/shard_intake.h"
#include "backend/local_server/xorb_intake.h"
#include "tests/unit/backend/vectors.h"

struct stores {
	struct catalog *catalog;
	struct blob_store *blobs;
};

static struct stores open_stores(void **state)
{
	struct stores stores = { NULL, NULL };
	assert_int_equal(catalog_open(*state, false, &stores.catalog, NULL), HFKV_OK);
	assert_int_equal(blob_store_open(*state, false, &stores.blobs, NULL), HFKV_OK);
	return stores;
}

static void close_stores(struct stores *stores)
{
	catalog_close(stores->catalog);
	blob_store_close(stores->blobs);
}

/* Takes `body` in pieces of `step` bytes under the name `hash`. */
static enum hfkv_status take_xorb(struct stores *stores, const struct bytes *body, size_t step, const char *hash)
{
	CLEANUP(xorb_intake_freep) struct xorb_intake *intake = NULL;
	struct content_hash name = vectors_parse_hash(hash);
	bool keep = catalog_xorb_exists(stores->catalog, &name, NULL) != HFKV_OK, inserted;
	assert_int_equal(xorb_intake_new(stores->blobs, keep, &intake, NULL), HFKV_OK);
	for (size_t at = 0; at < body->length; at += step)
		xorb_intake_feed(intake, body->data + at, body->length - at < step ? body->length - at : step);
	return xorb_intake_commit(intake, stores->catalog, &name, &inserted, NULL);
}

#define MIXED "7b056362d480ad987e5d27511424fff3b6007a04e4aa204e620806521e214220"

static void takes_a_xorb_in_any_pieces(void **state)
{
	CLEANUP(close_stores) struct stores stores = open_stores(state);
	CLEANUP(bytes_done) struct bytes body = vectors_read("captured/mixed.xorb_" MIXED ".bin");
	assert_int_equal(take_xorb(&stores, &body, 1, MIXED), HFKV_OK);
	assert_int_equal(take_xorb(&stores, &body, body.length, MIXED), HFKV_OK);
	struct content_hash name = vectors_parse_hash(MIXED);
	CLEANUP(blob_reader_freep) struct blob_reader *reader = NULL;
	assert_int_equal(blob_reader_open(stores.blobs, &name, &reader, NULL), HFKV_OK);
	assert_int_equal(blob_reader_bytes(reader), body.length);
	CLEANUP(free_pointer) uint8_t *kept = malloc(body.length);
	assert_int_equal(blob_reader_read(reader, 0, kept, body.length, NULL), HFKV_OK);
	assert_memory_equal(kept, body.data, body.length);
}

static void refuses_spoiled_bytes(void **state)
{
	CLEANUP(close_stores) struct stores stores = open_stores(state);
	CLEANUP(bytes_done) struct bytes body = vectors_read("xorb/none.upload.bin");
	const char *hash = "539e0b4266e6e85cd9ef5e4bf0378efabb797ef0e4bc03cf61f8d2e237edf5b2";
	struct content_hash name = vectors_parse_hash(hash);
	for (size_t at = 0; at < body.length; at += 61) { /* nothing is packed in it: every bit counts */
		body.data[at] ^= 0x10;
		enum hfkv_status status = take_xorb(&stores, &body, 4096, hash);
		body.data[at] ^= 0x10;
		assert_true(status == HFKV_CORRUPT || status == HFKV_OVERSIZE);
		assert_int_equal(catalog_xorb_exists(stores.catalog, &name, NULL), HFKV_NOT_FOUND);
	}
	assert_int_equal(take_xorb(&stores, &body, 4096, hash), HFKV_OK);
}

/* Whether a byte of the one-file shard may differ: words that the format reserves or leaves to the client. */
static bool is_open(size_t at)
{
	size_t record = at / 48, within = at % 48;
	switch (record) {
	case 1: return within >= 40;                                  /* file header: reserved */
	case 2: return within >= 32 && within < 36;                   /* term: flags */
	case 3: return within >= 32;                                  /* verification: reserved */
	case 5: return (within >= 32 && within < 36) || within >= 44; /* xorb header: flags, serialized length */
	case 6: return within >= 40;                                  /* chunk: flags, unused */
	case 4:
	case 7: return within >= 32; /* the zeros of a bookend */
	default: return false;
	}
}

static void proves_shards_against_xorbs(void **state)
{
	CLEANUP(close_stores) struct stores stores = open_stores(state);
	CLEANUP(bytes_done) struct bytes xorb = vectors_read("xorb/one_byte.upload.bin");
	CLEANUP(bytes_done) struct bytes shard = vectors_read("shard/upload_one_byte_file.bin");
	size_t inserted = 0, files = 0;
	assert_int_equal(shard_intake(stores.catalog, shard.data, shard.length, &inserted, &files, NULL),
			 HFKV_INVALID);
	assert_int_equal(
	    take_xorb(&stores, &xorb, 1000, "a4d4ed80fcb2fe5177fc59321d3e6f90faf23e35a48d58303114bf073f34178a"),
	    HFKV_OK);
	for (size_t at = 0; at < shard.length; at++) {
		shard.data[at] ^= 0x01;
		struct fault fault = FAULT_NONE;
		enum hfkv_status status =
		    shard_intake(stores.catalog, shard.data, shard.length, &inserted, &files, &fault);
		shard.data[at] ^= 0x01;
		if (!is_open(at)) {
			assert_int_equal(status, HFKV_INVALID);
			assert_true(fault.text[0]);
		}
	}
	assert_int_equal(shard_intake(stores.catalog, shard.data, shard.length, &inserted, &files, NULL), HFKV_OK);
	assert_int_equal(files, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(takes_a_xorb_in_any_pieces, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(refuses_spoiled_bytes, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(proves_shards_against_xorbs, scratch_make, scratch_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
