/*
 * A kv_backend in memory for tests of what stands above one: keys with sizes and times, calls that wait at a gate
 * until the test opens it, and failures on demand. Buffers are filled with the first byte of the key's hash field.
 */
#ifndef TESTS_UNIT_GATE_BACKEND_H
#define TESTS_UNIT_GATE_BACKEND_H

#include "src/connector/kv_backend.h"

#include <stdatomic.h>
#include <string.h>

#define GATE_KEYS_MAX 512

struct gate_key {
	char key[96];
	uint64_t bytes;
	int64_t modified_at_ms;
};

struct gate_backend {
	struct kv_backend backend;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	/* under mutex */
	bool closed;            /* calls wait */
	bool late_answers;      /* only exists waits, and it has looked before it does */
	size_t waiting;         /* at the gate */
	size_t calls;           /* of run */
	size_t fail_puts_after; /* items that still land before puts fail; SIZE_MAX: none fails */
	bool lists_fail;
	struct gate_key keys[GATE_KEYS_MAX];
	size_t count;
	atomic_bool *freed; /* set true when freed; may be NULL */
	size_t step;
};

static struct gate_backend *gate_of(struct kv_backend *backend)
{
	return (struct gate_backend *)backend;
}

static struct gate_key *gate_find(struct gate_backend *gate, const char *key)
{
	for (size_t i = 0; i < gate->count; i++)
		if (strcmp(gate->keys[i].key, key) == 0)
			return &gate->keys[i];
	return NULL;
}

/* Lock held. */
static void gate_store(struct gate_backend *gate, const char *key, uint64_t bytes, int64_t modified_at_ms)
{
	struct gate_key *found = gate_find(gate, key);
	if (!found)
		found = &gate->keys[gate->count++];
	snprintf(found->key, sizeof(found->key), "%s", key);
	found->bytes = bytes;
	found->modified_at_ms = modified_at_ms;
}

static enum hfkv_status gate_put(struct gate_backend *gate, struct hfkv_item *item)
{
	if (gate->fail_puts_after == 0)
		return HFKV_UNAVAILABLE;
	if (gate->fail_puts_after != SIZE_MAX)
		gate->fail_puts_after--;
	gate_store(gate, item->key, item->length, clock_wall_ms());
	item->bytes = item->length;
	return HFKV_OK;
}

static enum hfkv_status gate_one(struct gate_backend *gate, enum hfkv_operation operation, struct hfkv_item *item)
{
	struct gate_key *found = gate_find(gate, item->key);
	if (operation == HFKV_OP_PUT)
		return gate_put(gate, item);
	if (!found)
		return HFKV_NOT_FOUND;
	item->bytes = found->bytes;
	if (operation == HFKV_OP_GET && item->length != found->bytes)
		return HFKV_NOT_FOUND;
	if (operation == HFKV_OP_GET)
		memset(item->data, item->key[0], item->length);
	if (operation == HFKV_OP_REMOVE)
		*found = gate->keys[--gate->count];
	return HFKV_OK;
}

static enum hfkv_status gate_run(struct kv_backend *backend, enum hfkv_operation operation,
				 struct hfkv_item *items, size_t count, struct deadline deadline,
				 struct fault *fault)
{
	(void)deadline;
	struct gate_backend *gate = gate_of(backend);
	enum hfkv_status result = HFKV_OK;
	SCOPED_LOCK(&gate->mutex);
	gate->calls++;
	gate->waiting++;
	pthread_cond_broadcast(&gate->changed);
	bool is_late = gate->late_answers && operation == HFKV_OP_EXISTS;
	while (gate->closed && !gate->late_answers)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	gate->waiting -= !is_late;
	for (size_t i = 0; i < count; i++) {
		items[i].status = gate_one(gate, operation, &items[i]);
		bool failed = items[i].status != HFKV_OK && items[i].status != HFKV_NOT_FOUND;
		if (failed && result == HFKV_OK)
			result = fault_set(fault, items[i].status, "the gate says no");
	}
	while (is_late && gate->closed)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	gate->waiting -= is_late;
	return result;
}

static enum hfkv_status gate_list(struct kv_backend *backend, kv_backend_visit visit, void *context,
				  struct deadline deadline, struct fault *fault)
{
	(void)deadline;
	struct gate_backend *gate = gate_of(backend);
	SCOPED_LOCK(&gate->mutex);
	if (gate->lists_fail)
		return fault_set(fault, HFKV_UNAVAILABLE, "no listing");
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_key *key = &gate->keys[i];
		enum hfkv_status status = visit(context, key->key, key->bytes, key->modified_at_ms);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

static enum hfkv_status gate_ping(struct kv_backend *backend, struct deadline deadline, struct fault *fault)
{
	(void)backend;
	(void)deadline;
	(void)fault;
	return HFKV_OK;
}

static size_t gate_step(const struct kv_backend *backend, enum hfkv_operation operation)
{
	(void)operation;
	return ((const struct gate_backend *)backend)->step;
}

static void gate_free(struct kv_backend *backend, struct deadline deadline)
{
	(void)deadline;
	if (gate_of(backend)->freed)
		atomic_store(gate_of(backend)->freed, true);
	pthread_mutex_destroy(&gate_of(backend)->mutex);
	pthread_cond_destroy(&gate_of(backend)->changed);
	free(backend);
}

static const struct kv_backend_class gate_class = { "gate", gate_run, gate_list, gate_ping, gate_step, gate_free };

MAYBE_UNUSED static struct gate_backend *gate_backend_new(bool multi_process)
{
	struct gate_backend *gate = calloc(1, sizeof(*gate));
	gate->backend = (struct kv_backend){ &gate_class, multi_process };
	pthread_mutex_init(&gate->mutex, NULL);
	condition_init(&gate->changed);
	gate->fail_puts_after = SIZE_MAX;
	gate->step = SIZE_MAX;
	return gate;
}

MAYBE_UNUSED static void gate_set_closed(struct gate_backend *gate, bool closed)
{
	SCOPED_LOCK(&gate->mutex);
	gate->closed = closed;
	pthread_cond_broadcast(&gate->changed);
}

/* Blocks until `count` calls wait at the gate. */
MAYBE_UNUSED static void gate_await_waiting(struct gate_backend *gate, size_t count)
{
	SCOPED_LOCK(&gate->mutex);
	while (gate->waiting < count)
		pthread_cond_wait(&gate->changed, &gate->mutex);
}

#endif
