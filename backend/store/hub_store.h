/*
 * The object store on a real bucket: names from the Hub, content from the CAS behind it.
 *
 * Put together from hub/ (names), cas/ (content) and hub_names (what became of a batch). Made by store_open.c
 * only. A missing bucket: with create_bucket_if_missing reads find nothing and the first write creates it (again
 * by a later write when that failed); otherwise stat is UNAVAILABLE, never an absence, and the other calls are
 * NOT_FOUND.
 */
#ifndef BACKEND_STORE_HUB_STORE_H
#define BACKEND_STORE_HUB_STORE_H

#include "backend/store/object_store.h"

struct store_settings;

/* Uses no network. INVALID: endpoint, bucket, token or certificate file; NO_MEMORY. */
MUST_CHECK enum hfkv_status hub_store_new(const struct store_settings *settings, struct object_store **ret_store,
					  struct fault *fault);

/* Reads the token again. INVALID when `store` is not from hub_store_new. */
MUST_CHECK enum hfkv_status hub_store_reload_token(struct object_store *store, struct fault *fault);

#endif
