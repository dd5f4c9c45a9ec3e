#include "backend/xet/xorb_reader.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

#define OUT_MAX (1024 * 1024)

/* Decodes a stream into one buffer, in the way that `wish` says. */
struct collector {
	enum xorb_chunk_wish wish;
	uint8_t *out;
	size_t length;
	uint32_t taken;
	size_t ends[64];
	enum hfkv_status answer; /* what take returns */
};

static enum xorb_chunk_wish want(void *context, uint32_t index, uint32_t raw_bytes, uint8_t **ret_place)
{
	struct collector *to = context;
	(void)index;
	assert_true(to->length + raw_bytes <= OUT_MAX);
	if (to->wish == XORB_CHUNK_HERE)
		*ret_place = to->out + to->length;
	return to->wish;
}

static enum hfkv_status take(void *context, uint32_t index, const uint8_t *bytes, uint32_t raw_bytes,
			     struct fault *fault)
{
	struct collector *to = context;
	(void)fault;
	assert_int_equal(index, to->taken);
	if (to->wish == XORB_CHUNK_HERE)
		assert_ptr_equal(bytes, to->out + to->length);
	else
		memcpy(to->out + to->length, bytes, raw_bytes);
	to->length += raw_bytes;
	if (to->taken < 64)
		to->ends[to->taken] = to->length;
	to->taken++;
	return to->answer;
}

static const struct xorb_reader_calls calls = { want, take };

static enum hfkv_status decode(const struct bytes *body, size_t span_bytes, struct collector *to)
{
	struct fault fault = FAULT_NONE;
	struct xorb_reader *reader = NULL;
	to->length = to->taken = 0;
	assert_int_equal(xorb_reader_new(&calls, to, &reader, &fault), HFKV_OK);
	enum hfkv_status status = HFKV_OK;
	for (size_t at = 0; at < body->length && status == HFKV_OK; at += span_bytes) {
		size_t left = body->length - at, length = left < span_bytes ? left : span_bytes;
		uint8_t *span = malloc(length);
		memcpy(span, body->data + at, length);
		status = xorb_reader_feed(reader, span, length, &fault);
		free(span);
	}
	if (status == HFKV_OK)
		status = xorb_reader_finish(reader, &fault);
	if (status == HFKV_OK)
		assert_int_equal(xorb_reader_record_bytes(reader), body->length);
	else
		assert_int_equal(fault.status, status == to->answer ? HFKV_OK : status);
	xorb_reader_free(reader);
	return status;
}

static const size_t spans[] = { 1 << 20, 1, 7, 8, 9, 4096, 65543 };
static const enum xorb_chunk_wish wishes[] = { XORB_CHUNK_HERE, XORB_CHUNK_LEND };

static void check_body(const struct bytes *body, const struct bytes *want_bytes, struct collector *to)
{
	for (size_t s = 0; s < sizeof(spans) / sizeof(*spans); s++)
		for (size_t w = 0; w < 2; w++) {
			to->wish = wishes[w];
			memset(to->out, 0xa5, OUT_MAX);
			assert_int_equal(decode(body, spans[s], to), HFKV_OK);
			assert_int_equal(to->length, want_bytes->length);
			assert_memory_equal(to->out, want_bytes->data, want_bytes->length);
		}
}

static void setup(struct collector *to)
{
	*to = (struct collector){ .out = malloc(OUT_MAX) };
	assert_non_null(to->out);
}

static void bodies_of_the_vectors_decode(void **state)
{
	(void)state;
	struct collector to;
	setup(&to);
	json_t *file = vectors_load("xorbs.json"), *one, *chunk;
	size_t index, i;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes body = vectors_read(vectors_text(one, "upload_file"));
		struct bytes raw = { .data = malloc(OUT_MAX) };
		json_array_foreach(json_object_get(one, "chunks"), i, chunk)
		{
			struct bytes piece = vectors_generate(json_object_get(chunk, "gen"));
			memcpy(raw.data + raw.length, piece.data, piece.length);
			raw.length += piece.length;
			bytes_done(&piece);
		}
		check_body(&body, &raw, &to);
		bytes_done(&raw);
		bytes_done(&body);
	}
	assert_true(index > 3);
	json_decref(file);
	free(to.out);
}

/* A one-chunk body around an LZ4 frame. */
static struct bytes wrap_frame(const struct bytes *frame, uint32_t raw_bytes)
{
	struct bytes body = { .data = malloc(frame->length + 8), .length = frame->length + 8 };
	struct xorb_record record = { XORB_SCHEME_LZ4, (uint32_t)frame->length, raw_bytes };
	xorb_record_write(&record, body.data);
	memcpy(body.data + 8, frame->data, frame->length);
	return body;
}

static void every_kind_of_lz4_frame_decodes(void **state)
{
	(void)state;
	struct collector to;
	setup(&to);
	json_t *file = vectors_load("lz4_frames.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes frame = vectors_read(vectors_text(one, "file"));
		struct bytes raw = vectors_generate(json_object_get(one, "gen"));
		struct bytes body = wrap_frame(&frame, (uint32_t)raw.length);
		assert_true(json_is_true(json_object_get(one, "accepted_by_reference")));
		check_body(&body, &raw, &to);
		bytes_done(&frame);
		bytes_done(&raw);
		bytes_done(&body);
	}
	assert_true(index > 5);
	json_decref(file);
	free(to.out);
}

static void check_malformed(const json_t *one, struct collector *to)
{
	const char *name = vectors_text(one, "name");
	bool accepts = strcmp(vectors_text(one, "reference"), "accept") == 0;
	struct bytes body = vectors_from_hex(vectors_text(one, "hex"));
	/* The vectors' README allows and advises to reject this one. */
	if (strcmp(name, "lz4_truncated_frame") == 0)
		accepts = false;
	for (size_t s = 0; s < sizeof(spans) / sizeof(*spans); s++)
		for (size_t w = 0; w < 2; w++) {
			to->wish = wishes[w];
			enum hfkv_status status = decode(&body, spans[s], to);
			if (status != (accepts ? HFKV_OK : HFKV_CORRUPT))
				fail_msg("%s: %s", name, hfkv_status_name(status));
		}
	if (accepts) {
		struct bytes raw = vectors_from_hex(vectors_text(one, "data_hex"));
		assert_int_equal(to->length, raw.length);
		assert_memory_equal(to->out, raw.data, raw.length);
		assert_int_equal(to->taken + 1, json_array_size(json_object_get(one, "boundaries")));
		bytes_done(&raw);
	}
	bytes_done(&body);
}

static void malformed_bodies_get_a_status(void **state)
{
	(void)state;
	struct collector to;
	setup(&to);
	json_t *file = vectors_load("xorb_malformed.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one) check_malformed(one, &to);
	assert_true(index > 15);
	json_decref(file);
	free(to.out);
}

static void skipped_chunks_are_not_decoded(void **state)
{
	(void)state;
	struct collector to;
	setup(&to);
	to.wish = XORB_CHUNK_SKIP;
	struct bytes body = vectors_read("xorb/lz4.upload.bin");
	body.data[20] ^= 0xff; /* inside the first payload: only decoding would notice */
	assert_int_equal(decode(&body, 100, &to), HFKV_OK);
	assert_int_equal(to.taken, 0);
	bytes_done(&body);
	free(to.out);
}

static void a_refusal_of_the_taker_stops_the_reader(void **state)
{
	(void)state;
	struct collector to;
	setup(&to);
	to.wish = XORB_CHUNK_LEND;
	to.answer = HFKV_CANCELLED;
	struct bytes body = vectors_read("xorb/none.upload.bin");
	assert_int_equal(decode(&body, body.length, &to), HFKV_CANCELLED);
	assert_int_equal(to.taken, 1);
	bytes_done(&body);
	free(to.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_the_vectors_decode),
		cmocka_unit_test(every_kind_of_lz4_frame_decodes),
		cmocka_unit_test(malformed_bodies_get_a_status),
		cmocka_unit_test(skipped_chunks_are_not_decoded),
		cmocka_unit_test(a_refusal_of_the_taker_stops_the_reader),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
