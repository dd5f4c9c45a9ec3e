/* Usage after a restart: a listing of the backend taken into the ledger, oldest first, beside the tasks. */
#include "common/log.h"
#include "src/connector/l2_state.h"

#include <string.h>

#define RETRY_AFTER_MS 30000
/* Keys taken in under one hold of the mutex. */
#define SLICE_KEYS 1000

struct l2_deleted_key {
	UT_hash_handle hh;
	char key[];
};

struct listed_key {
	char *key;
	uint64_t bytes;
	int64_t modified_at_ms;
};

struct listing {
	const atomic_bool *stopping;
	struct listed_key *keys;
	size_t count, room;
};

static void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->keys[i].key);
	free(listing->keys);
}

static enum hfkv_status add_to_listing(void *context, const char *key, uint64_t bytes, int64_t modified_at_ms)
{
	struct listing *listing = context;
	if (atomic_load(listing->stopping))
		return HFKV_CANCELLED;
	if (listing->count == listing->room) {
		size_t room = listing->room ? listing->room * 2 : 1024;
		struct listed_key *keys = realloc(listing->keys, room * sizeof(*keys));
		if (!keys)
			return HFKV_NO_MEMORY;
		listing->keys = keys;
		listing->room = room;
	}
	struct listed_key listed = { strdup(key), bytes, modified_at_ms };
	if (!listed.key)
		return HFKV_NO_MEMORY;
	listing->keys[listing->count++] = listed;
	return HFKV_OK;
}

static int newest_first(const void *a, const void *b)
{
	const struct listed_key *left = a, *right = b;
	if (left->modified_at_ms != right->modified_at_ms)
		return left->modified_at_ms > right->modified_at_ms ? -1 : 1;
	return strcmp(left->key, right->key);
}

static bool was_deleted(const struct hfkv_l2 *l2, const char *key)
{
	const struct l2_deleted_key *deleted;
	HASH_FIND_STR(l2->deleted_meanwhile, key, deleted);
	return deleted != NULL;
}

/* Each key goes in front of all that is known, so the newest goes first. What was stored meanwhile stays newer. */
static void take_in(struct hfkv_l2 *l2, struct listing *listing)
{
	if (listing->count > 0)
		qsort(listing->keys, listing->count, sizeof(listing->keys[0]), newest_first);
	for (size_t start = 0; start < listing->count; start += SLICE_KEYS) {
		size_t left = listing->count - start;
		size_t end = start + (left < SLICE_KEYS ? left : SLICE_KEYS);
		SCOPED_LOCK(&l2->mutex);
		for (size_t i = start; i < end; i++)
			if (!was_deleted(l2, listing->keys[i].key))
				usage_ledger_note_oldest(l2->ledger, listing->keys[i].key, listing->keys[i].bytes);
	}
}

void l2_rebuild_forget_deleted(struct hfkv_l2 *l2)
{
	struct l2_deleted_key *deleted, *next;
	HASH_ITER(hh, l2->deleted_meanwhile, deleted, next)
	{
		HASH_DEL(l2->deleted_meanwhile, deleted);
		free(deleted);
	}
}

void l2_rebuild_note_deleted(struct hfkv_l2 *l2, const char *key)
{
	if (l2->rebuild != L2_REBUILD_RUNNING || was_deleted(l2, key))
		return;
	size_t length = strlen(key);
	struct l2_deleted_key *deleted = calloc(1, sizeof(*deleted) + length + 1);
	if (!deleted)
		return;
	memcpy(deleted->key, key, length + 1);
	HASH_ADD_KEYPTR(hh, l2->deleted_meanwhile, deleted->key, length, deleted);
}

void l2_rebuild_note_stored(struct hfkv_l2 *l2, const char *key)
{
	struct l2_deleted_key *deleted;
	HASH_FIND_STR(l2->deleted_meanwhile, key, deleted);
	if (!deleted)
		return;
	HASH_DEL(l2->deleted_meanwhile, deleted);
	free(deleted);
}

static void end_rebuild(struct hfkv_l2 *l2, bool worked)
{
	SCOPED_LOCK(&l2->mutex);
	l2->rebuild = worked ? L2_REBUILD_DONE : L2_REBUILD_NEEDED;
	l2->rebuild_retry_at_ms = clock_now_ms() + RETRY_AFTER_MS;
	l2_rebuild_forget_deleted(l2);
	pthread_cond_broadcast(&l2->rebuild_ended);
}

/* The state is RUNNING, and this thread set it so. */
static enum hfkv_status run_rebuild(struct hfkv_l2 *l2, struct deadline deadline, struct fault *fault)
{
	CLEANUP(listing_done) struct listing listing = { .stopping = task_engine_stopping(l2->engine) };
	enum hfkv_status status = kv_backend_list(l2->backend, add_to_listing, &listing, deadline, fault);
	if (status == HFKV_OK)
		take_in(l2, &listing);
	end_rebuild(l2, status == HFKV_OK);
	return status;
}

/* Whether this thread is to rebuild. False: it is done, or the deadline passed while another thread was at it. */
static bool claim_rebuild(struct hfkv_l2 *l2, struct deadline deadline)
{
	SCOPED_LOCK(&l2->mutex);
	while (l2->rebuild == L2_REBUILD_RUNNING)
		if (!deadline_wait(&l2->rebuild_ended, &l2->mutex, deadline))
			return false;
	if (l2->rebuild == L2_REBUILD_DONE)
		return false;
	l2->rebuild = L2_REBUILD_RUNNING;
	return true;
}

enum hfkv_status l2_rebuild(struct hfkv_l2 *l2, struct deadline deadline, struct fault *fault)
{
	if (claim_rebuild(l2, deadline))
		return run_rebuild(l2, deadline, fault);
	pthread_mutex_lock(&l2->mutex);
	bool done = l2->rebuild == L2_REBUILD_DONE;
	pthread_mutex_unlock(&l2->mutex);
	return done ? HFKV_OK : fault_set(fault, HFKV_TIMEOUT, "the listing of stored keys takes too long");
}

static void rebuild_aside(void *context)
{
	struct hfkv_l2 *l2 = context;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = run_rebuild(l2, deadline_after_ms(l2->settings.timeout_ms), &fault);
	if (status == HFKV_OK)
		l2_eviction_start_if_needed(l2);
	else if (status != HFKV_CANCELLED)
		log_warning("usage is not known yet: listing what is stored failed (%s), ignoring",
			    fault_text(&fault, status));
}

void l2_rebuild_start_if_needed(struct hfkv_l2 *l2)
{
	pthread_mutex_lock(&l2->mutex);
	bool start = l2->rebuild == L2_REBUILD_NEEDED && clock_now_ms() >= l2->rebuild_retry_at_ms;
	if (start)
		l2->rebuild = L2_REBUILD_RUNNING;
	pthread_mutex_unlock(&l2->mutex);
	if (start && !task_engine_run_aside(l2->engine, rebuild_aside, l2))
		end_rebuild(l2, false);
}
