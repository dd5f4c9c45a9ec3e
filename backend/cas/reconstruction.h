/*
 * The plan for reading a range of a file: which byte ranges of which xorbs to fetch, and which of their chunks
 * make up the file. Parsed from the CAS's answers, v1 and v2 alike; pure, no I/O.
 *
 * Source: Xet protocol, file-reconstruction. Equal ranges are merged, so one fetch serves every term that needs it;
 * an entry of several ranges becomes single-range fetches. Everything is checked: a plan that exists can be
 * followed. Plain data, immutable after parsing but for URLs; one thread at a time.
 */
#ifndef BACKEND_CAS_RECONSTRUCTION_H
#define BACKEND_CAS_RECONSTRUCTION_H

#include "common/attributes.h"
#include "common/cleanup.h"
#include "common/content_hash.h"
#include "common/fault.h"

#include <stddef.h>
#include <stdint.h>

#define RECONSTRUCTION_MAX_TERMS      (1024 * 1024)
#define RECONSTRUCTION_MAX_JSON_BYTES (64 * 1024 * 1024)

/* One ranged GET: chunks [chunk_start, chunk_end) of a xorb are exactly bytes first..last (inclusive) at url. */
struct reconstruction_fetch {
	struct content_hash xorb;
	uint32_t chunk_start, chunk_end;
	uint64_t first_byte, last_byte;
	const char *url; /* owned by the plan */
	uint32_t
	    first_term; /* its terms: places first_term .. of reconstruction.by_fetch, ordered by chunk_start */
	uint32_t term_count;
};

/* One run of chunks of the file. */
struct reconstruction_term {
	uint32_t fetch;                  /* index of the fetch that holds its chunks */
	uint32_t chunk_start, chunk_end; /* not empty, inside the fetch's chunks */
	uint64_t plan_offset;            /* of its first byte in the concatenation of all terms */
	uint32_t raw_bytes;
};

struct reconstruction {
	uint64_t skip_bytes;  /* drop so many bytes at the front: offset_into_first_range */
	uint64_t total_bytes; /* sum of the terms, skipped bytes included */
	size_t term_count, fetch_count;
	struct reconstruction_term *terms;    /* in file order */
	struct reconstruction_fetch *fetches; /* in order of first use; every one is used */
	uint32_t *by_fetch;                   /* indices into terms, grouped by fetch */
	void *text;                           /* owns the URLs */
};

enum reconstruction_version { RECONSTRUCTION_V1 = 1, RECONSTRUCTION_V2 = 2 };

/* CORRUPT when the answer is not what the protocol says (the caller may ask again); OVERSIZE beyond a limit;
 * NO_MEMORY. */
MUST_CHECK enum hfkv_status reconstruction_parse(enum reconstruction_version version, const char *json,
						 size_t length, struct reconstruction **ret_plan,
						 struct fault *fault);

void reconstruction_free(struct reconstruction *plan);
DEFINE_CLEANUP(reconstruction_free, struct reconstruction *);

/* The fetch of the same xorb, chunks and bytes, for a fresh URL; NULL when there is none. */
const struct reconstruction_fetch *reconstruction_find(const struct reconstruction *plan,
						       const struct reconstruction_fetch *like);

#endif
