/*
 * The public struct hfkv_connector (include/hfkv/hfkv_connector.h): a backend, its threads, one queue of
 * completions. hfkv_connector_open is hfkv_api.c's, which knows concrete stores.
 */
#ifndef SRC_CONNECTOR_CONNECTOR_H
#define SRC_CONNECTOR_CONNECTOR_H

#include "src/connector/kv_backend.h"

#include <stdatomic.h>

struct connector_settings {
	size_t threads;
	int64_t read_timeout_ms; /* exists, get, remove */
	int64_t timeout_ms;      /* put, list */
	uint64_t header_bytes, chunk_bytes;
};

/* Takes `backend` over at success. */
MUST_CHECK enum hfkv_status connector_new(struct kv_backend *backend, const struct connector_settings *settings,
					  struct hfkv_connector **ret_connector, struct fault *fault);

/* Runs `function` once beside the batches (task_engine_run_aside), with the connector's stop flag. */
void connector_run_aside(struct hfkv_connector *connector, void (*function)(void *connector));
struct kv_backend *connector_backend(struct hfkv_connector *connector);
const atomic_bool *connector_stopping(const struct hfkv_connector *connector);

/* What a batch that moves bytes may take: `base_ms`, and a second for each 4 MiB of it. */
int64_t batch_timeout_ms(int64_t base_ms, const struct hfkv_item *items, size_t count);

#endif
