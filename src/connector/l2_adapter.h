/*
 * The public struct hfkv_l2 (include/hfkv/hfkv_l2.h): tasks with three eventfds, locks, usage, eviction over a
 * kv_backend. hfkv_l2_open is hfkv_api.c's, which knows concrete stores.
 *
 * Usage is rebuilt from a listing of the backend after the start, beside the tasks; a listing that fails is tried
 * again after a task that worked. Until then only what this process stored and found is counted, and nothing is
 * evicted.
 *
 * Lock order: the adapter's mutex before the completions' one. Neither is held across a call to the backend, a
 * callback or a write to an eventfd.
 */
#ifndef SRC_CONNECTOR_L2_ADAPTER_H
#define SRC_CONNECTOR_L2_ADAPTER_H

#include "src/connector/connector_config.h"
#include "hfkv/hfkv_l2.h"
#include "src/connector/kv_backend.h"

#include <stdatomic.h>

struct l2_settings {
	size_t threads;
	int64_t timeout_ms;
	uint64_t capacity_bytes;  /* 0: no limit */
	bool evicts;              /* our own evictor (least recently used) runs */
	double trigger_watermark; /* share of the capacity where it starts */
	double eviction_ratio;    /* share of the capacity that it frees */
};

/* Takes `backend` over at success, and starts the rebuild. */
MUST_CHECK enum hfkv_status l2_adapter_new(struct kv_backend *backend, const struct l2_settings *settings,
					   struct hfkv_l2 **ret_l2, struct fault *fault);

/* As connector_run_aside and its companions (connector.h). */
void l2_adapter_run_aside(struct hfkv_l2 *l2, void (*function)(void *l2));
struct kv_backend *l2_adapter_backend(struct hfkv_l2 *l2);
const atomic_bool *l2_adapter_stopping(const struct hfkv_l2 *l2);

#endif
