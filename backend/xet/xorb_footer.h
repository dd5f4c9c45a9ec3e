/*
 * The optional table of contents behind the records of a stored xorb.
 *
 * Source: Xet protocol, xorb. Pure; any thread.
 */
#ifndef BACKEND_XET_XORB_FOOTER_H
#define BACKEND_XET_XORB_FOOTER_H

#include "backend/xet/xorb_listing.h"
#include "common/attributes.h"
#include "common/byte_buf.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* Size of a version 1 footer for this many chunks, with the 4 bytes of its own length. */
size_t xorb_footer_bytes(uint32_t chunk_count);

/* Appends a version 1 footer and its length. NO_MEMORY when the buffer cannot take it. */
MUST_CHECK enum hfkv_status xorb_footer_write(const struct xorb_listing *listing, struct byte_buf *buf,
					      struct fault *fault);

/* Reads a footer (version 1, or 0 with raw_end left 0) from exactly bytes[0..length), its 4-byte length included.
 * CORRUPT when anything is off; NO_MEMORY. On OK the caller owns *ret_listing; records_bytes is the end of the
 * last record. */
MUST_CHECK enum hfkv_status xorb_footer_read(const uint8_t *bytes, size_t length, struct xorb_listing *ret_listing,
					     struct fault *fault);

#endif
