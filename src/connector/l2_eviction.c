/* Deleting from an L2 adapter: what the caller asks, and our own evictor where no controller of LMCache runs. */
#include "common/log.h"
#include "src/connector/l2_state.h"

#include <string.h>

#define ROUND_KEYS 1000

/* ---- deleting ---- */

/* Marks what may go and copies it to `leaving`; the rest is BUSY. */
static size_t begin_leaving(struct hfkv_l2 *l2, struct hfkv_item *items, size_t count, struct hfkv_item *leaving,
			    uint64_t *ret_begun_at)
{
	size_t leaving_count = 0;
	SCOPED_LOCK(&l2->mutex);
	*ret_begun_at = usage_ledger_moment(l2->ledger);
	for (size_t i = 0; i < count; i++) {
		bool may_go = items[i].key && l2_locks_begin_leaving(&l2->locks, items[i].key);
		items[i].status = may_go ? HFKV_OK : HFKV_BUSY;
		items[i].bytes = 0;
		if (may_go)
			leaving[leaving_count++] = (struct hfkv_item){ .key = items[i].key };
	}
	return leaving_count;
}

/* Takes the outcomes back, and what is gone out of the usage. Gone is also what was not there. */
static void end_leaving(struct hfkv_l2 *l2, struct hfkv_item *items, size_t count, const struct hfkv_item *leaving,
			uint64_t begun_at)
{
	size_t at = 0;
	SCOPED_LOCK(&l2->mutex);
	for (size_t i = 0; i < count; i++) {
		if (items[i].status == HFKV_BUSY)
			continue;
		enum hfkv_status outcome = leaving[at++].status;
		l2_locks_end_leaving(&l2->locks, items[i].key);
		items[i].status = outcome == HFKV_NOT_FOUND ? HFKV_OK : outcome;
		if (items[i].status != HFKV_OK)
			continue;
		items[i].bytes = usage_ledger_forget(l2->ledger, items[i].key, begun_at);
		l2_rebuild_note_deleted(l2, items[i].key);
	}
}

enum hfkv_status l2_delete_unlocked(struct hfkv_l2 *l2, struct hfkv_item *items, size_t count, int64_t timeout_ms,
				    struct fault *fault)
{
	CLEANUP(free_pointer) struct hfkv_item *leaving = calloc(count ? count : 1, sizeof(*leaving));
	if (!leaving)
		return HFKV_NO_MEMORY;
	uint64_t begun_at;
	size_t leaving_count = begin_leaving(l2, items, count, leaving, &begun_at);
	enum hfkv_status status = HFKV_OK;
	if (leaving_count > 0)
		status = task_engine_run(l2->engine, HFKV_OP_REMOVE, leaving, leaving_count, timeout_ms, fault);
	end_leaving(l2, items, count, leaving, begun_at);
	return status;
}

/* ---- the evictor ---- */

struct victims {
	struct hfkv_l2 *l2;
	uint64_t wanted_bytes, bytes;
	char *keys[ROUND_KEYS];
	struct hfkv_item items[ROUND_KEYS];
	size_t count;
};

/* Lock held. The oldest keys that nobody has locked, until there are enough. */
static enum hfkv_status choose_victim(void *context, const char *key, uint64_t bytes)
{
	struct victims *victims = context;
	if (victims->count == ROUND_KEYS || victims->bytes >= victims->wanted_bytes)
		return HFKV_CANCELLED; /* enough: ends the visit */
	/* A probe: deleting marks it again. */
	if (!l2_locks_begin_leaving(&victims->l2->locks, key))
		return HFKV_OK;
	l2_locks_end_leaving(&victims->l2->locks, key);
	char *copy = strdup(key);
	if (!copy)
		return HFKV_NO_MEMORY;
	victims->keys[victims->count] = copy;
	victims->items[victims->count++] = (struct hfkv_item){ .key = copy };
	victims->bytes += bytes;
	return HFKV_OK;
}

/* One round: bytes freed, 0 when nothing could be. */
static uint64_t evict_round(struct hfkv_l2 *l2, uint64_t wanted_bytes)
{
	CLEANUP(free_pointer) struct victims *victims = calloc(1, sizeof(*victims));
	if (!victims)
		return 0;
	victims->l2 = l2;
	victims->wanted_bytes = wanted_bytes;
	pthread_mutex_lock(&l2->mutex);
	(void)usage_ledger_visit_keys(l2->ledger, choose_victim, victims);
	pthread_mutex_unlock(&l2->mutex);
	struct fault fault = FAULT_NONE;
	uint64_t freed = 0;
	enum hfkv_status status =
	    l2_delete_unlocked(l2, victims->items, victims->count, l2->settings.timeout_ms, &fault);
	for (size_t i = 0; i < victims->count; i++) {
		freed += victims->items[i].status == HFKV_OK ? victims->items[i].bytes : 0;
		free(victims->keys[i]);
	}
	if (status != HFKV_OK)
		log_warning("evicting %zu keys failed (%s), ignoring", victims->count, fault_text(&fault, status));
	return freed;
}

static void evict_aside(void *context)
{
	struct hfkv_l2 *l2 = context;
	uint64_t wanted = (uint64_t)(l2->settings.eviction_ratio * (double)l2->settings.capacity_bytes);
	uint64_t freed = 0, round = 1;
	while (freed < wanted && round > 0 && !atomic_load(task_engine_stopping(l2->engine))) {
		round = evict_round(l2, wanted - freed);
		freed += round;
	}
	log_debug("evicted %llu of %llu bytes", (unsigned long long)freed, (unsigned long long)wanted);
	SCOPED_LOCK(&l2->mutex);
	l2->eviction_runs = false;
}

void l2_eviction_start_if_needed(struct hfkv_l2 *l2)
{
	const struct l2_settings *settings = &l2->settings;
	if (!settings->evicts || settings->capacity_bytes == 0)
		return;
	pthread_mutex_lock(&l2->mutex);
	double total = (double)usage_ledger_total_bytes(l2->ledger);
	bool is_full = total >= settings->trigger_watermark * (double)settings->capacity_bytes;
	/* Before the listing is in, the oldest keys are not known. */
	bool start = is_full && l2->rebuild == L2_REBUILD_DONE && !l2->eviction_runs;
	if (start)
		l2->eviction_runs = true;
	pthread_mutex_unlock(&l2->mutex);
	if (!start || task_engine_run_aside(l2->engine, evict_aside, l2))
		return;
	SCOPED_LOCK(&l2->mutex);
	l2->eviction_runs = false;
}
