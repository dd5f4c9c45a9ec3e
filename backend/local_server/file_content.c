#include "backend/local_server/file_content.h"

#include "backend/xet/chunk_codec.h"
#include "backend/xet/xorb_record.h"

#include <string.h>

struct file_content {
	struct blob_store *blobs;
	struct reconstruction_plan *plan;
	struct chunk_unpacker *unpacker;
	struct blob_reader *blob; /* of the current term's xorb; NULL before the term's first chunk */
	uint32_t term, chunk;     /* the next chunk to decode; `chunk` counts within the xorb */
	bool term_begun;
	uint64_t left_bytes, skip_bytes;
	uint32_t raw_at, raw_bytes; /* what of `raw` is not read yet */
	uint8_t record[XORB_RECORD_HEADER_BYTES + XORB_PAYLOAD_MAX_BYTES];
	uint8_t raw[XET_CHUNK_MAX_BYTES];
};

void file_content_free(struct file_content *content)
{
	if (!content)
		return;
	reconstruction_plan_free(content->plan);
	chunk_unpacker_free(content->unpacker);
	blob_reader_free(content->blob);
	free(content);
}

enum hfkv_status file_content_new(struct blob_store *blobs, struct reconstruction_plan *plan, uint64_t range_bytes,
				  struct file_content **ret_content, struct fault *fault)
{
	struct file_content *content = calloc(1, sizeof(*content));
	if (!content) {
		reconstruction_plan_free(plan);
		return fault_set(fault, HFKV_NO_MEMORY, "no memory to read a file");
	}
	content->blobs = blobs;
	content->plan = plan;
	content->left_bytes = range_bytes;
	content->skip_bytes = plan->skip_bytes;
	enum hfkv_status status = chunk_unpacker_new(&content->unpacker, fault);
	if (status == HFKV_OK)
		*ret_content = content;
	else
		file_content_free(content);
	return status;
}

/* Decodes the chunk `content->chunk` of the current term's xorb into raw. */
static enum hfkv_status decode_chunk(struct file_content *content)
{
	const struct xorb_listing *listing = &content->plan->terms[content->term].xorb->listing;
	uint32_t start = xorb_listing_record_start(listing, content->chunk);
	uint32_t length = listing->chunks[content->chunk].record_end - start;
	if (length < XORB_RECORD_HEADER_BYTES || length > sizeof(content->record))
		return HFKV_CORRUPT;
	struct xorb_record record;
	enum hfkv_status status = blob_reader_read(content->blob, start, content->record, length, NULL);
	if (status == HFKV_OK)
		status = xorb_record_read(content->record, &record, NULL);
	if (status != HFKV_OK)
		return status;
	if (record.payload_bytes + XORB_RECORD_HEADER_BYTES != length)
		return HFKV_CORRUPT;
	content->raw_at = 0;
	content->raw_bytes = record.raw_bytes;
	return chunk_unpacker_unpack(content->unpacker, &record, content->record + XORB_RECORD_HEADER_BYTES,
				     content->raw, NULL);
}

static enum hfkv_status next_chunk(struct file_content *content)
{
	if (content->term >= content->plan->term_count)
		return HFKV_CORRUPT;
	const struct plan_term *term = &content->plan->terms[content->term];
	if (!content->term_begun) {
		blob_reader_free(TAKE_PTR(content->blob));
		enum hfkv_status status =
		    blob_reader_open(content->blobs, &term->xorb->listing.hash, &content->blob, NULL);
		if (status != HFKV_OK)
			return status;
		content->chunk = term->first_chunk;
		content->term_begun = true;
	}
	enum hfkv_status status = decode_chunk(content);
	if (status == HFKV_OK && ++content->chunk == term->end_chunk) {
		content->term++;
		content->term_begun = false;
	}
	return status;
}

ssize_t file_content_read(struct file_content *content, char *bytes, size_t max)
{
	if (content->left_bytes == 0 || max == 0)
		return 0;
	while (content->raw_at == content->raw_bytes) {
		if (next_chunk(content) != HFKV_OK)
			return -1;
		uint64_t skip =
		    content->skip_bytes < content->raw_bytes ? content->skip_bytes : content->raw_bytes;
		content->raw_at = (uint32_t)skip;
		content->skip_bytes -= skip;
	}
	size_t length = content->raw_bytes - content->raw_at;
	if (length > max)
		length = max;
	if (length > content->left_bytes)
		length = (size_t)content->left_bytes;
	memcpy(bytes, content->raw + content->raw_at, length);
	content->raw_at += (uint32_t)length;
	content->left_bytes -= length;
	return (ssize_t)length;
}
