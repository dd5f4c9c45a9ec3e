#include "backend/xet/xorb_writer.h"

#include <assert.h>
#include <stdlib.h>

struct xorb_writer {
	struct merkle_root root;
	struct xorb_listing listing; /* hash not set yet */
	uint32_t capacity;           /* of listing.chunks */
};

enum hfkv_status xorb_writer_new(struct xorb_writer **ret_writer, struct fault *fault)
{
	struct xorb_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return fault_set(fault, HFKV_NO_MEMORY, "xorb writer: out of memory");
	merkle_root_init(&writer->root);
	*ret_writer = writer;
	return HFKV_OK;
}

void xorb_writer_free(struct xorb_writer *writer)
{
	if (!writer)
		return;
	xorb_listing_done(&writer->listing);
	free(writer);
}

bool xorb_writer_fits(const struct xorb_writer *writer, uint32_t raw_bytes)
{
	uint64_t headers = (uint64_t)XORB_RECORD_HEADER_BYTES * (writer->listing.chunk_count + 1);
	return writer->listing.chunk_count < XORB_MAX_CHUNKS &&
	       writer->listing.raw_bytes + headers + raw_bytes <= XORB_BODY_MAX_BYTES;
}

static bool grow(struct xorb_writer *writer)
{
	uint32_t capacity = writer->capacity ? 2 * writer->capacity : 64;
	struct xorb_listing_chunk *chunks = realloc(writer->listing.chunks, capacity * sizeof(*chunks));
	if (!chunks)
		return false;
	writer->listing.chunks = chunks;
	writer->capacity = capacity;
	return true;
}

enum hfkv_status xorb_writer_add(struct xorb_writer *writer, const struct content_hash *hash,
				 const struct xorb_record *record, uint32_t *ret_index, struct fault *fault)
{
	struct xorb_listing *listing = &writer->listing;
	assert(xorb_writer_fits(writer, record->raw_bytes));
	if (listing->chunk_count == writer->capacity && !grow(writer))
		return fault_set(fault, HFKV_NO_MEMORY, "xorb writer: out of memory");
	merkle_root_add(&writer->root, hash, record->raw_bytes);
	listing->raw_bytes += record->raw_bytes;
	listing->records_bytes += XORB_RECORD_HEADER_BYTES + record->payload_bytes;
	listing->chunks[listing->chunk_count] = (struct xorb_listing_chunk){
		.hash = *hash,
		.raw_end = listing->raw_bytes,
		.record_end = listing->records_bytes,
	};
	*ret_index = listing->chunk_count++;
	return HFKV_OK;
}

uint32_t xorb_writer_chunk_count(const struct xorb_writer *writer)
{
	return writer->listing.chunk_count;
}

uint32_t xorb_writer_raw_bytes(const struct xorb_writer *writer)
{
	return writer->listing.raw_bytes;
}

uint32_t xorb_writer_body_bytes(const struct xorb_writer *writer)
{
	return writer->listing.records_bytes;
}

void xorb_writer_finish(struct xorb_writer *writer, struct xorb_listing *ret_listing)
{
	assert(writer->listing.chunk_count > 0);
	merkle_root_finish(&writer->root, &writer->listing.hash);
	*ret_listing = writer->listing;
	writer->listing = (struct xorb_listing){ 0 };
	writer->capacity = 0;
	merkle_root_init(&writer->root);
}
