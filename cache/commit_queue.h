/*
 * Objects that wait to be stored, and which of them may go together.
 *
 * A batch never holds a path twice, nor one that another mutation has claimed, and keeps to limits in names and
 * bytes. It goes by the earliest deadline in it, so a commit with little time left does not join those that have
 * much.
 *
 * Plain structure; the committer's lock protects it.
 */
#ifndef CACHE_COMMIT_QUEUE_H
#define CACHE_COMMIT_QUEUE_H

#include "backend/store/object_store.h"
#include "cache/path_claims.h"

#define COMMIT_BATCH_NAMES 1000 /* of one batch call of the Hub */
#define COMMIT_BATCH_BYTES                                                                                        \
	(512ULL << 20) /* keeps a batch's time within a deadline; one larger object goes alone */

enum commit_state { COMMIT_QUEUED, COMMIT_IN_FLIGHT, COMMIT_DONE };

/* One object to store. Owned by the caller who waits for it, and in place until it is DONE. The caller fills the
 * first part. */
struct commit {
	const char *path;            /* full object path */
	struct object_source source; /* unchanged until DONE */
	int64_t modified_at_ms;      /* 0: now */
	struct deadline deadline;
	void *context; /* the caller's */

	enum commit_state state;
	enum hfkv_status status;  /* valid when DONE */
	struct content_hash hash; /* valid when OK */
	struct fault fault;
	struct commit *next, *previous; /* the queue's */
};

struct commit_queue {
	struct commit *first, *last;
	size_t count;
};

void commit_queue_push(struct commit_queue *queue, struct commit *commit);
/* Takes one that is queued out. */
void commit_queue_remove(struct commit_queue *queue, struct commit *commit);
/* Whether a commit of `path` (NULL: any) waits. */
bool commit_queue_has(const struct commit_queue *queue, const char *path);

/* A batch under way. */
struct commit_batch {
	size_t count;
	struct deadline deadline;
	struct commit *commits[COMMIT_BATCH_NAMES];
};

/* Takes a batch that begins with `head`, which is queued, and others in their order, claiming their paths and
 * marking them IN_FLIGHT. False, and nothing changed, when the path of `head` is claimed. */
bool commit_queue_take_batch(struct commit_queue *queue, struct path_claims *claims, struct commit *head,
			     struct commit_batch *batch);

#endif
