/*
 * The Hub token: where it is found, and the one in use.
 *
 * Places, first hit wins: the environment variable the user named (default HF_TOKEN), the
 * configured token, the token file, HF_TOKEN, then the file that Hugging Face's own tools keep (HF_TOKEN_PATH,
 * else HF_HOME/token, else $XDG_CACHE_HOME/huggingface/token, else ~/.cache/huggingface/token). White space around
 * a token is dropped; an empty one counts as absent. No token at all is no error: public buckets need none.
 *
 * Any thread; hub_auth_reload reads files.
 */
#ifndef BACKEND_HUB_HUB_AUTH_H
#define BACKEND_HUB_HUB_AUTH_H

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/secret.h"

#define HUB_TOKEN_FILE_MAX_BYTES (64 * 1024)

/* All optional. Strings are copied, the secret is referenced. */
struct hub_auth_places {
	const char *environment_name; /* NULL: HF_TOKEN; "": none is asked first */
	struct secret *configured;
	const char *file;
};

struct hub_auth;

/* Reads the token. INVALID: the variable's name is none, or looks like a token; the named file is needed and cannot be read, or what it holds is no token; NO_MEMORY.
 */
MUST_CHECK enum hfkv_status hub_auth_new(const struct hub_auth_places *places, struct hub_auth **ret_auth,
					 struct fault *fault);
void hub_auth_free(struct hub_auth *auth);
DEFINE_CLEANUP(hub_auth_free, struct hub_auth *);

/* Reads it again from the same places; on failure the one in use stays. */
MUST_CHECK enum hfkv_status hub_auth_reload(struct hub_auth *auth, struct fault *fault);

/* A reference to the token in use, NULL when there is none. */
struct secret *hub_auth_token(struct hub_auth *auth);

#define HUB_AUTH_ORIGIN_BYTES 256
/* Where the token in use came from, for faults: "the variable HF_TOKEN", "the file '...'", or how to give one. */
void hub_auth_describe(struct hub_auth *auth, char text[HUB_AUTH_ORIGIN_BYTES]);

#endif
