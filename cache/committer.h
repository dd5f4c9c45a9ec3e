/*
 * Stores objects in batches that concurrent callers share (group commit).
 *
 * A caller with objects to store either runs a batch himself, in his own thread, taking along what others have
 * queued, or finds his objects taken along by somebody else. While few batches are in flight the first object
 * leaves at once; what comes meanwhile goes together in the next. A batch goes by the earliest deadline in it; an
 * object that ran out of that time, but not of its own, is queued once more. Reconciling after a lost answer is
 * the store's work.
 *
 * The committer also hands out claims, by which removals and renames keep clear of commits of the same names.
 *
 * Any thread; one lock; nothing else is done while it is held.
 */
#ifndef CACHE_COMMITTER_H
#define CACHE_COMMITTER_H

#include "cache/commit_queue.h"
#include "common/cleanup.h"

struct committer;

/* Called for each object when its outcome is known and before anybody may touch its path again. Runs without a
 * lock. */
typedef void (*commit_settled)(void *context, struct commit *commit);

MUST_CHECK enum hfkv_status committer_new(struct object_store *store, commit_settled settled, void *context,
					  struct committer **ret_committer);
/* No call is in flight. NULL is fine. */
void committer_free(struct committer *committer);
DEFINE_CLEANUP(committer_free, struct committer *);

/* Stores all commits; every one is DONE with its own status on return. Blocks until then: to the deadline at the
 * latest, and as much longer as the store takes to let go of the sources. OK when every one is OK, else the first
 * failure. */
MUST_CHECK enum hfkv_status committer_commit(struct committer *committer, struct commit *commits, size_t count,
					     struct deadline deadline);

/* Waits until no mutation holds any of the full paths, then holds them. Equal paths in one call are one. TIMEOUT.
 */
MUST_CHECK enum hfkv_status committer_claim(struct committer *committer, const char *const *paths, size_t count,
					    struct deadline deadline);
void committer_release(struct committer *committer, const char *const *paths, size_t count);

/* Waits until nothing of `path` (NULL: nothing at all) is queued or under way. TIMEOUT. */
MUST_CHECK enum hfkv_status committer_wait_idle(struct committer *committer, const char *path,
						struct deadline deadline);

struct committer_counters {
	uint64_t commits, committed_bytes, batches, failures, pending;
};
struct committer_counters committer_counters(struct committer *committer);

#endif
