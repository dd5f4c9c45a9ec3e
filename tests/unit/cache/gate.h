/*
 * A gate that holds calls of a fault_store under way until the test opens it, and tells when somebody stands
 * before it.
 */
#ifndef TESTS_UNIT_CACHE_GATE_H
#define TESTS_UNIT_CACHE_GATE_H

#include "common/cleanup.h"
#include "common/clock.h"

#include <stdbool.h>

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool open;
	unsigned arrived; /* in all */
};

static inline void gate_init(struct gate *gate)
{
	pthread_mutex_init(&gate->mutex, NULL);
	condition_init(&gate->changed);
	gate->open = false;
	gate->arrived = 0;
}

/* For fault_store_rule.gate. */
static inline void gate_pass(void *context)
{
	struct gate *gate = context;
	SCOPED_LOCK(&gate->mutex);
	gate->arrived++;
	pthread_cond_broadcast(&gate->changed);
	while (!gate->open)
		pthread_cond_wait(&gate->changed, &gate->mutex);
}

static inline void gate_await(struct gate *gate, unsigned arrived)
{
	SCOPED_LOCK(&gate->mutex);
	while (gate->arrived < arrived)
		pthread_cond_wait(&gate->changed, &gate->mutex);
}

static inline void gate_open(struct gate *gate)
{
	SCOPED_LOCK(&gate->mutex);
	gate->open = true;
	pthread_cond_broadcast(&gate->changed);
}

static inline void gate_done(struct gate *gate)
{
	pthread_mutex_destroy(&gate->mutex);
	pthread_cond_destroy(&gate->changed);
}

#endif
