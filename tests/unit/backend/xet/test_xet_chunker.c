#include "backend/xet/merkle_hash.h"
#include "backend/xet/xet_chunker.h"
#include "backend/xet/xet_gear.h"
#include "backend/xet/xet_limits.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 1024

/* Where the stream is cut when it comes in spans of `span_bytes`. */
struct cuts {
	size_t lengths[PIECES_MAX];
	size_t count;
};

static void cut(const struct bytes *input, size_t span_bytes, struct cuts *ret_cuts)
{
	struct xet_chunker chunker = XET_CHUNKER_INIT;
	size_t open = 0;
	ret_cuts->count = 0;
	for (size_t at = 0; at < input->length;) {
		size_t left = input->length - at, length = left < span_bytes ? left : span_bytes;
		bool ended = false;
		/* A copy of exactly this span, so that a sanitizer sees any step out of it. */
		uint8_t *span = malloc(length);
		memcpy(span, input->data + at, length);
		size_t used = xet_chunker_next(&chunker, span, length, &ended);
		free(span);
		assert_in_range(used, 1, length);
		at += used;
		open += used;
		if (ended) {
			assert_true(ret_cuts->count < PIECES_MAX);
			ret_cuts->lengths[ret_cuts->count++] = open;
			open = 0;
		}
	}
	assert_int_equal(chunker.length_bytes, open);
	if (open > 0)
		ret_cuts->lengths[ret_cuts->count++] = open;
}

static void gear_table_follows_the_vectors(void **state)
{
	(void)state;
	struct bytes table = vectors_read("gear_table.u64le.bin");
	assert_int_equal(table.length, 2048);
	for (size_t i = 0; i < 256; i++) {
		uint64_t word = 0;
		for (size_t b = 0; b < 8; b++)
			word |= (uint64_t)table.data[8 * i + b] << (8 * b);
		assert_true(word == xet_gear_table[i]);
	}
	bytes_done(&table);
}

static void check_cuts(const json_t *one, const struct bytes *input, size_t span_bytes)
{
	const json_t *chunks = json_object_get(one, "chunks");
	static struct cuts cuts;
	cut(input, span_bytes, &cuts);
	assert_int_equal(cuts.count, json_array_size(chunks));
	for (size_t i = 0; i < cuts.count; i++)
		assert_int_equal(cuts.lengths[i],
				 json_integer_value(json_array_get(json_array_get(chunks, i), 0)));
}

static void cuts_follow_the_vectors_for_every_span_size(void **state)
{
	(void)state;
	static const size_t spans[] = { SIZE_MAX, 8127, 65537, 700001, 1000, 8191 };
	json_t *file = vectors_load("chunking.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes input = vectors_generate(json_object_get(one, "gen"));
		assert_int_equal(input.length, vectors_number(one, "len"));
		for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
			check_cuts(one, &input, spans[i]);
		if (input.length < 300000)
			check_cuts(one, &input, 1);
		bytes_done(&input);
	}
	assert_true(index > 50);
	json_decref(file);
}

static void check_hashes(const json_t *one, const struct bytes *input)
{
	const json_t *chunks = json_object_get(one, "chunks"), *range;
	size_t count = json_array_size(chunks), at = 0, index;
	struct content_hash *hashes = calloc(count + 1, sizeof(*hashes)), root, hash;
	struct merkle_root builder;
	struct range_hash range_hash;
	merkle_root_init(&builder);
	range_hash_init(&range_hash);
	for (size_t i = 0; i < count; i++) {
		const json_t *chunk = json_array_get(chunks, i);
		size_t length = (size_t)json_integer_value(json_array_get(chunk, 0));
		merkle_hash_xet_chunk(input->data + at, length, &hashes[i]);
		vectors_expect_hash(&hashes[i], json_string_value(json_array_get(chunk, 1)));
		merkle_root_add(&builder, &hashes[i], length);
		range_hash_add(&range_hash, &hashes[i]);
		at += length;
	}
	merkle_root_finish(&builder, &root);
	vectors_expect_hash(&root, vectors_text(one, "xorb_hash"));
	merkle_hash_file(count > 0 ? &root : NULL, &hash);
	vectors_expect_hash(&hash, vectors_text(one, "file_hash"));
	range_hash_finish(&range_hash, &hash);
	vectors_expect_hash(&hash, vectors_text(one, "range_hash_all"));
	json_array_foreach(json_object_get(one, "range_hashes"), index, range)
	{
		range_hash_init(&range_hash);
		for (uint64_t i = vectors_number(range, "start"); i < vectors_number(range, "end"); i++)
			range_hash_add(&range_hash, &hashes[i]);
		range_hash_finish(&range_hash, &hash);
		vectors_expect_hash(&hash, vectors_text(range, "hash"));
	}
	free(hashes);
}

static void hashes_of_files_and_ranges_follow_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("chunking.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes input = vectors_generate(json_object_get(one, "gen"));
		check_hashes(one, &input);
		bytes_done(&input);
	}
	json_decref(file);
}

/* The rule of the protocol, byte by byte. */
static void cut_slowly(const struct bytes *input, struct cuts *ret_cuts)
{
	uint64_t h = 0;
	size_t n = 0;
	ret_cuts->count = 0;
	for (size_t i = 0; i < input->length; i++) {
		h = (h << 1) + xet_gear_table[input->data[i]];
		n++;
		if ((n >= XET_CHUNK_MIN_BYTES && (h & UINT64_C(0xffff000000000000)) == 0) ||
		    n == XET_CHUNK_MAX_BYTES || i + 1 == input->length) {
			ret_cuts->lengths[ret_cuts->count++] = n;
			h = n = 0;
		}
	}
}

static void fast_scan_agrees_with_the_plain_rule(void **state)
{
	(void)state;
	static struct cuts fast, slow;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct bytes input = vectors_random(seed * 1000003, 4 * 1024 * 1024 + seed * 777);
		cut_slowly(&input, &slow);
		cut(&input, 262144 + seed, &fast);
		assert_int_equal(fast.count, slow.count);
		assert_memory_equal(fast.lengths, slow.lengths, slow.count * sizeof(slow.lengths[0]));
		bytes_done(&input);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gear_table_follows_the_vectors),
		cmocka_unit_test(cuts_follow_the_vectors_for_every_span_size),
		cmocka_unit_test(hashes_of_files_and_ranges_follow_the_vectors),
		cmocka_unit_test(fast_scan_agrees_with_the_plain_rule),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
