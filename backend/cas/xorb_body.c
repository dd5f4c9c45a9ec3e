#include "backend/cas/xorb_body.h"

#include "backend/xet/merkle_hash.h"

#include <stdlib.h>
#include <string.h>

void xorb_body_done(struct xorb_body *body)
{
	for (uint32_t i = 0; i < body->count; i++)
		free(body->pieces[i].packed);
	free(body->pieces);
	*body = (struct xorb_body){ 0 };
}

enum hfkv_status xorb_body_add(struct xorb_body *body, const struct xorb_record *record, uint32_t source,
			       uint64_t offset, const uint8_t *payload, struct fault *fault)
{
	CLEANUP(free_pointer) uint8_t *packed = NULL;
	if (body->count == body->capacity) {
		uint32_t capacity = body->capacity ? 2 * body->capacity : 64;
		struct xorb_body_piece *pieces = realloc(body->pieces, capacity * sizeof(*pieces));
		if (!pieces)
			return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
		body->pieces = pieces;
		body->capacity = capacity;
	}
	if (payload) {
		packed = malloc(record->payload_bytes);
		if (!packed)
			return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
		memcpy(packed, payload, record->payload_bytes);
		body->packed_bytes += record->payload_bytes;
	}
	body->pieces[body->count++] = (struct xorb_body_piece){ *record, source, offset, TAKE_PTR(packed) };
	body->length_bytes += XORB_RECORD_HEADER_BYTES + record->payload_bytes;
	return HFKV_OK;
}

static uint32_t record_bytes(const struct xorb_body_piece *piece)
{
	return XORB_RECORD_HEADER_BYTES + piece->record.payload_bytes;
}

/* Bytes of a piece's record from body->at_byte on, at most `room`; 0 when its source failed. */
static size_t read_piece(struct xorb_body *body, const struct xorb_body_piece *piece, uint8_t *buffer, size_t room)
{
	if (body->at_byte < XORB_RECORD_HEADER_BYTES) {
		uint8_t header[XORB_RECORD_HEADER_BYTES];
		size_t length = XORB_RECORD_HEADER_BYTES - body->at_byte;
		length = length < room ? length : room;
		xorb_record_write(&piece->record, header);
		memcpy(buffer, header + body->at_byte, length);
		return length;
	}
	uint32_t at = body->at_byte - XORB_RECORD_HEADER_BYTES;
	size_t length = piece->record.payload_bytes - at;
	length = length < room ? length : room;
	if (piece->packed) {
		memcpy(buffer, piece->packed + at, length);
		return length;
	}
	body->read_status = upload_source_read(&body->sources[piece->source], piece->offset + at, buffer, length,
					       &body->read_fault);
	body->failed_source = piece->source;
	return body->read_status == HFKV_OK ? length : 0;
}

static void rewind_body(struct xorb_body *body)
{
	transfer_progress_undo(body->progress, body->counted_bytes);
	body->at_piece = body->at_byte = 0;
	body->counted_bytes = 0;
	body->read_status = HFKV_OK;
}

/* An http_body_read: offset is where the last call ended, or 0. */
static size_t read_body(void *context, uint64_t offset, void *buffer, size_t room)
{
	struct xorb_body *body = context;
	uint8_t *at = buffer;
	if (offset == 0)
		rewind_body(body);
	while (room > 0 && body->at_piece < body->count) {
		const struct xorb_body_piece *piece = &body->pieces[body->at_piece];
		size_t length = read_piece(body, piece, at, room);
		if (length == 0)
			return 0;
		at += length;
		room -= length;
		body->at_byte += (uint32_t)length;
		if (body->at_byte < record_bytes(piece))
			continue;
		body->at_piece++;
		body->at_byte = 0;
		body->counted_bytes += piece->record.raw_bytes;
		if (!transfer_progress_add(body->progress, piece->record.raw_bytes))
			return 0;
	}
	return (size_t)(at - (uint8_t *)buffer);
}

struct http_body xorb_body_for_http(struct xorb_body *body)
{
	return (struct http_body){ .length_bytes = body->length_bytes, .read = read_body, .read_context = body };
}

enum hfkv_status xorb_body_check_sources(const struct xorb_body *body, const struct xorb_listing *listing,
					 uint32_t *ret_source, struct fault *fault)
{
	CLEANUP(free_pointer) uint8_t *chunk = malloc(XET_CHUNK_MAX_BYTES);
	if (!chunk)
		return HFKV_OK; /* nothing found: the refusal itself is reported then */
	for (uint32_t i = 0; i < body->count; i++) {
		const struct xorb_body_piece *piece = &body->pieces[i];
		const struct upload_source *source = &body->sources[piece->source];
		struct content_hash hash;
		if (piece->packed)
			continue;
		*ret_source = piece->source;
		enum hfkv_status status =
		    upload_source_read(source, piece->offset, chunk, piece->record.raw_bytes, fault);
		if (status != HFKV_OK)
			return status;
		merkle_hash_xet_chunk(chunk, piece->record.raw_bytes, &hash);
		if (!content_hash_equal(&hash, &listing->chunks[i].hash))
			return fault_set(fault, HFKV_CHANGED,
					 "'%s' changed while it was uploaded; try again when nothing writes to it",
					 source->name);
	}
	return HFKV_OK;
}
