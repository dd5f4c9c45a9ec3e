/*
 * The set of object paths that a mutation under way has claimed, so that two changes of one name never overlap:
 * what the cache then believes of the name is what the bucket holds.
 *
 * Plain structure; the owner's lock protects it.
 */
#ifndef CACHE_PATH_CLAIMS_H
#define CACHE_PATH_CLAIMS_H

#include "common/attributes.h"

#include <stdbool.h>
#include <stddef.h>

struct path_claim;

struct path_claims {
	struct path_claim *first; /* uthash; NULL: empty */
};

bool path_claims_has(const struct path_claims *claims, const char *path);
bool path_claims_empty(const struct path_claims *claims);

/* Adds a path that is not claimed; it is copied. False: no memory. */
MUST_CHECK bool path_claims_add(struct path_claims *claims, const char *path);

/* Harmless when it is not claimed. */
void path_claims_remove(struct path_claims *claims, const char *path);

#endif
