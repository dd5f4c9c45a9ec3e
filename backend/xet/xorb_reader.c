#include "backend/xet/xorb_reader.h"

#include "backend/xet/chunk_codec.h"

#include <stdlib.h>
#include <string.h>

/* First byte of a footer's "XETBLOB", which is no record version. */
#define FOOTER_FIRST_BYTE 'X'

struct xorb_reader {
	const struct xorb_reader_calls *calls;
	void *context;

	uint8_t header[XORB_RECORD_HEADER_BYTES];
	size_t header_filled;

	/* The record under way, once header is whole. */
	struct xorb_record record;
	enum xorb_chunk_wish wish;
	uint8_t *place;          /* for XORB_CHUNK_HERE */
	uint32_t payload_filled; /* bytes of it that came in earlier spans */

	uint8_t *gathered; /* a payload that came in several spans */
	size_t gathered_capacity;
	uint8_t *decoded; /* XET_CHUNK_MAX_BYTES, for packed chunks without a place; NULL until needed */
	struct chunk_unpacker *unpacker; /* NULL until needed */

	uint32_t chunk_count;
	uint64_t record_bytes;
};

enum hfkv_status xorb_reader_new(const struct xorb_reader_calls *calls, void *context,
				 struct xorb_reader **ret_reader, struct fault *fault)
{
	struct xorb_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return fault_set(fault, HFKV_NO_MEMORY, "xorb reader: out of memory");
	reader->calls = calls;
	reader->context = context;
	*ret_reader = reader;
	return HFKV_OK;
}

void xorb_reader_free(struct xorb_reader *reader)
{
	if (!reader)
		return;
	chunk_unpacker_free(reader->unpacker);
	free(reader->gathered);
	free(reader->decoded);
	free(reader);
}

static enum hfkv_status out_of_memory(struct fault *fault)
{
	return fault_set(fault, HFKV_NO_MEMORY, "xorb reader: out of memory");
}

static bool is_packed(const struct xorb_reader *reader)
{
	return reader->record.scheme != XORB_SCHEME_NONE;
}

/* The header is whole: learn what the caller wants of the chunk. */
static enum hfkv_status begin_record(struct xorb_reader *reader, struct fault *fault)
{
	enum hfkv_status status = xorb_record_read(reader->header, &reader->record, fault);
	if (status != HFKV_OK)
		return status;
	reader->place = NULL;
	reader->payload_filled = 0;
	reader->wish =
	    reader->calls->want(reader->context, reader->chunk_count, reader->record.raw_bytes, &reader->place);
	return HFKV_OK;
}

/* Room for the whole payload of the record under way. */
static bool reserve_gathered(struct xorb_reader *reader)
{
	size_t needed = reader->record.payload_bytes;
	if (needed <= reader->gathered_capacity)
		return true;
	/* Most payloads are no longer than a chunk: one allocation serves them all. */
	size_t capacity = needed <= XET_CHUNK_MAX_BYTES ? XET_CHUNK_MAX_BYTES : XORB_PAYLOAD_MAX_BYTES;
	free(reader->gathered);
	reader->gathered_capacity = 0;
	reader->gathered = malloc(capacity);
	if (!reader->gathered)
		return false;
	reader->gathered_capacity = capacity;
	return true;
}

/* Keeps a part of a payload that does not lie in one span. */
static enum hfkv_status gather(struct xorb_reader *reader, const uint8_t *bytes, uint32_t length,
			       struct fault *fault)
{
	if (reader->wish == XORB_CHUNK_SKIP)
		return HFKV_OK;
	if (reader->wish == XORB_CHUNK_HERE && !is_packed(reader)) {
		memcpy(reader->place + reader->payload_filled, bytes, length);
		return HFKV_OK;
	}
	if (!reserve_gathered(reader))
		return out_of_memory(fault);
	memcpy(reader->gathered + reader->payload_filled, bytes, length);
	return HFKV_OK;
}

static enum hfkv_status unpack(struct xorb_reader *reader, const uint8_t *payload, uint8_t *out,
			       struct fault *fault)
{
	if (!reader->unpacker) {
		enum hfkv_status status = chunk_unpacker_new(&reader->unpacker, fault);
		if (status != HFKV_OK)
			return status;
	}
	return chunk_unpacker_unpack(reader->unpacker, &reader->record, payload, out, fault);
}

/* The whole payload is at `payload`: decode it to where it is wanted, and hand it over. */
static enum hfkv_status deliver(struct xorb_reader *reader, const uint8_t *payload, struct fault *fault)
{
	const uint8_t *chunk = payload;
	enum hfkv_status status = HFKV_OK;
	if (reader->wish == XORB_CHUNK_SKIP)
		return HFKV_OK;
	if (is_packed(reader)) {
		if (reader->wish == XORB_CHUNK_LEND && !reader->decoded) {
			reader->decoded = malloc(XET_CHUNK_MAX_BYTES);
			if (!reader->decoded)
				return out_of_memory(fault);
		}
		uint8_t *out = reader->wish == XORB_CHUNK_HERE ? reader->place : reader->decoded;
		status = unpack(reader, payload, out, fault);
		chunk = out;
	} else if (reader->wish == XORB_CHUNK_HERE) {
		if (payload != reader->place)
			memcpy(reader->place, payload, reader->record.raw_bytes);
		chunk = reader->place;
	}
	if (status != HFKV_OK)
		return status;
	return reader->calls->take(reader->context, reader->chunk_count, chunk, reader->record.raw_bytes, fault);
}

static enum hfkv_status end_record(struct xorb_reader *reader, const uint8_t *payload, struct fault *fault)
{
	reader->record_bytes += XORB_RECORD_HEADER_BYTES + reader->record.payload_bytes;
	enum hfkv_status status = deliver(reader, payload, fault);
	if (status != HFKV_OK)
		return status;
	reader->chunk_count++;
	reader->header_filled = 0;
	return HFKV_OK;
}

/* Takes payload bytes from the span; *ret_used is how many. */
static enum hfkv_status feed_payload(struct xorb_reader *reader, const uint8_t *bytes, size_t length,
				     size_t *ret_used, struct fault *fault)
{
	uint32_t left = reader->record.payload_bytes - reader->payload_filled;
	uint32_t part = length < left ? (uint32_t)length : left;
	*ret_used = part;
	if (part == reader->record.payload_bytes)
		return end_record(reader, bytes, fault);

	enum hfkv_status status = gather(reader, bytes, part, fault);
	if (status != HFKV_OK)
		return status;
	reader->payload_filled += part;
	if (reader->payload_filled < reader->record.payload_bytes)
		return HFKV_OK;
	bool in_place = reader->wish == XORB_CHUNK_HERE && !is_packed(reader);
	return end_record(reader, in_place ? reader->place : reader->gathered, fault);
}

static enum hfkv_status feed_header(struct xorb_reader *reader, const uint8_t *bytes, size_t length,
				    size_t *ret_used, struct fault *fault)
{
	size_t left = XORB_RECORD_HEADER_BYTES - reader->header_filled;
	size_t part = length < left ? length : left;
	memcpy(reader->header + reader->header_filled, bytes, part);
	reader->header_filled += part;
	*ret_used = part;
	if (reader->header_filled < XORB_RECORD_HEADER_BYTES)
		return HFKV_OK;
	enum hfkv_status status = begin_record(reader, fault);
	if (status == HFKV_OK && reader->record.payload_bytes == 0)
		status = end_record(reader, bytes, fault);
	return status;
}

enum hfkv_status xorb_reader_feed_records(struct xorb_reader *reader, const void *bytes, size_t length,
					  size_t *ret_used, struct fault *fault)
{
	const uint8_t *at = bytes, *end = at + length;
	while (at < end && !(reader->header_filled == 0 && *at == FOOTER_FIRST_BYTE)) {
		size_t left = (size_t)(end - at), used = 0;
		enum hfkv_status status = reader->header_filled < XORB_RECORD_HEADER_BYTES
					      ? feed_header(reader, at, left, &used, fault)
					      : feed_payload(reader, at, left, &used, fault);
		if (status != HFKV_OK)
			return status;
		at += used;
	}
	*ret_used = length - (size_t)(end - at);
	return HFKV_OK;
}

enum hfkv_status xorb_reader_feed(struct xorb_reader *reader, const void *bytes, size_t length,
				  struct fault *fault)
{
	size_t used = 0;
	enum hfkv_status status = xorb_reader_feed_records(reader, bytes, length, &used, fault);
	if (status == HFKV_OK && used < length)
		return fault_set(fault, HFKV_CORRUPT, "xorb: a footer where a chunk record was expected");
	return status;
}

enum hfkv_status xorb_reader_finish(struct xorb_reader *reader, struct fault *fault)
{
	if (xorb_reader_at_boundary(reader))
		return HFKV_OK;
	return fault_set(fault, HFKV_CORRUPT, "xorb: the bytes end inside chunk record %u", reader->chunk_count);
}

uint32_t xorb_reader_chunk_count(const struct xorb_reader *reader)
{
	return reader->chunk_count;
}

uint64_t xorb_reader_record_bytes(const struct xorb_reader *reader)
{
	return reader->record_bytes;
}

bool xorb_reader_at_boundary(const struct xorb_reader *reader)
{
	return reader->header_filled == 0;
}
