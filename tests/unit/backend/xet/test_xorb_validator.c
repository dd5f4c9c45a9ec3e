#include "backend/xet/xorb_validator.h"
#include "backend/xet/xet_limits.h"
#include "backend/xet/xorb_footer.h"
#include "backend/xet/xorb_record.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

static enum hfkv_status validate(const uint8_t *body, size_t length, size_t span_bytes,
				 struct xorb_listing *ret_listing)
{
	struct xorb_validator *validator = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(xorb_validator_new(&validator, &fault), HFKV_OK);
	enum hfkv_status status = HFKV_OK;
	for (size_t at = 0; at < length && status == HFKV_OK; at += span_bytes) {
		size_t part = length - at < span_bytes ? length - at : span_bytes;
		status = xorb_validator_feed(validator, body + at, part, &fault);
	}
	if (status == HFKV_OK)
		status = xorb_validator_finish(validator, ret_listing, &fault);
	if (status != HFKV_OK)
		assert_string_not_equal(fault.text, "");
	xorb_validator_free(validator);
	return status;
}

static void check_listing(const json_t *one, const struct xorb_listing *listing)
{
	const json_t *chunks = json_object_get(one, "chunks");
	vectors_expect_hash(&listing->hash, vectors_text(one, "xorb_hash"));
	assert_int_equal(listing->chunk_count, json_array_size(chunks));
	assert_int_equal(listing->raw_bytes, vectors_number(one, "raw_bytes"));
	assert_int_equal(listing->records_bytes, vectors_number(one, "upload_len"));
	for (uint32_t i = 0; i < listing->chunk_count; i++) {
		const json_t *chunk = json_array_get(chunks, i);
		vectors_expect_hash(&listing->chunks[i].hash, vectors_text(chunk, "hash"));
		assert_int_equal(xorb_listing_record_start(listing, i), vectors_number(chunk, "offset"));
		assert_int_equal(listing->chunks[i].record_end, vectors_number(chunk, "end"));
		assert_int_equal(xorb_listing_raw_bytes(listing, i), vectors_number(chunk, "len"));
	}
}

static void bodies_of_the_vectors_are_listed(void **state)
{
	(void)state;
	static const char *const forms[] = { "upload_file", "footer_file" };
	static const size_t spans[] = { 1, 100, 1 << 20 };
	json_t *file = vectors_load("xorbs.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one) for (size_t form = 0; form < 2;
									    form++) for (size_t s = 0; s < 3; s++)
	{
		struct bytes body = vectors_read(vectors_text(one, forms[form]));
		struct xorb_listing listing = { 0 };
		assert_int_equal(validate(body.data, body.length, spans[s], &listing), HFKV_OK);
		check_listing(one, &listing);
		xorb_listing_done(&listing);
		bytes_done(&body);
	}
	json_decref(file);
}

static void footers_are_written_as_in_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("xorbs.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes body = vectors_read(vectors_text(one, "footer_file"));
		size_t records = vectors_number(one, "footer_start");
		struct xorb_listing listing = { 0 }, again = { 0 };
		struct byte_buf footer = BYTE_BUF_INIT(1 << 20);
		struct fault fault = FAULT_NONE;
		assert_int_equal(validate(body.data, body.length, 4096, &listing), HFKV_OK);
		assert_int_equal(xorb_footer_write(&listing, &footer, &fault), HFKV_OK);
		assert_int_equal(footer.length, body.length - records);
		assert_memory_equal(footer.data, body.data + records, footer.length);
		assert_int_equal(xorb_footer_read(body.data + records, footer.length, &again, &fault), HFKV_OK);
		check_listing(one, &again);
		xorb_listing_done(&listing);
		xorb_listing_done(&again);
		byte_buf_done(&footer);
		bytes_done(&body);
	}
	json_decref(file);
}

static void captured_uploads_are_listed(void **state)
{
	(void)state;
	json_t *file = vectors_load("captured.json"), *upload, *one;
	size_t index, i;
	json_array_foreach(json_object_get(file, "uploads"), index, upload)
	    json_array_foreach(json_object_get(upload, "xorbs"), i, one)
	{
		struct bytes body = vectors_read(vectors_text(one, "file"));
		struct xorb_listing listing = { 0 };
		assert_int_equal(validate(body.data, body.length, 1000, &listing), HFKV_OK);
		vectors_expect_hash(&listing.hash, vectors_text(one, "hash"));
		xorb_listing_done(&listing);
		bytes_done(&body);
	}
	assert_true(index > 1);
	json_decref(file);
}

/* Cut off anywhere but between records, or with any byte of the footer changed, a body is refused. */
static void damaged_bodies_are_refused(void **state)
{
	(void)state;
	struct bytes body = vectors_read("xorb/one_byte.footer.bin");
	struct xorb_listing listing = { 0 };
	size_t records = 9;
	for (size_t length = 0; length < body.length; length++) {
		if (length == records)
			continue;
		assert_int_equal(validate(body.data, length, 64, &listing), HFKV_CORRUPT);
	}
	for (size_t at = records; at < body.length; at++) {
		bool is_ignored = at >= body.length - 4 - 16 && at < body.length - 4;
		body.data[at] ^= 0x10;
		enum hfkv_status status = validate(body.data, body.length, 64, &listing);
		assert_int_equal(status, is_ignored ? HFKV_OK : HFKV_CORRUPT);
		if (status == HFKV_OK)
			xorb_listing_done(&listing);
		body.data[at] ^= 0x10;
	}
	bytes_done(&body);
}

/* A stream of equal raw chunks, without a buffer for all of it. */
static enum hfkv_status validate_many(uint32_t chunk_bytes, uint32_t count)
{
	struct xorb_validator *validator = NULL;
	struct xorb_listing listing = { 0 };
	struct fault fault = FAULT_NONE;
	uint8_t *record = calloc(1, chunk_bytes + 8);
	struct xorb_record header = { XORB_SCHEME_NONE, chunk_bytes, chunk_bytes };
	xorb_record_write(&header, record);
	assert_int_equal(xorb_validator_new(&validator, &fault), HFKV_OK);
	enum hfkv_status status = HFKV_OK;
	for (uint32_t i = 0; i < count && status == HFKV_OK; i++)
		status = xorb_validator_feed(validator, record, chunk_bytes + 8, &fault);
	if (status == HFKV_OK)
		status = xorb_validator_finish(validator, &listing, &fault);
	if (status == HFKV_OK)
		assert_int_equal(listing.chunk_count, count);
	xorb_listing_done(&listing);
	xorb_validator_free(validator);
	free(record);
	return status;
}

static void limits_are_those_of_real_clients(void **state)
{
	(void)state;
	/* 512 whole chunks are 64 MiB: hf_xet sends that, 4 KiB of headers above it. */
	assert_int_equal(validate_many(XET_CHUNK_MAX_BYTES, 512), HFKV_OK);
	assert_int_equal(validate_many(XET_CHUNK_MAX_BYTES, 513), HFKV_OVERSIZE);
	assert_int_equal(validate_many(1, XORB_ACCEPTED_CHUNKS), HFKV_OK);
	assert_int_equal(validate_many(1, XORB_ACCEPTED_CHUNKS + 1), HFKV_OVERSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_the_vectors_are_listed),
		cmocka_unit_test(footers_are_written_as_in_the_vectors),
		cmocka_unit_test(captured_uploads_are_listed),
		cmocka_unit_test(damaged_bodies_are_refused),
		cmocka_unit_test(limits_are_those_of_real_clients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
