/*
 * Buckets themselves: create, info, list.
 *
 * Any thread; blocks until `deadline`.
 */
#ifndef BACKEND_HUB_HUB_BUCKET_H
#define BACKEND_HUB_HUB_BUCKET_H

#include "backend/hub/hub_client.h"

/* What the Hub says of a bucket. */
struct hub_bucket_info {
	char id[256]; /* "<namespace>/<bucket>" */
	bool is_private;
	uint64_t size_bytes, file_count;
	int64_t updated_at_ms; /* Unix epoch; moves on every change of the bucket; 0 when not said */
};

/* Creates the client's bucket, private (a KV cache tells what was asked). OK also when it is there already. */
MUST_CHECK enum hfkv_status hub_bucket_create(struct hub_client *client, struct deadline deadline,
					      struct fault *fault);

/* NOT_FOUND: no such bucket, or one that is not shown to us. */
MUST_CHECK enum hfkv_status hub_bucket_get_info(struct hub_client *client, struct deadline deadline,
						struct hub_bucket_info *ret_info, struct fault *fault);

/* OK to go on; anything else ends the listing and is returned by it. */
typedef enum hfkv_status (*hub_bucket_visit)(void *context, const struct hub_bucket_info *info);

/* Every bucket of the namespace that the client's bucket is in. */
MUST_CHECK enum hfkv_status hub_bucket_list(struct hub_client *client, hub_bucket_visit visit, void *context,
					    struct deadline deadline, struct fault *fault);

/* For a bucket that is NOT_FOUND: what else has that name, "model", "dataset" or "space" (static); NULL when
 * nothing has, or it cannot be said. Asks once each. */
const char *hub_bucket_other_kind(struct hub_client *client, struct deadline deadline);

#endif
