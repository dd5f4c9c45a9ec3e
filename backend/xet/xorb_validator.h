/*
 * Checks the whole body of a xorb as it streams by, and lists its chunks: what a server does before it believes an
 * upload. It keeps the list and one record, never the body.
 *
 * Source: Xet protocol, xorb. Takes bodies with footer (version 1 or 0) and without; a footer must agree with
 * the records. Limits: XORB_ACCEPTED_*. One thread at a time; no I/O. After a failure only free may follow.
 */
#ifndef BACKEND_XET_XORB_VALIDATOR_H
#define BACKEND_XET_XORB_VALIDATOR_H

#include "backend/xet/xorb_listing.h"
#include "common/attributes.h"
#include "common/cleanup.h"
#include "common/fault.h"

#include <stddef.h>

struct xorb_validator;

MUST_CHECK enum hfkv_status xorb_validator_new(struct xorb_validator **ret_validator, struct fault *fault);
void xorb_validator_free(struct xorb_validator *validator);
DEFINE_CLEANUP(xorb_validator_free, struct xorb_validator *);

/* The next bytes of the body. CORRUPT (malformed), OVERSIZE (beyond a limit), NO_MEMORY. */
MUST_CHECK enum hfkv_status xorb_validator_feed(struct xorb_validator *validator, const void *bytes, size_t length,
						struct fault *fault);

/* The body ended. CORRUPT when it ends early, holds no chunk, or its footer disagrees. On OK the caller owns
 * *ret_listing (xorb_listing_done) and compares listing.hash with the name the body came under; body bytes from
 * listing.records_bytes on are footer. */
MUST_CHECK enum hfkv_status xorb_validator_finish(struct xorb_validator *validator,
						  struct xorb_listing *ret_listing, struct fault *fault);

#endif
