#include "src/connector/l2_adapter.h"

#include "common/log.h"
#include "src/connector/connector.h"
#include "src/connector/l2_state.h"
#include "src/connector/settings_document.h"

#include <stdio.h>
#include <string.h>

#define LEDGER_MAX_KEYS (1024 * 1024)

DEFINE_CLEANUP(hfkv_l2_close, struct hfkv_l2 *);

/* A task as the adapter keeps it, from submit until its result is popped. */
struct l2_task {
	struct l2_completion completion; /* first: what comes out of the completions */
	struct hfkv_l2 *l2;
	enum hfkv_l2_kind kind;
	uint64_t begun_at; /* a moment of the ledger: an absence counts for what was known then */
	bool locked[];     /* lookup: item n was locked at submit, so that nothing is deleted between look and lock */
};

/* ---- life ---- */

static enum hfkv_status init_parts(struct hfkv_l2 *l2, struct fault *fault)
{
	for (size_t kind = 0; kind < HFKV_L2_KINDS; kind++) {
		enum hfkv_status status = l2_completions_init(&l2->completions[kind], fault);
		if (status != HFKV_OK)
			return status;
	}
	l2->ledger = usage_ledger_new(LEDGER_MAX_KEYS);
	return l2->ledger ? HFKV_OK : HFKV_NO_MEMORY;
}

enum hfkv_status l2_adapter_new(struct kv_backend *backend, const struct l2_settings *settings,
				struct hfkv_l2 **ret_l2, struct fault *fault)
{
	CLEANUP(hfkv_l2_closep) struct hfkv_l2 *l2 = calloc(1, sizeof(*l2));
	if (!l2)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&l2->mutex, NULL);
	condition_init(&l2->rebuild_ended);
	l2->settings = *settings;
	for (size_t kind = 0; kind < HFKV_L2_KINDS; kind++)
		l2->completions[kind].event_fd = -1;
	enum hfkv_status status = init_parts(l2, fault);
	if (status == HFKV_OK)
		status = task_engine_new(backend, settings->threads, &l2->engine);
	if (status != HFKV_OK)
		return status;
	l2->backend = backend;
	l2_rebuild_start_if_needed(l2);
	*ret_l2 = TAKE_PTR(l2);
	return HFKV_OK;
}

void hfkv_l2_close(struct hfkv_l2 *l2)
{
	if (!l2)
		return;
	task_engine_free(l2->engine);
	kv_backend_free(l2->backend, deadline_after_ms(l2->settings.timeout_ms));
	for (size_t kind = 0; kind < HFKV_L2_KINDS; kind++) {
		struct l2_completion *completion;
		while ((completion = l2_completions_take_oldest(&l2->completions[kind])))
			free(completion);
		l2_completions_destroy(&l2->completions[kind]);
	}
	l2_rebuild_forget_deleted(l2);
	l2_locks_done(&l2->locks);
	usage_ledger_free(l2->ledger);
	pthread_mutex_destroy(&l2->mutex);
	pthread_cond_destroy(&l2->rebuild_ended);
	free(l2);
}

void l2_adapter_run_aside(struct hfkv_l2 *l2, void (*function)(void *l2))
{
	(void)task_engine_run_aside(l2->engine, function, l2);
}

struct kv_backend *l2_adapter_backend(struct hfkv_l2 *l2)
{
	return l2->backend;
}

const atomic_bool *l2_adapter_stopping(const struct hfkv_l2 *l2)
{
	return task_engine_stopping(l2->engine);
}

int hfkv_l2_event_fd(const struct hfkv_l2 *l2, enum hfkv_l2_kind kind)
{
	return l2->completions[kind].event_fd;
}

/* ---- what a done task means for locks and usage; the mutex is held ---- */

static void count_stored(struct l2_task *task, struct hfkv_item *item)
{
	struct hfkv_l2 *l2 = task->l2;
	if (item->status != HFKV_OK)
		return;
	item->is_new = usage_ledger_note(l2->ledger, item->key, item->bytes);
	l2_rebuild_note_stored(l2, item->key);
}

/* What others stored in a shared place is counted when it is found. */
static void count_found(struct l2_task *task, struct hfkv_item *item)
{
	struct hfkv_l2 *l2 = task->l2;
	bool locked = task->locked[item - task->completion.result.items];
	if (item->status == HFKV_NOT_FOUND)
		usage_ledger_forget(l2->ledger, item->key, task->begun_at);
	if (item->status == HFKV_OK && !locked) {
		item->status = HFKV_NOT_FOUND; /* it was being deleted */
		item->bytes = 0;
	}
	if (item->status != HFKV_OK) {
		if (locked)
			l2_locks_release(&l2->locks, item->key);
		return;
	}
	if (!usage_ledger_touch(l2->ledger, item->key))
		usage_ledger_note(l2->ledger, item->key, item->bytes);
}

static void count_loaded(struct l2_task *task, struct hfkv_item *item)
{
	struct hfkv_l2 *l2 = task->l2;
	if (item->status == HFKV_OK)
		usage_ledger_touch(l2->ledger, item->key);
	else if (item->status == HFKV_NOT_FOUND)
		usage_ledger_forget(l2->ledger, item->key, task->begun_at);
}

static void count_items(struct l2_task *task)
{
	static void (*const count_item[HFKV_L2_KINDS])(struct l2_task *, struct hfkv_item *) = {
		[HFKV_L2_STORE] = count_stored,
		[HFKV_L2_LOOKUP] = count_found,
		[HFKV_L2_LOAD] = count_loaded,
	};
	struct hfkv_l2_result *result = &task->completion.result;
	SCOPED_LOCK(&task->l2->mutex);
	for (size_t i = 0; i < result->count; i++) {
		count_item[task->kind](task, &result->items[i]);
		if (result->items[i].status != HFKV_OK)
			continue;
		result->ok_count++;
		result->bytes += result->items[i].bytes;
	}
}

/* After this the task is its popper's. */
static void publish(struct l2_task *task)
{
	l2_completions_add(&task->l2->completions[task->kind], &task->completion);
}

static void finish(struct task *done, void *context)
{
	struct l2_task *task = context;
	struct hfkv_l2 *l2 = task->l2;
	struct hfkv_l2_result *result = &task->completion.result;
	bool worked = done->status == HFKV_OK;
	bool stored = task->kind == HFKV_L2_STORE;
	result->status = done->status;
	if (!worked)
		snprintf(result->text, sizeof(result->text), "%.*s", (int)sizeof(result->text) - 1,
			 fault_text(&done->fault, done->status));
	task_free(done);
	count_items(task);
	publish(task);
	if (worked)
		l2_rebuild_start_if_needed(l2);
	if (stored)
		l2_eviction_start_if_needed(l2);
}

/* ---- tasks ---- */

static enum hfkv_operation operation_of(enum hfkv_l2_kind kind)
{
	static const enum hfkv_operation operations[HFKV_L2_KINDS] = {
		[HFKV_L2_STORE] = HFKV_OP_PUT,
		[HFKV_L2_LOOKUP] = HFKV_OP_EXISTS,
		[HFKV_L2_LOAD] = HFKV_OP_GET,
	};
	return operations[kind];
}

/* A task that the engine did not take is done at once, as failed. */
static void fail_at_once(struct l2_task *task, enum hfkv_status status)
{
	struct hfkv_l2_result *result = &task->completion.result;
	for (size_t i = 0; i < result->count; i++) {
		result->items[i].status = status;
		result->items[i].bytes = 0;
		result->items[i].is_new = 0;
	}
	count_items(task);
	result->status = status;
	snprintf(result->text, sizeof(result->text), "%s",
		 status == HFKV_BUSY ? "too many tasks wait" : "the adapter is closing");
	publish(task);
}

static void lock_keys(struct l2_task *task)
{
	const struct hfkv_l2_result *result = &task->completion.result;
	SCOPED_LOCK(&task->l2->mutex);
	for (size_t i = 0; i < result->count; i++)
		task->locked[i] =
		    result->items[i].key && l2_locks_acquire(&task->l2->locks, result->items[i].key);
}

enum hfkv_status hfkv_l2_submit(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, struct hfkv_item *items, size_t count,
				uint64_t *ret_task, struct hfkv_error *error)
{
	struct l2_task *task = calloc(1, sizeof(*task) + (kind == HFKV_L2_LOOKUP ? count : 0) * sizeof(bool));
	if (!task)
		return error_from_fault(HFKV_NO_MEMORY, NULL, error);
	task->l2 = l2;
	task->kind = kind;
	task->begun_at = usage_ledger_moment(l2->ledger);
	task->completion.result.task = atomic_fetch_add(&l2->next_task, 1) + 1;
	task->completion.result.items = items;
	task->completion.result.count = count;
	if (kind == HFKV_L2_LOOKUP)
		lock_keys(task);
	*ret_task = task->completion.result.task; /* before it runs: the caller may poll at once */
	struct task_request request = {
		.id = *ret_task,
		.operation = operation_of(kind),
		.items = items,
		.count = count,
		.timeout_ms = batch_timeout_ms(l2->settings.timeout_ms, items, kind == HFKV_L2_LOOKUP ? 0 : count),
		.done = finish,
		.context = task,
	};
	enum hfkv_status status = task_engine_submit(l2->engine, &request);
	if (status != HFKV_OK)
		fail_at_once(task, status);
	return HFKV_OK;
}

static struct hfkv_l2_result unwrap(struct l2_completion *completion)
{
	struct hfkv_l2_result result = completion->result;
	free(completion); /* first member of its l2_task */
	return result;
}

enum hfkv_status hfkv_l2_query(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, uint64_t task,
			       struct hfkv_l2_result *ret_result)
{
	struct l2_completion *completion = l2_completions_take(&l2->completions[kind], task);
	if (!completion)
		return HFKV_NOT_FOUND;
	*ret_result = unwrap(completion);
	return HFKV_OK;
}

size_t hfkv_l2_pop(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, struct hfkv_l2_result *results, size_t capacity)
{
	size_t count = 0;
	struct l2_completion *completion;
	while (count < capacity && (completion = l2_completions_take_oldest(&l2->completions[kind])))
		results[count++] = unwrap(completion);
	return count;
}

void hfkv_l2_unlock(struct hfkv_l2 *l2, const char *const *keys, size_t count)
{
	SCOPED_LOCK(&l2->mutex);
	for (size_t i = 0; i < count; i++)
		l2_locks_release(&l2->locks, keys[i]);
}

enum hfkv_status hfkv_l2_delete(struct hfkv_l2 *l2, struct hfkv_item *items, size_t count, int64_t timeout_ms,
				struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    l2_delete_unlocked(l2, items, count, timeout_ms > 0 ? timeout_ms : l2->settings.timeout_ms, &fault);
	return error_from_fault(status, &fault, error);
}

/* ---- usage ---- */

void hfkv_l2_usage_read(struct hfkv_l2 *l2, struct hfkv_l2_usage *ret_usage)
{
	uint64_t capacity = l2->settings.capacity_bytes;
	if (capacity == 0 && !atomic_exchange(&l2->said_no_capacity, true))
		log_warning("max_capacity_gb is 0: the usage fraction is -1 and nothing is evicted");
	SCOPED_LOCK(&l2->mutex);
	uint64_t total = usage_ledger_total_bytes(l2->ledger);
	*ret_usage = (struct hfkv_l2_usage){
		.total_bytes = total,
		.capacity_bytes = capacity,
		.fraction = capacity > 0 ? (double)total / (double)capacity : -1,
		.keys = usage_ledger_key_count(l2->ledger),
		.locked_keys = l2->locks.locked_keys,
		.rebuilt = l2->rebuild == L2_REBUILD_DONE,
	};
}

/* Copies of (name, bytes), so that a caller's visit runs without our lock. */
struct snapshot {
	char **names;
	uint64_t *bytes;
	size_t count, room;
};

static void snapshot_done(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		free(snapshot->names[i]);
	free(snapshot->names);
	free(snapshot->bytes);
}

static enum hfkv_status add_to_snapshot(void *context, const char *name, uint64_t bytes)
{
	struct snapshot *snapshot = context;
	if (snapshot->count == snapshot->room) {
		size_t room = snapshot->room ? snapshot->room * 2 : 64;
		char **names = realloc(snapshot->names, room * sizeof(*names));
		if (names)
			snapshot->names = names;
		uint64_t *sizes = realloc(snapshot->bytes, room * sizeof(*sizes));
		if (sizes)
			snapshot->bytes = sizes;
		if (!names || !sizes)
			return HFKV_NO_MEMORY;
		snapshot->room = room;
	}
	snapshot->names[snapshot->count] = strdup(name);
	if (!snapshot->names[snapshot->count])
		return HFKV_NO_MEMORY;
	snapshot->bytes[snapshot->count++] = bytes;
	return HFKV_OK;
}

static enum hfkv_status visit_snapshot(const struct snapshot *snapshot, hfkv_visit visit, void *context)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		enum hfkv_status status = visit(context, snapshot->names[i], snapshot->bytes[i]);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

enum hfkv_status hfkv_l2_usage_by_salt(struct hfkv_l2 *l2, hfkv_visit visit, void *context)
{
	CLEANUP(snapshot_done) struct snapshot snapshot = { NULL };
	pthread_mutex_lock(&l2->mutex);
	enum hfkv_status status = usage_ledger_visit_salts(l2->ledger, add_to_snapshot, &snapshot);
	pthread_mutex_unlock(&l2->mutex);
	return status == HFKV_OK ? visit_snapshot(&snapshot, visit, context) : status;
}

enum hfkv_status hfkv_l2_list(struct hfkv_l2 *l2, hfkv_visit visit, void *context, int64_t timeout_ms,
			      struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	CLEANUP(snapshot_done) struct snapshot snapshot = { NULL };
	struct deadline deadline = deadline_after_ms(timeout_ms > 0 ? timeout_ms : l2->settings.timeout_ms);
	enum hfkv_status status = l2_rebuild(l2, deadline, &fault);
	if (status != HFKV_OK)
		return error_from_fault(status, &fault, error);
	pthread_mutex_lock(&l2->mutex);
	status = usage_ledger_visit_keys(l2->ledger, add_to_snapshot, &snapshot);
	pthread_mutex_unlock(&l2->mutex);
	if (status == HFKV_OK)
		status = visit_snapshot(&snapshot, visit, context);
	return error_from_fault(status, NULL, error);
}

enum hfkv_status hfkv_l2_ping(struct hfkv_l2 *l2, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = kv_backend_ping(l2->backend, deadline_after_ms(KV_BACKEND_PING_MAX_MS), &fault);
	return error_from_fault(status, &fault, error);
}
