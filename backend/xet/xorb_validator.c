#include "backend/xet/xorb_validator.h"

#include "backend/xet/merkle_hash.h"
#include "backend/xet/xorb_footer.h"
#include "backend/xet/xorb_reader.h"
#include "common/byte_buf.h"

#include <stdlib.h>

struct xorb_validator {
	struct xorb_reader *reader;
	struct merkle_root root;
	struct xorb_listing listing; /* hash not set yet */
	uint32_t capacity;           /* of listing.chunks */
	struct byte_buf footer;      /* begins once the records have ended */
	bool in_footer;
};

static enum xorb_chunk_wish want_chunk(void *context, uint32_t index, uint32_t raw_bytes, uint8_t **ret_place)
{
	(void)context, (void)index, (void)raw_bytes, (void)ret_place;
	return XORB_CHUNK_LEND;
}

static bool grow(struct xorb_validator *validator)
{
	uint32_t capacity = validator->capacity ? 2 * validator->capacity : 64;
	struct xorb_listing_chunk *chunks = realloc(validator->listing.chunks, capacity * sizeof(*chunks));
	if (!chunks)
		return false;
	validator->listing.chunks = chunks;
	validator->capacity = capacity;
	return true;
}

static enum hfkv_status take_chunk(void *context, uint32_t index, const uint8_t *bytes, uint32_t raw_bytes,
				   struct fault *fault)
{
	struct xorb_validator *validator = context;
	struct xorb_listing *listing = &validator->listing;
	uint64_t record_end = xorb_reader_record_bytes(validator->reader);
	if (raw_bytes == 0)
		return fault_set(fault, HFKV_CORRUPT, "xorb: chunk %u is empty", index);
	if (raw_bytes > XORB_ACCEPTED_RAW_BYTES - listing->raw_bytes || index >= XORB_ACCEPTED_CHUNKS ||
	    record_end > XORB_ACCEPTED_BODY_BYTES)
		return fault_set(fault, HFKV_OVERSIZE, "xorb: more than %d bytes or %d chunks",
				 XORB_ACCEPTED_RAW_BYTES, XORB_ACCEPTED_CHUNKS);
	if (index == validator->capacity && !grow(validator))
		return fault_set(fault, HFKV_NO_MEMORY, "xorb validator: out of memory");

	struct xorb_listing_chunk *chunk = &listing->chunks[index];
	merkle_hash_xet_chunk(bytes, raw_bytes, &chunk->hash);
	merkle_root_add(&validator->root, &chunk->hash, raw_bytes);
	listing->raw_bytes += raw_bytes;
	chunk->raw_end = listing->raw_bytes;
	chunk->record_end = listing->records_bytes = (uint32_t)record_end;
	listing->chunk_count = index + 1;
	return HFKV_OK;
}

static const struct xorb_reader_calls reader_calls = { .want = want_chunk, .take = take_chunk };

enum hfkv_status xorb_validator_new(struct xorb_validator **ret_validator, struct fault *fault)
{
	CLEANUP(xorb_validator_freep) struct xorb_validator *validator = calloc(1, sizeof(*validator));
	if (!validator)
		return fault_set(fault, HFKV_NO_MEMORY, "xorb validator: out of memory");
	merkle_root_init(&validator->root);
	enum hfkv_status status = xorb_reader_new(&reader_calls, validator, &validator->reader, fault);
	if (status == HFKV_OK)
		*ret_validator = TAKE_PTR(validator);
	return status;
}

void xorb_validator_free(struct xorb_validator *validator)
{
	if (!validator)
		return;
	xorb_reader_free(validator->reader);
	xorb_listing_done(&validator->listing);
	byte_buf_done(&validator->footer);
	free(validator);
}

/* The records have ended: what follows is a footer, which may not be longer than one for these chunks. */
static void begin_footer(struct xorb_validator *validator)
{
	validator->in_footer = true;
	validator->footer = BYTE_BUF_INIT(xorb_footer_bytes(validator->listing.chunk_count) + 1);
}

enum hfkv_status xorb_validator_feed(struct xorb_validator *validator, const void *bytes, size_t length,
				     struct fault *fault)
{
	size_t used = 0;
	if (!validator->in_footer) {
		enum hfkv_status status = xorb_reader_feed_records(validator->reader, bytes, length, &used, fault);
		if (status != HFKV_OK || used == length)
			return status;
		begin_footer(validator);
	}
	if (!byte_buf_append(&validator->footer, (const uint8_t *)bytes + used, length - used))
		return fault_set(fault, HFKV_CORRUPT, "xorb: %u chunks, and too many bytes after them",
				 validator->listing.chunk_count);
	return HFKV_OK;
}

/* Whether the footer tells the same as the records. Version 0 does not know raw lengths. */
static bool footer_agrees(const struct xorb_listing *records, const struct xorb_listing *footer)
{
	bool knows_raw = footer->raw_bytes != 0;
	if (footer->chunk_count != records->chunk_count || !content_hash_equal(&footer->hash, &records->hash))
		return false;
	for (uint32_t i = 0; i < records->chunk_count; i++) {
		const struct xorb_listing_chunk *a = &records->chunks[i], *b = &footer->chunks[i];
		if (!content_hash_equal(&a->hash, &b->hash) || a->record_end != b->record_end ||
		    (knows_raw && a->raw_end != b->raw_end))
			return false;
	}
	return true;
}

static enum hfkv_status check_footer(struct xorb_validator *validator, struct fault *fault)
{
	CLEANUP(xorb_listing_done) struct xorb_listing footer = { 0 };
	enum hfkv_status status =
	    xorb_footer_read((const uint8_t *)validator->footer.data, validator->footer.length, &footer, fault);
	if (status != HFKV_OK)
		return status;
	if (!footer_agrees(&validator->listing, &footer))
		return fault_set(fault, HFKV_CORRUPT, "xorb: its footer does not agree with its %u chunks",
				 validator->listing.chunk_count);
	return HFKV_OK;
}

enum hfkv_status xorb_validator_finish(struct xorb_validator *validator, struct xorb_listing *ret_listing,
				       struct fault *fault)
{
	enum hfkv_status status = xorb_reader_finish(validator->reader, fault);
	if (status != HFKV_OK)
		return status;
	if (validator->listing.chunk_count == 0)
		return fault_set(fault, HFKV_CORRUPT, "xorb: it holds no chunk");
	merkle_root_finish(&validator->root, &validator->listing.hash);
	if (validator->in_footer)
		status = check_footer(validator, fault);
	if (status != HFKV_OK)
		return status;
	*ret_listing = validator->listing;
	validator->listing = (struct xorb_listing){ 0 };
	return HFKV_OK;
}
