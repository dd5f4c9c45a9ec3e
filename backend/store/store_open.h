/*
 * The one factory of object stores, and the only place that names concrete ones.
 * Only composition roots (src/cli, src/connector/hfkv_api.c) include this.
 */
#ifndef BACKEND_STORE_STORE_OPEN_H
#define BACKEND_STORE_STORE_OPEN_H

#include "backend/store/bucket_url.h"
#include "backend/store/object_store.h"
#include "common/secret.h"

/* Where a token comes from, in the order of backend/hub/hub_auth.h. All optional; borrowed during the call. */
struct token_places {
	const char *environment_name; /* --token-env / token_env; NULL: HF_TOKEN */
	struct secret *configured;    /* `token` of a configuration */
	const char *file;             /* --token-file */
};

struct store_settings {
	const char *endpoint; /* NULL: HF_ENDPOINT, then the public Hub */
	const char *bucket;   /* "<namespace>/<bucket>" */
	struct token_places token;
	const char *ca_file; /* NULL: the system's */
	int64_t stall_ms;    /* a request with no byte moving this long fails; 0: 30 s */
	bool create_bucket_if_missing;
	const char *user_agent_suffix; /* "mount", "cli", "lmcache"; NULL: none */
};

/* A store on a real bucket over HTTP. Needs no network itself. Frees with object_store_free. */
MUST_CHECK enum hfkv_status store_open_hub(const struct store_settings *settings, struct object_store **ret_store,
					   struct fault *fault);

/* Reads the token again from its places (SIGHUP). Only for stores from store_open_hub. */
MUST_CHECK enum hfkv_status store_reload_token(struct object_store *store, struct fault *fault);

/* A complete store in this process's memory: for tests, never for users. */
MUST_CHECK enum hfkv_status store_open_memory(struct object_store **ret_store, struct fault *fault);

#endif
