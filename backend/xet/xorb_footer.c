#include "backend/xet/xorb_footer.h"

#include "backend/xet/little_endian.h"
#include "backend/xet/xet_limits.h"
#include "common/cleanup.h"

#include <stdlib.h>

#define IDENT_TEXT_BYTES 7

static const char footer_ident[IDENT_TEXT_BYTES + 1] = "XETBLOB";
static const char hashes_ident[IDENT_TEXT_BYTES + 1] = "XBLBHSH";
static const char bounds_ident[IDENT_TEXT_BYTES + 1] = "XBLBBND";

#define IDENT_BYTES    (IDENT_TEXT_BYTES + 1) /* with its version byte */
#define TAIL_BYTES     16
#define V1_FIXED_BYTES 92
#define V1_CHUNK_BYTES 40
#define V0_FIXED_BYTES 60
#define V0_CHUNK_BYTES 36
#define LENGTH_BYTES   4
#define HASHES_VERSION 0
#define BOUNDS_VERSION 1
#define HASH_BYTES     CONTENT_HASH_BYTES

size_t xorb_footer_bytes(uint32_t chunk_count)
{
	return V1_FIXED_BYTES + (size_t)V1_CHUNK_BYTES * chunk_count + LENGTH_BYTES;
}

/* Where to write next. */
static uint8_t *put_ident(uint8_t *at, const char *ident, uint8_t version)
{
	memcpy(at, ident, IDENT_TEXT_BYTES);
	at[IDENT_TEXT_BYTES] = version;
	return at + IDENT_BYTES;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
	le32_write(at, value);
	return at + 4;
}

static uint8_t *put_hash(uint8_t *at, const struct content_hash *hash)
{
	memcpy(at, hash->bytes, HASH_BYTES);
	return at + HASH_BYTES;
}

enum hfkv_status xorb_footer_write(const struct xorb_listing *listing, struct byte_buf *buf, struct fault *fault)
{
	uint32_t count = listing->chunk_count;
	size_t bytes = xorb_footer_bytes(count);
	uint8_t *start = (uint8_t *)byte_buf_reserve(buf, bytes), *at = start;
	if (!at)
		return fault_set(fault, HFKV_NO_MEMORY, "xorb footer: out of memory");
	at = put_ident(at, footer_ident, 1);
	at = put_hash(at, &listing->hash);
	const uint8_t *hashes = at;
	at = put_u32(put_ident(at, hashes_ident, HASHES_VERSION), count);
	for (uint32_t i = 0; i < count; i++)
		at = put_hash(at, &listing->chunks[i].hash);
	const uint8_t *bounds = at;
	at = put_u32(put_ident(at, bounds_ident, BOUNDS_VERSION), count);
	for (uint32_t i = 0; i < count; i++)
		at = put_u32(at, listing->chunks[i].record_end);
	for (uint32_t i = 0; i < count; i++)
		at = put_u32(at, listing->chunks[i].raw_end);
	at = put_u32(at, count);
	const uint8_t *end = start + bytes - LENGTH_BYTES;
	at = put_u32(at, (uint32_t)(end - hashes));
	at = put_u32(at, (uint32_t)(end - bounds));
	memset(at, 0, TAIL_BYTES);
	put_u32(at + TAIL_BYTES, (uint32_t)(bytes - LENGTH_BYTES));
	buf->length += bytes;
	buf->data[buf->length] = 0;
	return HFKV_OK;
}

static enum hfkv_status malformed(struct fault *fault, const char *what)
{
	return fault_set(fault, HFKV_CORRUPT, "xorb footer: %s", what);
}

static bool has_ident(const uint8_t *at, const char *ident, uint8_t version)
{
	return memcmp(at, ident, IDENT_TEXT_BYTES) == 0 && at[IDENT_TEXT_BYTES] == version;
}

/* Fills listing->chunks from parallel arrays; raw_ends NULL: unknown. CORRUPT when ends do not grow. */
static enum hfkv_status fill_chunks(struct xorb_listing *listing, const uint8_t *hashes,
				    const uint8_t *record_ends, const uint8_t *raw_ends, struct fault *fault)
{
	uint32_t record_end = 0, raw_end = 0;
	listing->chunks = calloc(listing->chunk_count ? listing->chunk_count : 1, sizeof(*listing->chunks));
	if (!listing->chunks)
		return fault_set(fault, HFKV_NO_MEMORY, "xorb footer: out of memory");
	for (uint32_t i = 0; i < listing->chunk_count; i++) {
		struct xorb_listing_chunk *chunk = &listing->chunks[i];
		memcpy(chunk->hash.bytes, hashes + (size_t)HASH_BYTES * i, HASH_BYTES);
		chunk->record_end = le32_read(record_ends + (size_t)4 * i);
		chunk->raw_end = raw_ends ? le32_read(raw_ends + (size_t)4 * i) : 0;
		if (chunk->record_end <= record_end || chunk->raw_end < raw_end)
			return malformed(fault, "chunk offsets do not grow");
		record_end = chunk->record_end;
		raw_end = chunk->raw_end;
	}
	listing->records_bytes = record_end;
	listing->raw_bytes = raw_end;
	return HFKV_OK;
}

static enum hfkv_status read_v0(const uint8_t *bytes, size_t length, struct xorb_listing *listing,
				struct fault *fault)
{
	const uint8_t *at = bytes + IDENT_BYTES + HASH_BYTES;
	if (length < V0_FIXED_BYTES)
		return malformed(fault, "too short");
	listing->chunk_count = le32_read(at);
	if (length != V0_FIXED_BYTES + (uint64_t)V0_CHUNK_BYTES * listing->chunk_count)
		return malformed(fault, "its length does not fit the number of chunks");
	const uint8_t *record_ends = at + 4;
	return fill_chunks(listing, record_ends + (size_t)4 * listing->chunk_count, record_ends, NULL, fault);
}

static enum hfkv_status read_v1(const uint8_t *bytes, size_t length, struct xorb_listing *listing,
				struct fault *fault)
{
	const uint8_t *hashes = bytes + IDENT_BYTES + HASH_BYTES, *end = bytes + length;
	if (length < V1_FIXED_BYTES || !has_ident(hashes, hashes_ident, HASHES_VERSION))
		return malformed(fault, "no section of hashes");
	uint32_t count = listing->chunk_count = le32_read(hashes + IDENT_BYTES);
	if (length != V1_FIXED_BYTES + (uint64_t)V1_CHUNK_BYTES * count)
		return malformed(fault, "its length does not fit the number of chunks");
	const uint8_t *first_hash = hashes + IDENT_BYTES + 4;
	const uint8_t *bounds = first_hash + (size_t)HASH_BYTES * count;
	const uint8_t *record_ends = bounds + IDENT_BYTES + 4, *raw_ends = record_ends + (size_t)4 * count;
	const uint8_t *closing = raw_ends + (size_t)4 * count;
	if (!has_ident(bounds, bounds_ident, BOUNDS_VERSION) || le32_read(bounds + IDENT_BYTES) != count)
		return malformed(fault, "no section of boundaries for as many chunks");
	if (le32_read(closing) != count || le32_read(closing + 4) != (uint64_t)(end - hashes) ||
	    le32_read(closing + 8) != (uint64_t)(end - bounds))
		return malformed(fault, "its closing words disagree with its sections");
	return fill_chunks(listing, first_hash, record_ends, raw_ends, fault);
}

enum hfkv_status xorb_footer_read(const uint8_t *bytes, size_t length, struct xorb_listing *ret_listing,
				  struct fault *fault)
{
	CLEANUP(xorb_listing_done) struct xorb_listing listing = { 0 };
	enum hfkv_status status;
	if (length < V0_FIXED_BYTES + LENGTH_BYTES || length > xorb_footer_bytes(XORB_ACCEPTED_CHUNKS))
		return malformed(fault, "too short or too long");
	length -= LENGTH_BYTES;
	if (le32_read(bytes + length) != length)
		return malformed(fault, "its length word is wrong");
	memcpy(listing.hash.bytes, bytes + IDENT_BYTES, HASH_BYTES);
	if (has_ident(bytes, footer_ident, 0))
		status = read_v0(bytes, length, &listing, fault);
	else if (has_ident(bytes, footer_ident, 1))
		status = read_v1(bytes, length, &listing, fault);
	else
		status = malformed(fault, "unknown version");
	if (status != HFKV_OK)
		return status;
	*ret_listing = listing;
	listing.chunks = NULL;
	return HFKV_OK;
}
