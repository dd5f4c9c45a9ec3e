/*
 * The bytes of a xorb to be sent: packed chunks are kept, unpacked ones are only remembered by their place in a
 * source and read from there while the body goes out.
 *
 * Filled by one thread; then read by the HTTP thread while nobody changes it.
 */
#ifndef BACKEND_CAS_XORB_BODY_H
#define BACKEND_CAS_XORB_BODY_H

#include "backend/cas/source_cutter.h"
#include "backend/cas/transfer_progress.h"
#include "backend/http/http_client.h"
#include "backend/xet/xorb_listing.h"
#include "backend/xet/xorb_record.h"

/* One record. */
struct xorb_body_piece {
	struct xorb_record record;
	uint32_t source; /* number of the source in the session */
	uint64_t offset; /* of the chunk in it */
	uint8_t *packed; /* owned payload; NULL: read from the source */
};

/* Fields are the module's, but for reading. Start with all zero. */
struct xorb_body {
	const struct upload_source *sources;
	struct transfer_progress *progress; /* told a chunk's raw bytes when its record has gone out */
	struct xorb_body_piece *pieces;
	uint32_t count, capacity;
	uint64_t length_bytes;
	uint64_t packed_bytes; /* memory held by packed chunks */

	/* Where the HTTP thread is. */
	uint32_t at_piece;
	uint32_t at_byte;       /* inside the record, header included */
	uint64_t counted_bytes; /* told to progress since the last start */

	/* Why the last read failed: */
	enum hfkv_status read_status;
	uint32_t failed_source;
	struct fault read_fault;
};

void xorb_body_done(struct xorb_body *body);

/* Adds the next record; `payload` is copied when it is not NULL. NO_MEMORY changes nothing. */
MUST_CHECK enum hfkv_status xorb_body_add(struct xorb_body *body, const struct xorb_record *record,
					  uint32_t source, uint64_t offset, const uint8_t *payload,
					  struct fault *fault);

/* For an http_request; `body` is borrowed by it. */
struct http_body xorb_body_for_http(struct xorb_body *body);

/* Looks for a source whose bytes are no longer those that were hashed; `listing` is the xorb's. OK: none.
 * Otherwise CHANGED or IO, and *ret_source. */
MUST_CHECK enum hfkv_status xorb_body_check_sources(const struct xorb_body *body,
						    const struct xorb_listing *listing, uint32_t *ret_source,
						    struct fault *fault);

#endif
