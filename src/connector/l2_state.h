/* What the files of the L2 adapter share: its structure. Only l2_*.c include this. */
#ifndef SRC_CONNECTOR_L2_STATE_H
#define SRC_CONNECTOR_L2_STATE_H

#include "common/clock.h"
#include "src/connector/l2_adapter.h"
#include "src/connector/l2_completions.h"
#include "src/connector/l2_locks.h"
#include "src/connector/task_engine.h"
#include "src/connector/usage_ledger.h"

enum l2_rebuild_state { L2_REBUILD_NEEDED, L2_REBUILD_RUNNING, L2_REBUILD_DONE };

struct l2_deleted_key; /* l2_rebuild.c's */

struct hfkv_l2 {
	struct kv_backend *backend;
	struct task_engine *engine;
	struct l2_settings settings;
	atomic_uint_fast64_t next_task;
	atomic_bool said_no_capacity;
	struct l2_completions completions[HFKV_L2_KINDS];

	pthread_mutex_t mutex;
	pthread_cond_t rebuild_ended;
	/* under mutex */
	struct l2_locks locks;
	struct usage_ledger *ledger;
	enum l2_rebuild_state rebuild;
	int64_t rebuild_retry_at_ms;
	struct l2_deleted_key *deleted_meanwhile; /* what was deleted while a listing is under way */
	bool eviction_runs;
};

/* ---- l2_rebuild.c ---- */

/* Takes a listing in unless that was done. Blocks; waits for a rebuild under way. */
MUST_CHECK enum hfkv_status l2_rebuild(struct hfkv_l2 *l2, struct deadline deadline, struct fault *fault);
/* Starts a rebuild beside the tasks when one is needed and the last failure is long enough ago. Never blocks. */
void l2_rebuild_start_if_needed(struct hfkv_l2 *l2);
/* Lock held: `key` was deleted; a listing under way may still show it. */
void l2_rebuild_note_deleted(struct hfkv_l2 *l2, const char *key);
/* Lock held: `key` was stored; it counts again. */
void l2_rebuild_note_stored(struct hfkv_l2 *l2, const char *key);
void l2_rebuild_forget_deleted(struct hfkv_l2 *l2);

/* ---- l2_eviction.c ---- */

/* Starts the evictor beside the tasks when usage has reached the watermark. Never blocks. */
void l2_eviction_start_if_needed(struct hfkv_l2 *l2);
/* Deletes what is not locked; as hfkv_l2_delete. Blocks. */
MUST_CHECK enum hfkv_status l2_delete_unlocked(struct hfkv_l2 *l2, struct hfkv_item *items, size_t count,
					       int64_t timeout_ms, struct fault *fault);

#endif
