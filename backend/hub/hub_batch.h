/*
 * The only mutation of names: POST batch, NDJSON lines that add, copy and delete, at most 1000 a call.
 *
 * Not atomic: a call may be applied in part, and a lost answer says nothing. hub_batch_commit sends once and
 * reports what the Hub said of each line; finding out what landed otherwise, and trying again, is the store's. Any
 * thread.
 */
#ifndef BACKEND_HUB_HUB_BATCH_H
#define BACKEND_HUB_HUB_BATCH_H

#include "backend/hub/hub_client.h"
#include "common/content_hash.h"

#define HUB_BATCH_MAX_LINES 1000

enum hub_batch_kind { HUB_BATCH_ADD, HUB_BATCH_COPY, HUB_BATCH_DELETE };

enum hub_batch_outcome {
	HUB_BATCH_UNKNOWN, /* the answer was lost, or says that the call failed */
	HUB_BATCH_APPLIED,
	HUB_BATCH_REFUSED, /* listed as failed */
};

#define HUB_BATCH_REASON_BYTES 128

/* One line. The caller fills the first part. */
struct hub_batch_line {
	enum hub_batch_kind kind;
	const char *path;         /* UTF-8; borrowed until return */
	struct content_hash hash; /* add and copy: what the name shall mean; zero for an empty file */
	int64_t modified_at_ms;   /* add and copy */

	enum hub_batch_outcome outcome;
	char reason[HUB_BATCH_REASON_BYTES]; /* the Hub's, when refused */
};

/* Adds, copies, deletes, in the caller's order. OK: the Hub answered 2xx or 422 with its list, and every outcome
 * is known (APPLIED or REFUSED). Otherwise the failure; every outcome is UNKNOWN. INVALID: more than
 * HUB_BATCH_MAX_LINES. */
MUST_CHECK enum hfkv_status hub_batch_commit(struct hub_client *client, struct hub_batch_line *lines, size_t count,
					     struct deadline deadline, struct fault *fault);

#endif
