/*
 * Where a bucket's content is and a token for it: GET xet-read-token and xet-write-token.
 *
 * Any thread; blocks until `deadline`. Keeping tokens fresh is cas_token's.
 */
#ifndef BACKEND_HUB_HUB_XET_ACCESS_H
#define BACKEND_HUB_HUB_XET_ACCESS_H

#include "backend/hub/hub_client.h"

struct hub_xet_access {
	char *cas_url;        /* owned */
	struct secret *token; /* one reference */
	int64_t expires_at_s; /* Unix time */
};

/* On OK the caller owns what *ret_access points to. NOT_FOUND: no such bucket; CORRUPT: not the Hub's answer. */
MUST_CHECK enum hfkv_status hub_xet_access_get(struct hub_client *client, bool for_writing,
					       struct deadline deadline, struct hub_xet_access *ret_access,
					       struct fault *fault);

#endif
