#include "src/connector/connector.h"

#include "src/connector/settings_document.h"
#include "src/connector/task_engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define BYTES_PER_MS_AT_LEAST (4 * 1024 * 1024 / 1000)

struct hfkv_connector {
	struct kv_backend *backend;
	struct task_engine *engine;
	struct connector_settings settings;
	int event_fd;
	atomic_uint_fast64_t next_id;
	pthread_mutex_t mutex;
	struct task *first, *last; /* done, not drained; under mutex */
};

DEFINE_CLEANUP(hfkv_connector_close, struct hfkv_connector *);

enum hfkv_status connector_new(struct kv_backend *backend, const struct connector_settings *settings,
			       struct hfkv_connector **ret_connector, struct fault *fault)
{
	CLEANUP(hfkv_connector_closep) struct hfkv_connector *connector = calloc(1, sizeof(*connector));
	if (!connector)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&connector->mutex, NULL);
	connector->settings = *settings;
	connector->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (connector->event_fd < 0)
		return fault_set_errno(fault, errno, "eventfd");
	enum hfkv_status status = task_engine_new(backend, settings->threads, &connector->engine);
	if (status != HFKV_OK)
		return status;
	connector->backend = backend;
	*ret_connector = TAKE_PTR(connector);
	return HFKV_OK;
}

void hfkv_connector_close(struct hfkv_connector *connector)
{
	if (!connector)
		return;
	task_engine_free(connector->engine);
	kv_backend_free(connector->backend, deadline_after_ms(connector->settings.timeout_ms));
	while (connector->first) {
		struct task *task = connector->first;
		connector->first = task->next;
		task_free(task);
	}
	if (connector->event_fd >= 0)
		close(connector->event_fd);
	pthread_mutex_destroy(&connector->mutex);
	free(connector);
}

uint64_t hfkv_connector_header_bytes(const struct hfkv_connector *connector)
{
	return connector->settings.header_bytes;
}

uint64_t hfkv_connector_chunk_bytes(const struct hfkv_connector *connector)
{
	return connector->settings.chunk_bytes;
}

struct kv_backend *connector_backend(struct hfkv_connector *connector)
{
	return connector->backend;
}

const atomic_bool *connector_stopping(const struct hfkv_connector *connector)
{
	return task_engine_stopping(connector->engine);
}

void connector_run_aside(struct hfkv_connector *connector, void (*function)(void *connector))
{
	(void)task_engine_run_aside(connector->engine, function, connector);
}

/* ---- blocking ---- */

int64_t batch_timeout_ms(int64_t base_ms, const struct hfkv_item *items, size_t count)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += items[i].length;
	return base_ms + (int64_t)(bytes / BYTES_PER_MS_AT_LEAST);
}

static int64_t timeout_of(const struct hfkv_connector *connector, enum hfkv_operation operation)
{
	return operation == HFKV_OP_PUT ? connector->settings.timeout_ms : connector->settings.read_timeout_ms;
}

enum hfkv_status hfkv_connector_run(struct hfkv_connector *connector, enum hfkv_operation operation,
				    struct hfkv_item *items, size_t count, int64_t timeout_ms,
				    struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	if (timeout_ms <= 0)
		timeout_ms = timeout_of(connector, operation);
	enum hfkv_status status = task_engine_run(connector->engine, operation, items, count, timeout_ms, &fault);
	return error_from_fault(status, &fault, error);
}

enum hfkv_status hfkv_connector_contains_prefix(struct hfkv_connector *connector, struct hfkv_item *items,
						size_t count, int64_t timeout_ms, size_t *ret_count,
						struct hfkv_error *error)
{
	enum hfkv_status status = hfkv_connector_run(connector, HFKV_OP_EXISTS, items, count, timeout_ms, error);
	if (status != HFKV_OK)
		return status;
	size_t hits = 0;
	while (hits < count && items[hits].status == HFKV_OK)
		hits++;
	*ret_count = hits;
	return HFKV_OK;
}

struct plain_visit {
	hfkv_visit visit;
	void *context;
};

static enum hfkv_status visit_without_time(void *context, const char *key, uint64_t bytes, int64_t modified_at_ms)
{
	struct plain_visit *plain = context;
	(void)modified_at_ms;
	return plain->visit(plain->context, key, bytes);
}

enum hfkv_status hfkv_connector_list(struct hfkv_connector *connector, hfkv_visit visit, void *context,
				     int64_t timeout_ms, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	struct plain_visit plain = { visit, context };
	struct deadline deadline = deadline_after_ms(timeout_ms > 0 ? timeout_ms : connector->settings.timeout_ms);
	enum hfkv_status status =
	    kv_backend_list(connector->backend, visit_without_time, &plain, deadline, &fault);
	return error_from_fault(status, &fault, error);
}

enum hfkv_status hfkv_connector_ping(struct hfkv_connector *connector, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = kv_backend_ping(connector->backend, deadline_after_ms(KV_BACKEND_PING_MAX_MS), &fault);
	return error_from_fault(status, &fault, error);
}

/* ---- submitted ---- */

int hfkv_connector_event_fd(const struct hfkv_connector *connector)
{
	return connector->event_fd;
}

static void raise_event(const struct hfkv_connector *connector)
{
	/* Fails only when the counter is full, and then the descriptor is readable anyway. */
	eventfd_write(connector->event_fd, 1);
}

static void queue_done(struct task *task, void *context)
{
	struct hfkv_connector *connector = context;
	task->next = NULL;
	pthread_mutex_lock(&connector->mutex);
	if (connector->last)
		connector->last->next = task;
	else
		connector->first = task;
	connector->last = task;
	pthread_mutex_unlock(&connector->mutex);
	raise_event(connector);
}

enum hfkv_status hfkv_connector_submit(struct hfkv_connector *connector, enum hfkv_operation operation,
				       struct hfkv_item *items, size_t count, uint64_t *ret_id,
				       struct hfkv_error *error)
{
	struct task_request request = {
		.id = atomic_fetch_add(&connector->next_id, 1) + 1,
		.operation = operation,
		.items = items,
		.count = count,
		.timeout_ms = batch_timeout_ms(timeout_of(connector, operation), items, count),
		.done = queue_done,
		.context = connector,
	};
	enum hfkv_status status = task_engine_submit(connector->engine, &request);
	if (status != HFKV_OK)
		return error_from_fault(status, NULL, error);
	*ret_id = request.id;
	return HFKV_OK;
}

void hfkv_connector_cancel(struct hfkv_connector *connector, uint64_t id)
{
	task_engine_cancel(connector->engine, id);
}

static struct hfkv_completion completion_of(const struct task *task)
{
	struct hfkv_completion completion = {
		.id = task->id,
		.operation = task->operation,
		.status = task->status,
		.items = task->items,
		.count = task->count,
	};
	if (task->status != HFKV_OK)
		snprintf(completion.text, sizeof(completion.text), "%.*s", (int)sizeof(completion.text) - 1,
			 fault_text(&task->fault, task->status));
	return completion;
}

/* Up to `capacity` tasks off the front of the queue, linked. *ret_more: whether some are left. */
static struct task *take_done(struct hfkv_connector *connector, size_t capacity, bool *ret_more)
{
	SCOPED_LOCK(&connector->mutex);
	struct task *taken = NULL, **end = &taken;
	for (; capacity > 0 && connector->first; capacity--) {
		*end = connector->first;
		connector->first = connector->first->next;
		end = &(*end)->next;
	}
	*end = NULL;
	if (!connector->first)
		connector->last = NULL;
	*ret_more = connector->first != NULL;
	return taken;
}

size_t hfkv_connector_drain(struct hfkv_connector *connector, struct hfkv_completion *completions, size_t capacity)
{
	eventfd_t ignored;
	eventfd_read(connector->event_fd, &ignored);
	bool more;
	struct task *task = take_done(connector, capacity, &more);
	if (more)
		raise_event(connector);
	size_t count = 0;
	while (task) {
		struct task *next = task->next;
		completions[count++] = completion_of(task);
		task_free(task);
		task = next;
	}
	return count;
}
