/*
 * Access to a CAS: its address and a token, for reading or writing, kept fresh.
 *
 * It does not know the Hub: whoever makes it gives a function that asks for a token. Source: Xet protocol,
 * auth, and hf_xet: a token is renewed when it has less than 30 s left, one renewal at a time while others wait; the
 * address is that of the newest answer. After a 401 the caller reports the token it used, and the next get renews
 * it. Any thread.
 */
#ifndef BACKEND_CAS_CAS_TOKEN_H
#define BACKEND_CAS_CAS_TOKEN_H

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/secret.h"

#include <stdint.h>

enum cas_scope { CAS_SCOPE_READ, CAS_SCOPE_WRITE };
#define CAS_SCOPE_COUNT 2

/* An address and a token to use there. Owned values; release with cas_access_done. */
struct cas_access {
	char *url;            /* "https://...", without trailing slash */
	struct secret *token; /* one reference */
	int64_t expires_at_s; /* Unix time */
};

void cas_access_done(struct cas_access *access);

/* Asks the Hub for access. Blocks until `deadline`, retries by its own rules. On OK fills *ret_access, which the
 * token cache then owns (a trailing slash in url is removed by it). Called by one thread at a time for each scope.
 */
typedef enum hfkv_status (*cas_access_fetch)(void *context, enum cas_scope scope, struct deadline deadline,
					     struct cas_access *ret_access, struct fault *fault);

struct cas_token;

/* `context` is borrowed for the life of the cache. NO_MEMORY. */
MUST_CHECK enum hfkv_status cas_token_new(cas_access_fetch fetch, void *context, struct cas_token **ret_token,
					  struct fault *fault);
void cas_token_free(struct cas_token *token);
DEFINE_CLEANUP(cas_token_free, struct cas_token *);

/* Access that is good for at least 30 s more, fetched when needed; the caller releases *ret_access. Blocks until
 * `deadline` (TIMEOUT); otherwise what the fetch returned. */
MUST_CHECK enum hfkv_status cas_token_get(struct cas_token *token, enum cas_scope scope, struct deadline deadline,
					  struct cas_access *ret_access, struct fault *fault);

/* The CAS said 401 to `access`: forget it, unless a newer one is here already. */
void cas_token_reject(struct cas_token *token, enum cas_scope scope, const struct cas_access *access);

#endif
