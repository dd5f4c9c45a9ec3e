/*
 * A checked view of a shard in memory, in every form: uploaded, local with lookup tables, keyed dedup answer.
 *
 * Source: Xet protocol, shard. shard_reader_open checks the whole structure once, so that walking it
 * afterwards cannot fail. It checks form, not truth: whether hashes and sums are right is for the caller.
 * A view borrows the bytes, which must outlive it, and owns nothing. Any thread.
 */
#ifndef BACKEND_XET_SHARD_READER_H
#define BACKEND_XET_SHARD_READER_H

#include "backend/xet/shard_format.h"
#include "common/attributes.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct shard_reader {
	const uint8_t *bytes;
	size_t length_bytes;
	size_t file_offset, xorb_offset; /* of the two sections */
	uint32_t file_count, xorb_count;
	bool has_footer;
	struct shard_footer footer; /* valid when has_footer */
};

struct shard_file {
	struct content_hash hash;
	uint32_t flags;
	uint32_t term_count;
	const uint8_t *sha256; /* 32 stored bytes (8-byte groups reversed), NULL when the block has none */
	const uint8_t *terms;  /* for shard_file_term */
};

struct shard_xorb {
	struct content_hash hash;
	uint32_t chunk_count;
	uint32_t raw_bytes;
	uint32_t serialized_bytes; /* 0 from some clients */
	const uint8_t *chunks;     /* for shard_xorb_chunk */
};

/* CORRUPT for anything malformed: wrong tag, version or flags, records beyond the end, missing bookend, tables or
 * offsets outside the bytes; OVERSIZE beyond SHARD_MAX_BYTES. */
MUST_CHECK enum hfkv_status shard_reader_open(const void *bytes, size_t length, struct shard_reader *ret_reader,
					      struct fault *fault);

/* Walks blocks in order: *cursor is 0 before the first call and the module's between calls. False at the end. */
bool shard_reader_next_file(const struct shard_reader *reader, size_t *cursor, struct shard_file *ret_file);
bool shard_reader_next_xorb(const struct shard_reader *reader, size_t *cursor, struct shard_xorb *ret_xorb);

/* Entry `index`, below the count. */
void shard_file_term(const struct shard_file *file, uint32_t index, struct shard_term *ret_term);
void shard_xorb_chunk(const struct shard_xorb *xorb, uint32_t index, struct shard_chunk *ret_chunk);

/* Finds a plain chunk hash, through the key and the lookup table where the shard has them. False when absent. */
bool shard_reader_find_chunk(const struct shard_reader *reader, const struct content_hash *plain_hash,
			     struct shard_xorb *ret_xorb, uint32_t *ret_index);

#endif
