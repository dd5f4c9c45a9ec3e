/*
 * Which pieces of which xorbs give a range of a file: the terms, cut to the whole chunks that the range touches,
 * and per xorb the runs of chunks that serve them. Reads the catalog once for each xorb.
 *
 * A plan is the caller's own. Source: Xet protocol, file-reconstruction.
 */
#ifndef BACKEND_LOCAL_SERVER_RECONSTRUCTION_PLAN_H
#define BACKEND_LOCAL_SERVER_RECONSTRUCTION_PLAN_H

#include "backend/local_server/byte_ranges.h"
#include "backend/local_server/catalog.h"

#include <uthash.h>

/* A run of chunks; ranges of one xorb are sorted, and neither overlap nor touch. */
struct plan_range {
	uint32_t first_chunk, end_chunk; /* end exclusive */
	uint32_t start_byte, end_byte;   /* of the stored xorb, end exclusive */
};

struct plan_xorb {
	struct xorb_listing listing;
	struct plan_range *ranges;
	uint32_t range_count;
	UT_hash_handle hh;
};

struct plan_term {
	struct plan_xorb *xorb;
	uint32_t first_chunk, end_chunk;
	uint32_t raw_bytes;
};

struct reconstruction_plan {
	uint64_t skip_bytes; /* of the first term's bytes, before the range begins */
	struct plan_term *terms;
	uint32_t term_count;
	struct plan_xorb *xorbs; /* a uthash by hash, in order of first use */
};

/* The plan for `range` of the file, which lies inside it and is not empty. CORRUPT: the catalog contradicts
 * itself. */
MUST_CHECK enum hfkv_status reconstruction_plan_new(struct catalog *catalog, const struct catalog_file *file,
						    struct byte_range range, struct reconstruction_plan **ret_plan,
						    struct fault *fault);
void reconstruction_plan_free(struct reconstruction_plan *plan);
DEFINE_CLEANUP(reconstruction_plan_free, struct reconstruction_plan *);

#endif
