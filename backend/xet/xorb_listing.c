#include "backend/xet/xorb_listing.h"

#include <stdlib.h>

void xorb_listing_done(struct xorb_listing *listing)
{
	free(listing->chunks);
	*listing = (struct xorb_listing){ 0 };
}

uint32_t xorb_listing_raw_start(const struct xorb_listing *listing, uint32_t index)
{
	return index == 0 ? 0 : listing->chunks[index - 1].raw_end;
}

uint32_t xorb_listing_raw_bytes(const struct xorb_listing *listing, uint32_t index)
{
	return listing->chunks[index].raw_end - xorb_listing_raw_start(listing, index);
}

uint32_t xorb_listing_record_start(const struct xorb_listing *listing, uint32_t index)
{
	return index == 0 ? 0 : listing->chunks[index - 1].record_end;
}
