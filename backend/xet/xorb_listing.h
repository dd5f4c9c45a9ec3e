/*
 * What a xorb holds: its hash, and hash and place of each chunk. The common tongue of writer, validator and
 * footer.
 *
 * Plain value that owns its array; release with xorb_listing_done (accepts an empty one).
 */
#ifndef BACKEND_XET_XORB_LISTING_H
#define BACKEND_XET_XORB_LISTING_H

#include "common/content_hash.h"

#include <stdint.h>

struct xorb_listing_chunk {
	struct content_hash hash;
	uint32_t raw_end;    /* where the chunk ends in the uncompressed stream of the xorb */
	uint32_t record_end; /* where its record ends in the body */
};

struct xorb_listing {
	struct content_hash hash; /* of the xorb: Merkle root over the chunks */
	uint32_t chunk_count;
	uint32_t raw_bytes;                /* sum of the chunks */
	uint32_t records_bytes;            /* the body without a footer */
	struct xorb_listing_chunk *chunks; /* owned; chunk_count entries */
};

void xorb_listing_done(struct xorb_listing *listing);

/* Start offsets and lengths of chunk `index`, which is below chunk_count. */
uint32_t xorb_listing_raw_start(const struct xorb_listing *listing, uint32_t index);
uint32_t xorb_listing_raw_bytes(const struct xorb_listing *listing, uint32_t index);
uint32_t xorb_listing_record_start(const struct xorb_listing *listing, uint32_t index);

#endif
