#include "cache/path_claims.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct path_claim {
	UT_hash_handle hh;
	char path[];
};

static struct path_claim *find(const struct path_claims *claims, const char *path)
{
	struct path_claim *claim;
	HASH_FIND_STR(claims->first, path, claim);
	return claim;
}

bool path_claims_has(const struct path_claims *claims, const char *path)
{
	return find(claims, path) != NULL;
}

bool path_claims_empty(const struct path_claims *claims)
{
	return claims->first == NULL;
}

bool path_claims_add(struct path_claims *claims, const char *path)
{
	size_t length = strlen(path);
	struct path_claim *claim = malloc(sizeof(*claim) + length + 1);
	if (!claim)
		return false;
	memcpy(claim->path, path, length + 1);
	HASH_ADD_STR(claims->first, path, claim);
	return true;
}

void path_claims_remove(struct path_claims *claims, const char *path)
{
	struct path_claim *claim = find(claims, path);
	if (!claim)
		return;
	HASH_DEL(claims->first, claim);
	free(claim);
}
