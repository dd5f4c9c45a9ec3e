/*
 * The 8-byte header in front of each chunk's payload in a xorb. Only the header: see chunk_codec.h for payloads.
 *
 * Source: Xet protocol, xorb. Pure; any thread.
 */
#ifndef BACKEND_XET_XORB_RECORD_H
#define BACKEND_XET_XORB_RECORD_H

#include "backend/xet/xet_limits.h"
#include "common/attributes.h"
#include "common/fault.h"

#include <stdint.h>

enum xorb_scheme {
	XORB_SCHEME_NONE = 0,    /* payload = chunk bytes */
	XORB_SCHEME_LZ4 = 1,     /* payload = one LZ4 frame */
	XORB_SCHEME_BG4_LZ4 = 2, /* byte-grouped (bg4.h), then one LZ4 frame */
};

struct xorb_record {
	enum xorb_scheme scheme;
	uint32_t payload_bytes; /* <= XORB_PAYLOAD_MAX_BYTES */
	uint32_t raw_bytes;     /* <= XET_CHUNK_MAX_BYTES */
};

void xorb_record_write(const struct xorb_record *record, uint8_t ret_header[XORB_RECORD_HEADER_BYTES]);

/* CORRUPT for an unknown version or scheme, a length beyond its limit, or a raw record whose lengths differ. */
MUST_CHECK enum hfkv_status xorb_record_read(const uint8_t header[XORB_RECORD_HEADER_BYTES],
					     struct xorb_record *ret_record, struct fault *fault);

#endif
