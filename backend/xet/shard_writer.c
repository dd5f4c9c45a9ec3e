#include "backend/xet/shard_writer.h"

#include "backend/xet/little_endian.h"
#include "backend/xet/shard_layout.h"

#include <stdlib.h>

/* ASCII "HFRepoMetaData", NUL, and 17 constant bytes. */
const uint8_t shard_tag[SHARD_TAG_BYTES] = {
	0x48, 0x46, 0x52, 0x65, 0x70, 0x6f, 0x4d, 0x65, 0x74, 0x61, 0x44, 0x61, 0x74, 0x61, 0x00, 0x55,
	0x69, 0x67, 0x45, 0x6a, 0x7b, 0x81, 0x57, 0x83, 0xa5, 0xbd, 0xd9, 0x5c, 0xcd, 0xd1, 0x4a, 0xa9,
};

/* Header and the two bookends. */
#define FRAME_BYTES (3 * SHARD_RECORD_BYTES)

struct shard_writer {
	struct byte_buf files, xorbs; /* the two sections without bookends */
};

enum hfkv_status shard_writer_new(struct shard_writer **ret_writer, struct fault *fault)
{
	struct shard_writer *writer = malloc(sizeof(*writer));
	if (!writer)
		return fault_set(fault, HFKV_NO_MEMORY, "shard writer: out of memory");
	writer->files = BYTE_BUF_INIT(SHARD_MAX_BYTES);
	writer->xorbs = BYTE_BUF_INIT(SHARD_MAX_BYTES);
	*ret_writer = writer;
	return HFKV_OK;
}

void shard_writer_free(struct shard_writer *writer)
{
	if (!writer)
		return;
	byte_buf_done(&writer->files);
	byte_buf_done(&writer->xorbs);
	free(writer);
}

/* `count` zeroed records at the end of a section, already counted in. */
static enum hfkv_status add_records(struct shard_writer *writer, struct byte_buf *section, size_t count,
				    uint8_t **ret_records, struct fault *fault)
{
	size_t taken = FRAME_BYTES + writer->files.length + writer->xorbs.length;
	if (count > (SHARD_MAX_BYTES - taken) / SHARD_RECORD_BYTES)
		return fault_set(fault, HFKV_OVERSIZE, "shard: more than %d bytes", SHARD_MAX_BYTES);
	uint8_t *records = (uint8_t *)byte_buf_reserve(section, count * SHARD_RECORD_BYTES);
	if (!records)
		return fault_set(fault, HFKV_NO_MEMORY, "shard writer: out of memory");
	memset(records, 0, count * SHARD_RECORD_BYTES);
	section->length += count * SHARD_RECORD_BYTES;
	section->data[section->length] = 0;
	*ret_records = records;
	return HFKV_OK;
}

static void put_hash(uint8_t *record, const struct content_hash *hash)
{
	memcpy(record, hash->bytes, CONTENT_HASH_BYTES);
}

enum hfkv_status shard_writer_add_file(struct shard_writer *writer, const struct content_hash *hash,
				       const struct shard_term *terms, size_t term_count, struct fault *fault)
{
	uint8_t *record = NULL;
	enum hfkv_status status = add_records(writer, &writer->files, 1 + 2 * term_count, &record, fault);
	if (status != HFKV_OK)
		return status;
	put_hash(record, hash);
	le32_write(record + SHARD_FILE_FLAGS_AT, SHARD_FILE_HAS_VERIFICATION);
	le32_write(record + SHARD_FILE_TERMS_AT, (uint32_t)term_count);
	for (size_t i = 0; i < term_count; i++) {
		record += SHARD_RECORD_BYTES;
		put_hash(record, &terms[i].xorb);
		le32_write(record + SHARD_TERM_RAW_BYTES_AT, terms[i].raw_bytes);
		le32_write(record + SHARD_TERM_START_AT, terms[i].chunk_start);
		le32_write(record + SHARD_TERM_END_AT, terms[i].chunk_end);
	}
	for (size_t i = 0; i < term_count; i++) {
		record += SHARD_RECORD_BYTES;
		put_hash(record, &terms[i].range_hash);
	}
	return HFKV_OK;
}

enum hfkv_status shard_writer_add_xorb(struct shard_writer *writer, const struct xorb_listing *listing,
				       struct fault *fault)
{
	uint8_t *record = NULL;
	enum hfkv_status status =
	    add_records(writer, &writer->xorbs, 1 + (size_t)listing->chunk_count, &record, fault);
	if (status != HFKV_OK)
		return status;
	put_hash(record, &listing->hash);
	le32_write(record + SHARD_XORB_CHUNKS_AT, listing->chunk_count);
	le32_write(record + SHARD_XORB_RAW_BYTES_AT, listing->raw_bytes);
	le32_write(record + SHARD_XORB_SERIALIZED_AT, listing->records_bytes);
	for (uint32_t i = 0; i < listing->chunk_count; i++) {
		record += SHARD_RECORD_BYTES;
		put_hash(record, &listing->chunks[i].hash);
		le32_write(record + SHARD_CHUNK_RAW_START_AT, xorb_listing_raw_start(listing, i));
		le32_write(record + SHARD_CHUNK_RAW_BYTES_AT, xorb_listing_raw_bytes(listing, i));
	}
	return HFKV_OK;
}

static bool append_bookend(struct byte_buf *buf)
{
	uint8_t bookend[SHARD_RECORD_BYTES] = { 0 };
	memset(bookend, 0xff, SHARD_BOOKEND_FF_BYTES);
	return byte_buf_append(buf, bookend, sizeof(bookend));
}

enum hfkv_status shard_writer_finish(const struct shard_writer *writer, struct byte_buf *buf, struct fault *fault)
{
	uint8_t header[SHARD_RECORD_BYTES] = { 0 };
	memcpy(header, shard_tag, sizeof(shard_tag));
	le64_write(header + SHARD_HEADER_VERSION_AT, SHARD_HEADER_VERSION);
	if (!byte_buf_append(buf, header, sizeof(header)) ||
	    !byte_buf_append(buf, writer->files.data, writer->files.length) || !append_bookend(buf) ||
	    !byte_buf_append(buf, writer->xorbs.data, writer->xorbs.length) || !append_bookend(buf))
		return fault_set(fault, HFKV_NO_MEMORY, "shard writer: out of memory");
	return HFKV_OK;
}
