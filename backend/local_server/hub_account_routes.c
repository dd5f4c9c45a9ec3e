/* The one user, CAS tokens, and the change feed that this server does not have. */
#include "backend/local_server/json_writer.h"
#include "backend/local_server/routes.h"

#include "common/clock.h"

#include <inttypes.h>

void hub_whoami(struct request *request, struct reply *reply)
{
	const char *token = request_bearer(request);
	bool writes = token && server_keys_hub_right(request->shared->keys, token) == RIGHT_WRITE;
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	json_write_open(&json, '{');
	json_write_text_field(&json, "type", "user");
	json_write_text_field(&json, "id", "local");
	json_write_text_field(&json, "name", "local");
	json_write_text_field(&json, "fullname", "Local user");
	json_write_bool_field(&json, "isPro", false);
	json_write_key(&json, "orgs");
	json_write_open(&json, '[');
	json_write_close(&json, ']');
	json_write_key(&json, "auth");
	json_write_open(&json, '{');
	json_write_text_field(&json, "type", "access_token");
	json_write_key(&json, "accessToken");
	json_write_open(&json, '{');
	json_write_text_field(&json, "displayName", "local");
	json_write_text_field(&json, "role", writes ? "write" : "read");
	json_write_close(&json, '}');
	json_write_close(&json, '}');
	json_write_close(&json, '}');
	reply_json_body(reply, 200, json_writer_ok(&json));
}

/* A token made to be refused later has its end in the past, while the answer claims otherwise. */
static void give_token(struct request *request, enum server_right right, struct reply *reply)
{
	int64_t now_s = clock_wall_ms() / 1000, end_s = now_s + request->shared->token_seconds;
	struct cas_grant grant = { .bucket = request->bucket.id,
				   .right = right,
				   .expires_at_s = request->expire_given_tokens ? now_s - 1 : end_s };
	char token[CAS_TOKEN_BYTES], origin[REQUEST_ORIGIN_BYTES];
	server_keys_make_cas_token(request->shared->keys, &grant, token);
	request_origin(request, origin);
	reply_header(reply, "X-Xet-Access-Token", "%s", token);
	reply_header(reply, "X-Xet-Token-Expiration", "%" PRId64, end_s);
	reply_header(reply, "X-Xet-Cas-Url", "%s", origin);
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	json_write_open(&json, '{');
	json_write_text_field(&json, "accessToken", token);
	json_write_uint_field(&json, "exp", (uint64_t)end_s);
	json_write_text_field(&json, "casUrl", origin);
	json_write_close(&json, '}');
	reply_json_body(reply, 200, json_writer_ok(&json));
}

void hub_xet_read_token(struct request *request, struct reply *reply)
{
	give_token(request, RIGHT_READ, reply);
}

void hub_xet_write_token(struct request *request, struct reply *reply)
{
	give_token(request, RIGHT_WRITE, reply);
}

void hub_events(struct request *request, struct reply *reply)
{
	(void)request;
	reply_error(reply, 501, NULL, "this server has no change feed: poll the bucket's updatedAt");
}
