/*
 * Follows a whole plan: runs its fetches on the caller's thread and a few borrowed ones, repeats what fails for a
 * passing reason, and asks for fresh URLs when they expire. Private to backend/cas.
 */
#ifndef BACKEND_CAS_PLAN_CREW_H
#define BACKEND_CAS_PLAN_CREW_H

#include "backend/cas/xorb_fetch.h"

struct plan_job {
	struct cas_client *client;
	struct cas_call call;        /* cancel is not NULL: it is fired when a fetch fails, to stop the others */
	struct cas_file_range range; /* that the plan was asked for, to ask again */
	const struct reconstruction *plan;
	const struct fetch_target *target;
	int64_t plan_start;         /* as in struct xorb_fetch */
	struct chunk_proof *proofs; /* of all fetches, one after the other; NULL: do not hash */
	struct transfer_progress *progress;
};

/* Blocks until every fetch is done or one has failed for good; then no thread touches anything of the job's. The
 * failure returned is the first one. CHANGED: the data has other places now; ask for a new plan and begin again.
 */
MUST_CHECK enum hfkv_status plan_crew_run(const struct plan_job *job, struct fault *fault);

#endif
