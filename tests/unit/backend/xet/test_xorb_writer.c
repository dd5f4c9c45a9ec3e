#include "backend/xet/chunk_codec.h"
#include "backend/xet/xorb_validator.h"
#include "backend/xet/xorb_writer.h"
#include "common/byte_buf.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <string.h>

static enum xorb_scheme scheme_named(const char *name)
{
	if (strcmp(name, "none") == 0)
		return XORB_SCHEME_NONE;
	return strcmp(name, "lz4") == 0 ? XORB_SCHEME_LZ4 : XORB_SCHEME_BG4_LZ4;
}

/* Adds a chunk to the writer and its record to the body. */
static void add_chunk(struct xorb_writer *writer, struct chunk_packer *packer, enum xorb_scheme scheme,
		      const struct bytes *chunk, struct byte_buf *body)
{
	struct xorb_record record;
	struct content_hash hash;
	struct fault fault = FAULT_NONE;
	const uint8_t *payload;
	uint8_t header[XORB_RECORD_HEADER_BYTES];
	uint32_t index;
	chunk_packer_pack_as(packer, scheme, chunk->data, (uint32_t)chunk->length, &record, &payload);
	merkle_hash_xet_chunk(chunk->data, chunk->length, &hash);
	assert_true(xorb_writer_fits(writer, record.raw_bytes));
	assert_int_equal(xorb_writer_add(writer, &hash, &record, &index, &fault), HFKV_OK);
	assert_int_equal(index + 1, xorb_writer_chunk_count(writer));
	xorb_record_write(&record, header);
	assert_true(byte_buf_append(body, header, sizeof(header)));
	assert_true(byte_buf_append(body, payload ? payload : chunk->data, record.payload_bytes));
	assert_int_equal(xorb_writer_body_bytes(writer), body->length);
}

static void check_round_trip(const json_t *one, struct xorb_writer *writer, struct chunk_packer *packer)
{
	struct byte_buf body = BYTE_BUF_INIT(1 << 24);
	struct xorb_listing wrote = { 0 }, read = { 0 };
	struct xorb_validator *validator = NULL;
	struct fault fault = FAULT_NONE;
	json_t *chunk;
	size_t i;
	json_array_foreach(json_object_get(one, "chunks"), i, chunk)
	{
		struct bytes raw = vectors_generate(json_object_get(chunk, "gen"));
		add_chunk(writer, packer, scheme_named(vectors_text(one, "requested_scheme")), &raw, &body);
		bytes_done(&raw);
	}
	xorb_writer_finish(writer, &wrote);
	vectors_expect_hash(&wrote.hash, vectors_text(one, "xorb_hash"));
	assert_int_equal(xorb_validator_new(&validator, &fault), HFKV_OK);
	assert_int_equal(xorb_validator_feed(validator, body.data, body.length, &fault), HFKV_OK);
	assert_int_equal(xorb_validator_finish(validator, &read, &fault), HFKV_OK);
	assert_int_equal(read.chunk_count, wrote.chunk_count);
	assert_int_equal(read.records_bytes, wrote.records_bytes);
	assert_memory_equal(read.chunks, wrote.chunks, read.chunk_count * sizeof(*read.chunks));
	xorb_validator_free(validator);
	xorb_listing_done(&wrote);
	xorb_listing_done(&read);
	byte_buf_done(&body);
}

static void what_is_written_reads_back_under_the_vectors_hash(void **state)
{
	(void)state;
	struct xorb_writer *writer = NULL;
	struct chunk_packer *packer = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(xorb_writer_new(&writer, &fault), HFKV_OK);
	assert_int_equal(chunk_packer_new(&packer, &fault), HFKV_OK);
	json_t *file = vectors_load("xorbs.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one) check_round_trip(one, writer, packer);
	assert_true(index > 3);
	json_decref(file);
	chunk_packer_free(packer);
	xorb_writer_free(writer);
}

/* Adds equal records until nothing fits. */
static uint32_t fill(struct xorb_writer *writer, uint32_t raw_bytes)
{
	struct content_hash hash = { .bytes = { 1 } };
	struct xorb_record record = { XORB_SCHEME_NONE, raw_bytes, raw_bytes };
	struct fault fault = FAULT_NONE;
	uint32_t index;
	while (xorb_writer_fits(writer, raw_bytes))
		assert_int_equal(xorb_writer_add(writer, &hash, &record, &index, &fault), HFKV_OK);
	return xorb_writer_chunk_count(writer);
}

static void a_full_xorb_stays_inside_both_limits(void **state)
{
	(void)state;
	struct xorb_writer *writer = NULL;
	struct xorb_listing listing;
	struct fault fault = FAULT_NONE;
	assert_int_equal(xorb_writer_new(&writer, &fault), HFKV_OK);
	assert_int_equal(fill(writer, XET_CHUNK_MAX_BYTES), 511); /* 512 would fit without their headers */
	assert_true(xorb_writer_body_bytes(writer) <= XORB_BODY_MAX_BYTES);
	xorb_writer_finish(writer, &listing);
	xorb_listing_done(&listing);
	assert_int_equal(fill(writer, 100), XORB_MAX_CHUNKS);
	xorb_writer_free(writer);
}

/* Each kind of data gets the scheme that suits it, and unpacks to itself. */
static void the_packer_chooses_by_the_data(void **state)
{
	(void)state;
	static const struct {
		const char *gen;
		enum xorb_scheme scheme;
	} cases[] = {
		{ "[{\"op\":\"splitmix64\",\"seed\":1,\"len\":100000}]", XORB_SCHEME_NONE },
		{ "[{\"op\":\"lines\",\"start\":1,\"len\":100000}]", XORB_SCHEME_LZ4 },
		{ "[{\"op\":\"f32ramp\",\"start\":100,\"len\":100000}]", XORB_SCHEME_BG4_LZ4 },
		{ "[{\"op\":\"repeat\",\"hex\":\"00\",\"len\":131072}]", XORB_SCHEME_LZ4 },
		{ "[{\"op\":\"repeat\",\"hex\":\"61\",\"len\":1}]", XORB_SCHEME_NONE },
	};
	struct chunk_packer *packer = NULL;
	struct chunk_unpacker *unpacker = NULL;
	struct fault fault = FAULT_NONE;
	static uint8_t out[XET_CHUNK_MAX_BYTES];
	assert_int_equal(chunk_packer_new(&packer, &fault), HFKV_OK);
	assert_int_equal(chunk_unpacker_new(&unpacker, &fault), HFKV_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *gen = json_loads(cases[i].gen, 0, NULL);
		struct bytes raw = vectors_generate(gen);
		struct xorb_record record;
		const uint8_t *payload;
		chunk_packer_start_source(packer);
		chunk_packer_pack(packer, raw.data, (uint32_t)raw.length, &record, &payload);
		assert_int_equal(record.scheme, cases[i].scheme);
		assert_int_equal(payload == NULL, record.scheme == XORB_SCHEME_NONE);
		if (!payload)
			payload = raw.data;
		assert_int_equal(chunk_unpacker_unpack(unpacker, &record, payload, out, &fault), HFKV_OK);
		assert_memory_equal(out, raw.data, raw.length);
		bytes_done(&raw);
		json_decref(gen);
	}
	chunk_unpacker_free(unpacker);
	chunk_packer_free(packer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back_under_the_vectors_hash),
		cmocka_unit_test(a_full_xorb_stays_inside_both_limits),
		cmocka_unit_test(the_packer_chooses_by_the_data),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
