/*
 * Follows one ranged GET of a plan: receives it, decodes its records as they come, and puts each chunk wherever
 * the file needs it. Private to backend/cas: xet_download.h is the way to read a file.
 *
 * One try only; any number of fetches of a plan may run at once, as they write to different places.
 */
#ifndef BACKEND_CAS_XORB_FETCH_H
#define BACKEND_CAS_XORB_FETCH_H

#include "backend/cas/cas_client.h"
#include "backend/cas/transfer_progress.h"

/* Where the bytes of the asked range go: byte k to memory[k], or to offset fd_offset + k of fd. */
struct fetch_target {
	uint8_t *memory; /* NULL: fd */
	int fd;
	uint64_t fd_offset;
	uint64_t length_bytes; /* what lies beyond is dropped */
};

/* What a decoded chunk was: enough to recompute the file's hash. */
struct chunk_proof {
	struct content_hash hash;
	uint32_t raw_bytes;
};

struct xorb_fetch {
	struct cas_client *client;
	const struct cas_call *call;
	const struct reconstruction *plan;
	const struct reconstruction_fetch *fetch; /* one of the plan's, or a copy with a fresh URL */
	const struct fetch_target *target;
	int64_t
	    plan_start; /* where the plan's first byte lies in the range: negative when some are to be dropped */
	struct chunk_proof *proofs; /* one for each chunk of the fetch, filled for those used; NULL: do not hash */
	struct transfer_progress *progress;
};

/* FORBIDDEN: the URL has expired. CORRUPT: not the records that the plan promises. IO, NO_SPACE: pwrite.
 * CANCELLED. UNAVAILABLE, TIMEOUT, ...: as the HTTP layer. */
MUST_CHECK enum hfkv_status xorb_fetch_try(const struct xorb_fetch *fetch, struct fault *fault);

#endif
