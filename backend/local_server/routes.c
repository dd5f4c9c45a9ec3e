#include "backend/local_server/routes.h"

#include "backend/local_server/request_uri.h"
#include "backend/xet/xet_limits.h"

#include <string.h>

#define CONTROL_PREFIX   "/_control/"
#define JSON_BODY_BYTES  (1u << 20)
#define PATHS_BODY_BYTES (16u << 20) /* 1000 paths of 1024 bytes, each byte maybe a \u escape */

static void not_found(struct request *request, struct reply *reply)
{
	(void)request;
	reply_error(reply, 404, NULL, "this server has no such call");
}

static const struct route no_route = { NULL, NULL, "other", ACCESS_PUBLIC, false, 0, not_found, NULL };

static const struct route routes[] = {
	{ "POST", "/api/buckets/*/*/paths-info", "paths-info", ACCESS_HUB_READ, true, PATHS_BODY_BYTES,
	  hub_paths_info },
	{ "GET", "/buckets/*/*/resolve/**", "resolve", ACCESS_HUB_READ, true, 0, hub_resolve },
	{ "GET", "/data/xorbs/*", "xorb-data", ACCESS_PUBLIC, false, 0, cas_xorb_data },
	{ "GET", "/v2/reconstructions/*", "reconstruction-v2", ACCESS_CAS_READ, false, 0, cas_reconstruction_v2 },
	{ "GET", "/v1/reconstructions/*", "reconstruction-v1", ACCESS_CAS_READ, false, 0, cas_reconstruction_v1 },
	{ "POST", "/v1/xorbs/*/*", "xorb-put", ACCESS_CAS_WRITE, false, XORB_ACCEPTED_BODY_BYTES, cas_put_xorb,
	  cas_take_xorb_body },
	{ "POST", "/v2/shards", "shard-v2", ACCESS_CAS_WRITE, false, SHARD_MAX_BYTES, cas_shard_v2 },
	{ "POST", "/v1/shards", "shard-v1", ACCESS_CAS_WRITE, false, SHARD_MAX_BYTES, cas_shard_v1 },
	{ "POST", "/shards", "shard-v1", ACCESS_CAS_WRITE, false, SHARD_MAX_BYTES, cas_shard_v1 },
	{ "GET", "/v1/chunks/*/*", "dedup-chunk", ACCESS_CAS_READ, false, 0, cas_dedup_chunk },
	{ "POST", "/v1/xorb-grants/*/*", "xorb-grant", ACCESS_CAS_WRITE, false, 0, cas_xorb_grant },
	{ "POST", "/v1/telemetry", "other", ACCESS_PUBLIC, false, 0, cas_telemetry },
	{ "POST", "/api/buckets/*/*/batch", "batch", ACCESS_HUB_WRITE, true, PATHS_BODY_BYTES, hub_batch },
	{ "GET", "/api/buckets/*/*/tree/**", "tree", ACCESS_HUB_READ, true, 0, hub_tree },
	{ "GET", "/api/buckets/*/*/xet-read-token", "xet-read-token", ACCESS_HUB_READ, true, 0,
	  hub_xet_read_token },
	{ "GET", "/api/buckets/*/*/xet-write-token", "xet-write-token", ACCESS_HUB_WRITE, true, 0,
	  hub_xet_write_token },
	{ "GET", "/api/buckets/*/*/events", "other", ACCESS_HUB_READ, true, 0, hub_events },
	{ "PUT", "/api/buckets/*/*/settings", "other", ACCESS_HUB_WRITE, true, JSON_BODY_BYTES,
	  hub_bucket_settings },
	{ "POST", "/api/buckets/*/*", "create-bucket", ACCESS_HUB_WRITE, false, JSON_BODY_BYTES,
	  hub_create_bucket },
	{ "GET", "/api/buckets/*/*", "bucket-info", ACCESS_HUB_READ, true, 0, hub_bucket_info },
	{ "DELETE", "/api/buckets/*/*", "delete-bucket", ACCESS_HUB_WRITE, true, 0, hub_delete_bucket },
	{ "GET", "/api/buckets/*", "list-buckets", ACCESS_HUB_READ, false, 0, hub_list_buckets },
	{ "POST", "/api/repos/move", "other", ACCESS_HUB_WRITE, false, JSON_BODY_BYTES, hub_move_bucket },
	{ "GET", "/api/whoami-v2", "whoami", ACCESS_HUB_READ, false, 0, hub_whoami },
	{ "GET", "/_control/requests", "control", ACCESS_PUBLIC, false, 0, control_requests },
	{ "DELETE", "/_control/requests", "control", ACCESS_PUBLIC, false, 0, control_reset_requests },
	{ "GET", "/_control/log", "control", ACCESS_PUBLIC, false, 0, control_log },
	{ "PUT", "/_control/faults", "control", ACCESS_PUBLIC, false, JSON_BODY_BYTES, control_put_faults },
	{ "DELETE", "/_control/faults", "control", ACCESS_PUBLIC, false, 0, control_clear_faults },
};

struct span {
	const char *text;
	size_t length;
};

/* Matches the raw path; spans[] get what the stars stand for. */
static bool pattern_matches(const char *pattern, const char *path, size_t length, struct span *spans)
{
	const char *end = path + length;
	size_t count = 0;
	while (*pattern) {
		if (strcmp(pattern, "/**") == 0) {
			if (path < end && *path != '/')
				return false;
			path += path < end;
			spans[count] = (struct span){ path, (size_t)(end - path) };
			return true;
		}
		if (*pattern == '*') {
			const char *start = path;
			while (path < end && *path != '/')
				path++;
			if (path == start)
				return false;
			spans[count++] = (struct span){ start, (size_t)(path - start) };
			pattern++;
			continue;
		}
		if (path == end || *path++ != *pattern++)
			return false;
	}
	return path == end;
}

static bool decode_captures(struct request *request, const struct span *spans)
{
	for (size_t i = 0; i < REQUEST_CAPTURES && spans[i].text; i++) {
		request->captures[i] = uri_decode(spans[i].text, spans[i].length);
		if (!request->captures[i])
			return false;
	}
	return true;
}

const struct route *route_find(struct request *request, const char *method, struct reply *refusal)
{
	const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
	for (size_t i = 0; i < ARRAY_LENGTH(routes); i++) {
		struct span spans[REQUEST_CAPTURES] = { 0 };
		if (strcmp(routes[i].method, wanted) != 0 ||
		    !pattern_matches(routes[i].pattern, request->target, request->path_length, spans))
			continue;
		bool is_control = strncmp(routes[i].pattern, CONTROL_PREFIX, strlen(CONTROL_PREFIX)) == 0;
		if (is_control && !request->shared->faults)
			break;
		if (!decode_captures(request, spans))
			reply_error(refusal, 400, NULL, "the path cannot be decoded, or holds a NUL");
		return &routes[i];
	}
	return &no_route;
}
