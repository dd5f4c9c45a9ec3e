#include "backend/cas/chunk_index.h"
#include "backend/cas/source_cutter.h"
#include "backend/xet/merkle_hash.h"
#include "common/cleanup.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <string.h>
#include <sys/mman.h>

static void check_source(struct source_cutter *cutter, const struct upload_source *source, const json_t *want)
{
	uint64_t offset = 0;
	source_cutter_begin(cutter, source);
	for (size_t i = 0; i <= json_array_size(want); i++) {
		struct cut_chunk chunk;
		struct content_hash hash;
		bool more = false;
		assert_int_equal(source_cutter_next(cutter, &chunk, &more, NULL), HFKV_OK);
		assert_int_equal(more, i < json_array_size(want));
		if (!more)
			break;
		const json_t *one = json_array_get(want, i);
		assert_int_equal(chunk.raw_bytes, json_integer_value(json_array_get(one, 0)));
		assert_int_equal(chunk.offset, offset);
		merkle_hash_xet_chunk(chunk.bytes, chunk.raw_bytes, &hash);
		vectors_expect_hash(&hash, json_string_value(json_array_get(one, 1)));
		offset += chunk.raw_bytes;
	}
}

static void memory_and_files_are_cut_as_in_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("chunking.json"), *one;
	CLEANUP(source_cutter_done) struct source_cutter cutter = { 0 };
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes bytes = vectors_generate(json_object_get(one, "gen"));
		struct upload_source memory = { .name = "m", .memory = bytes.data, .size_bytes = bytes.length };
		struct upload_source in_file = { .name = "f", .size_bytes = bytes.length };
		in_file.fd = memfd_create("source", MFD_CLOEXEC);
		assert_int_equal(write(in_file.fd, bytes.data, bytes.length), bytes.length);
		check_source(&cutter, &memory, json_object_get(one, "chunks"));
		check_source(&cutter, &in_file, json_object_get(one, "chunks"));
		close(in_file.fd);
		bytes_done(&bytes);
	}
	assert_true(index > 50);
	json_decref(file);
}

/* Cuts `bytes` from memory and from a file, which knows no short way, and expects the same chunks; returns how many of
 * those in memory were taken for repeats. */
static size_t count_repeats(const uint8_t *bytes, size_t length)
{
	CLEANUP(source_cutter_done) struct source_cutter memory_cutter = { 0 }, file_cutter = { 0 };
	struct upload_source memory = { .name = "m", .memory = bytes, .size_bytes = length };
	struct upload_source in_file = { .name = "f", .size_bytes = length, .fd = memfd_create("source", MFD_CLOEXEC) };
	assert_int_equal(write(in_file.fd, bytes, length), length);
	source_cutter_begin(&memory_cutter, &memory);
	source_cutter_begin(&file_cutter, &in_file);
	size_t repeats = 0;
	for (bool more = true, file_more = true;;) {
		struct cut_chunk chunk, expected;
		assert_int_equal(source_cutter_next(&memory_cutter, &chunk, &more, NULL), HFKV_OK);
		assert_int_equal(source_cutter_next(&file_cutter, &expected, &file_more, NULL), HFKV_OK);
		assert_int_equal(more, file_more);
		if (!more)
			break;
		assert_int_equal(chunk.offset, expected.offset);
		assert_int_equal(chunk.raw_bytes, expected.raw_bytes);
		assert_memory_equal(chunk.bytes, expected.bytes, chunk.raw_bytes);
		if (chunk.repeats)
			assert_memory_equal(chunk.bytes, chunk.bytes - chunk.raw_bytes, chunk.raw_bytes);
		repeats += chunk.repeats;
	}
	close(in_file.fd);
	return repeats;
}

static void repeats_are_cut_like_the_chunk_before(void **state)
{
	(void)state;
	enum { LENGTH = 2000000 };
	CLEANUP(free_pointer) uint8_t *bytes = calloc(1, LENGTH);
	assert_int_equal(count_repeats(bytes, LENGTH), LENGTH / 131072 - 1);
	/* A different byte ends the run; the chunk that holds it is scanned, as is the one behind it. */
	bytes[131072 * 7 + 5000] = 1;
	assert_in_range(count_repeats(bytes, LENGTH), LENGTH / 131072 - 4, LENGTH / 131072 - 2);
	/* A period that is no multiple of a chunk: whatever is taken for a repeat must be one. */
	for (size_t i = 0; i < LENGTH; i++)
		bytes[i] = (uint8_t)((i % 9001) * 2654435761u >> 13);
	(void)count_repeats(bytes, LENGTH);
}

static void the_index_finds_what_was_added_and_nothing_else(void **state)
{
	(void)state;
	CLEANUP(chunk_index_done) struct chunk_index index = { 0 };
	struct chunk_place place;
	for (uint32_t i = 0; i < 5000; i++) {
		struct content_hash hash;
		merkle_hash_xet_chunk(&i, sizeof(i), &hash);
		assert_false(chunk_index_find(&index, &hash, &place));
		assert_true(chunk_index_add(&index, &hash, (struct chunk_place){ i / 100, i % 100 }));
	}
	for (uint32_t i = 0; i < 5000; i++) {
		struct content_hash hash;
		merkle_hash_xet_chunk(&i, sizeof(i), &hash);
		assert_true(chunk_index_find(&index, &hash, &place));
		assert_int_equal(place.xorb * 100 + place.index, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_and_files_are_cut_as_in_the_vectors),
		cmocka_unit_test(repeats_are_cut_like_the_chunk_before),
		cmocka_unit_test(the_index_finds_what_was_added_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
