/*
 * The xorbs of an upload session: the one being filled, those on their way, those the CAS has. Private to
 * backend/cas.
 *
 * One thread at a time; the HTTP thread only reads bodies that are under way.
 */
#ifndef BACKEND_CAS_SESSION_XORBS_H
#define BACKEND_CAS_SESSION_XORBS_H

#include "backend/cas/cas_client.h"
#include "backend/cas/chunk_index.h"
#include "backend/cas/xorb_body.h"
#include "backend/xet/chunk_codec.h"
#include "backend/xet/xorb_writer.h"

struct session_xorb {
	struct xorb_listing listing; /* empty until the xorb is closed */
	struct xorb_body body;       /* empty again once the CAS has it */
	struct cas_xorb_put *put;    /* NULL before and after */
};

/* Fields are for reading. */
struct session_xorbs {
	struct cas_client *client;
	const struct cas_call *call;
	const struct upload_source *sources;
	struct transfer_progress *progress;
	struct xorb_writer *writer; /* of the open xorb, the last of the list */
	struct session_xorb **list;
	uint32_t count, capacity;
	uint32_t first_unsent; /* xorbs before this one are at the CAS */
	uint32_t in_flight;
	uint64_t packed_bytes;  /* memory held by bodies, the open one included */
	uint32_t failed_source; /* valid after CHANGED or IO: the source that is to blame */
	bool is_source_failure;
};

MUST_CHECK enum hfkv_status session_xorbs_init(struct session_xorbs *xorbs, struct cas_client *client,
					       const struct cas_call *call, const struct upload_source *sources,
					       struct transfer_progress *progress, struct fault *fault);
/* Gives up what is under way. */
void session_xorbs_done(struct session_xorbs *xorbs);

/* Raw bytes in the open xorb, 0 when there is none. */
uint32_t session_xorbs_open_bytes(const struct session_xorbs *xorbs);

/* A chunk that the session does not have yet. */
struct new_chunk {
	struct cut_chunk cut;
	uint32_t source; /* number of its source */
	struct content_hash hash;
};

/* Adds a chunk to the open xorb, which is closed first when the chunk does not fit. Blocks while too much is under
 * way. Any status of an upload; CHANGED or IO with is_source_failure when a source is to blame. */
MUST_CHECK enum hfkv_status session_xorbs_add(struct session_xorbs *xorbs, struct chunk_packer *packer,
					      const struct new_chunk *chunk, struct chunk_place *ret_place,
					      struct fault *fault);

/* Closes the open xorb, if any, and starts sending it. */
MUST_CHECK enum hfkv_status session_xorbs_close(struct session_xorbs *xorbs, struct fault *fault);

/* Waits until the CAS has every closed xorb. */
MUST_CHECK enum hfkv_status session_xorbs_wait_all(struct session_xorbs *xorbs, struct fault *fault);

#endif
