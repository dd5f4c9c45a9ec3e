#include "backend/xet/shard_reader.h"
#include "backend/xet/shard_writer.h"
#include "backend/xet/xet_limits.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

static struct shard_reader open_shard(const struct bytes *bytes)
{
	struct shard_reader reader;
	struct fault fault = FAULT_NONE;
	if (shard_reader_open(bytes->data, bytes->length, &reader, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	return reader;
}

static void check_file(const json_t *want, const struct shard_file *file)
{
	const json_t *entries = json_object_get(want, "entries"), *proofs = json_object_get(want, "verification");
	vectors_expect_hash(&file->hash, vectors_text(want, "file_hash"));
	assert_int_equal(file->flags, strtoul(vectors_text(want, "flags"), NULL, 16));
	assert_int_equal(file->term_count, json_array_size(entries));
	for (uint32_t i = 0; i < file->term_count; i++) {
		const json_t *entry = json_array_get(entries, i);
		struct shard_term term;
		shard_file_term(file, i, &term);
		vectors_expect_hash(&term.xorb, vectors_text(entry, "xorb_hash"));
		assert_int_equal(term.raw_bytes, vectors_number(entry, "unpacked_bytes"));
		assert_int_equal(term.chunk_start, vectors_number(entry, "start"));
		assert_int_equal(term.chunk_end, vectors_number(entry, "end"));
		if (json_array_size(proofs) > 0)
			vectors_expect_hash(&term.range_hash, json_string_value(json_array_get(proofs, i)));
	}
	const json_t *sha256 = json_object_get(want, "sha256_stored_bytes_hex");
	assert_int_equal(json_is_string(sha256), file->sha256 != NULL);
	if (file->sha256) {
		struct bytes stored = vectors_from_hex(json_string_value(sha256));
		assert_memory_equal(file->sha256, stored.data, 32);
		bytes_done(&stored);
	}
}

static void check_xorb(const json_t *want, const struct shard_xorb *xorb)
{
	const json_t *chunks = json_object_get(want, "chunks");
	vectors_expect_hash(&xorb->hash, vectors_text(want, "xorb_hash"));
	assert_int_equal(xorb->chunk_count, json_array_size(chunks));
	assert_int_equal(xorb->raw_bytes, vectors_number(want, "num_bytes_in_xorb"));
	assert_int_equal(xorb->serialized_bytes, vectors_number(want, "num_bytes_on_disk"));
	for (uint32_t i = 0; i < xorb->chunk_count; i++) {
		const json_t *entry = json_array_get(chunks, i);
		struct shard_chunk chunk;
		shard_xorb_chunk(xorb, i, &chunk);
		vectors_expect_hash(&chunk.hash, vectors_text(entry, "hash"));
		assert_int_equal(chunk.raw_start, vectors_number(entry, "start"));
		assert_int_equal(chunk.raw_bytes, vectors_number(entry, "len"));
		assert_int_equal(chunk.flags, strtoul(vectors_text(entry, "flags"), NULL, 16));
	}
}

static void check_footer(const json_t *want, const struct shard_reader *reader)
{
	assert_int_equal(json_is_object(want), reader->has_footer);
	if (!reader->has_footer)
		return;
	const struct shard_footer *footer = &reader->footer;
	struct content_hash key = vectors_hash(want, "hmac_key");
	assert_memory_equal(footer->hmac_key, key.bytes, 32);
	assert_int_equal(footer->file_offset, vectors_number(want, "file_info_offset"));
	assert_int_equal(footer->xorb_offset, vectors_number(want, "xorb_info_offset"));
	assert_int_equal(footer->file_lookup_offset, vectors_number(want, "file_lookup_offset"));
	assert_int_equal(footer->file_lookup_count, vectors_number(want, "file_lookup_num"));
	assert_int_equal(footer->xorb_lookup_offset, vectors_number(want, "xorb_lookup_offset"));
	assert_int_equal(footer->xorb_lookup_count, vectors_number(want, "xorb_lookup_num"));
	assert_int_equal(footer->chunk_lookup_offset, vectors_number(want, "chunk_lookup_offset"));
	assert_int_equal(footer->chunk_lookup_count, vectors_number(want, "chunk_lookup_num"));
	assert_int_equal(footer->created_at_s, vectors_number(want, "creation"));
	assert_true(footer->key_expires_at_s == vectors_number(want, "key_expiry"));
	assert_int_equal(footer->stored_bytes_on_disk, vectors_number(want, "stored_bytes_on_disk"));
	assert_int_equal(footer->materialized_bytes, vectors_number(want, "materialized_bytes"));
	assert_int_equal(footer->stored_bytes, vectors_number(want, "stored_bytes"));
	assert_int_equal(footer->footer_offset, vectors_number(want, "footer_offset"));
}

static void check_queries(const json_t *queries, const struct shard_reader *reader)
{
	const json_t *one;
	size_t index;
	json_array_foreach(queries, index, one)
	{
		struct content_hash plain = vectors_hash(one, "plain_chunk_hash"), absent = { .bytes = { 7 } };
		struct shard_xorb xorb;
		uint32_t at = 0;
		assert_true(shard_reader_find_chunk(reader, &plain, &xorb, &at));
		vectors_expect_hash(&xorb.hash, vectors_text(one, "xorb"));
		assert_int_equal(at, vectors_number(one, "index"));
		assert_false(shard_reader_find_chunk(reader, &absent, &xorb, &at));
	}
}

static void shards_of_the_vectors_are_read(void **state)
{
	(void)state;
	json_t *vectors = vectors_load("shards.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(vectors, "cases"), index, one)
	{
		struct bytes bytes = vectors_read(vectors_text(one, "file"));
		struct shard_reader reader = open_shard(&bytes);
		struct shard_file file;
		struct shard_xorb xorb;
		size_t cursor = 0, count = 0;
		while (shard_reader_next_file(&reader, &cursor, &file))
			check_file(json_array_get(json_object_get(one, "files"), count++), &file);
		assert_int_equal(count, json_array_size(json_object_get(one, "files")));
		assert_int_equal(count, reader.file_count);
		cursor = count = 0;
		while (shard_reader_next_xorb(&reader, &cursor, &xorb))
			check_xorb(json_array_get(json_object_get(one, "xorbs"), count++), &xorb);
		assert_int_equal(count, json_array_size(json_object_get(one, "xorbs")));
		assert_int_equal(count, reader.xorb_count);
		check_footer(json_object_get(one, "footer"), &reader);
		check_queries(json_object_get(json_object_get(one, "extra"), "queries"), &reader);
		bytes_done(&bytes);
	}
	assert_true(index > 5);
	json_decref(vectors);
}

/* The xorb block of the vectors as a listing; record ends are not part of it. */
static struct xorb_listing listing_of(const json_t *want)
{
	const json_t *chunks = json_object_get(want, "chunks");
	struct xorb_listing listing = {
		.hash = vectors_hash(want, "xorb_hash"),
		.chunk_count = (uint32_t)json_array_size(chunks),
		.raw_bytes = (uint32_t)vectors_number(want, "num_bytes_in_xorb"),
		.records_bytes = (uint32_t)vectors_number(want, "num_bytes_on_disk"),
	};
	listing.chunks = calloc(listing.chunk_count, sizeof(*listing.chunks));
	for (uint32_t i = 0; i < listing.chunk_count; i++) {
		const json_t *chunk = json_array_get(chunks, i);
		listing.chunks[i].hash = vectors_hash(chunk, "hash");
		listing.chunks[i].raw_end =
		    (uint32_t)(vectors_number(chunk, "start") + vectors_number(chunk, "len"));
	}
	return listing;
}

static void write_file(struct shard_writer *writer, const json_t *want)
{
	const json_t *entries = json_object_get(want, "entries"), *proofs = json_object_get(want, "verification");
	struct content_hash hash = vectors_hash(want, "file_hash");
	struct shard_term terms[16];
	struct fault fault = FAULT_NONE;
	size_t count = json_array_size(entries);
	assert_true(count <= 16);
	for (size_t i = 0; i < count; i++) {
		const json_t *entry = json_array_get(entries, i);
		terms[i] = (struct shard_term){
			.xorb = vectors_hash(entry, "xorb_hash"),
			.raw_bytes = (uint32_t)vectors_number(entry, "unpacked_bytes"),
			.chunk_start = (uint32_t)vectors_number(entry, "start"),
			.chunk_end = (uint32_t)vectors_number(entry, "end"),
			.range_hash = vectors_parse_hash(json_string_value(json_array_get(proofs, i))),
		};
	}
	assert_int_equal(shard_writer_add_file(writer, &hash, terms, count, &fault), HFKV_OK);
}

static bool has_sha256(const json_t *one)
{
	const json_t *file;
	size_t index;
	json_array_foreach(json_object_get(one, "files"), index,
			   file) if (json_is_string(json_object_get(file, "sha256"))) return true;
	return false;
}

static void uploads_are_written_byte_for_byte(void **state)
{
	(void)state;
	json_t *vectors = vectors_load("shards.json"), *one, *part;
	size_t index, i, compared = 0;
	json_array_foreach(json_object_get(vectors, "cases"), index, one)
	{
		struct shard_writer *writer = NULL;
		struct fault fault = FAULT_NONE;
		struct byte_buf buf = BYTE_BUF_INIT(SHARD_MAX_BYTES);
		if (strcmp(vectors_text(one, "kind"), "upload") != 0 || has_sha256(one))
			continue;
		struct bytes bytes = vectors_read(vectors_text(one, "file"));
		assert_int_equal(shard_writer_new(&writer, &fault), HFKV_OK);
		json_array_foreach(json_object_get(one, "files"), i, part) write_file(writer, part);
		json_array_foreach(json_object_get(one, "xorbs"), i, part)
		{
			struct xorb_listing listing = listing_of(part);
			assert_int_equal(shard_writer_add_xorb(writer, &listing, &fault), HFKV_OK);
			xorb_listing_done(&listing);
		}
		assert_int_equal(shard_writer_finish(writer, &buf, &fault), HFKV_OK);
		assert_int_equal(buf.length, bytes.length);
		assert_memory_equal(buf.data, bytes.data, bytes.length);
		compared++;
		shard_writer_free(writer);
		byte_buf_done(&buf);
		bytes_done(&bytes);
	}
	assert_true(compared >= 3);
	json_decref(vectors);
}

static void captured_shards_are_read(void **state)
{
	(void)state;
	static const char *const names[] = { "captured/mixed.shard_1.bin", "captured/selfdup.shard_1.bin",
					     "captured/dedup.shard_1.bin", "captured/dedup.answer.bin" };
	for (size_t i = 0; i < 4; i++) {
		struct bytes bytes = vectors_read(names[i]);
		struct shard_reader reader = open_shard(&bytes);
		assert_int_equal(reader.has_footer, i == 3);
		assert_true(reader.xorb_count > 0);
		bytes_done(&bytes);
	}
}

static void a_shard_cut_off_anywhere_is_refused(void **state)
{
	(void)state;
	static const char *const names[] = { "shard/upload_multi.bin", "shard/local_full.bin",
					     "shard/dedup_keyed_lookup.bin" };
	for (size_t i = 0; i < 3; i++) {
		struct bytes bytes = vectors_read(names[i]);
		for (size_t length = 0; length < bytes.length; length++) {
			struct shard_reader reader;
			struct fault fault = FAULT_NONE;
			uint8_t *cut = malloc(length ? length : 1);
			memcpy(cut, bytes.data, length);
			assert_int_equal(shard_reader_open(cut, length, &reader, &fault), HFKV_CORRUPT);
			free(cut);
		}
		bytes_done(&bytes);
	}
}

static void a_shard_does_not_grow_past_its_limit(void **state)
{
	(void)state;
	struct shard_writer *writer = NULL;
	struct fault fault = FAULT_NONE;
	struct xorb_listing listing = { .chunk_count = XORB_MAX_CHUNKS };
	listing.chunks = calloc(listing.chunk_count, sizeof(*listing.chunks));
	assert_int_equal(shard_writer_new(&writer, &fault), HFKV_OK);
	enum hfkv_status status;
	size_t added = 0;
	while ((status = shard_writer_add_xorb(writer, &listing, &fault)) == HFKV_OK)
		added++;
	assert_int_equal(status, HFKV_OVERSIZE);
	assert_int_equal(added, (SHARD_MAX_BYTES / SHARD_RECORD_BYTES - 3) / (XORB_MAX_CHUNKS + 1));
	xorb_listing_done(&listing);
	shard_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_of_the_vectors_are_read),
		cmocka_unit_test(uploads_are_written_byte_for_byte),
		cmocka_unit_test(captured_shards_are_read),
		cmocka_unit_test(a_shard_cut_off_anywhere_is_refused),
		cmocka_unit_test(a_shard_does_not_grow_past_its_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
