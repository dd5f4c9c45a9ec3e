#include "backend/local_server/request_access.h"

#include "common/clock.h"

#include <string.h>

#define INVALID_TOKEN_TEXT "Invalid credentials in Authorization header"

const char *request_owner_name(const char *name)
{
	return strcmp(name, "me") == 0 ? "local" : name;
}

static void refuse_token(struct reply *refusal, const char *text)
{
	reply_error(refusal, 401, NULL, "%s", text);
	reply_header(refusal, "WWW-Authenticate", "Bearer");
}

static void check_cas(struct request *request, struct reply *refusal)
{
	const char *token = request_bearer(request);
	struct cas_grant grant;
	if (!token) {
		refuse_token(refusal,
			     "no CAS token: ask the Hub's xet-read-token or xet-write-token route for one");
		return;
	}
	if (!server_keys_read_cas_token(request->shared->keys, token, &grant)) {
		refuse_token(refusal, INVALID_TOKEN_TEXT);
		return;
	}
	if (grant.expires_at_s <= clock_wall_ms() / 1000) {
		refuse_token(refusal, "the CAS token has expired: ask the Hub for a new one");
		return;
	}
	enum hfkv_status status =
	    catalog_bucket_find_id(request->shared->catalog, grant.bucket, &request->bucket, NULL);
	if (status != HFKV_OK) {
		refuse_token(refusal, "the bucket that the CAS token was given for is gone");
		return;
	}
	if (request->route->access == ACCESS_CAS_WRITE && grant.right != RIGHT_WRITE)
		reply_error(refusal, 403, NULL, "this CAS token may only read");
}

/* Finds the named bucket. A caller without a token is told 401 for a missing bucket as for a private one. */
static void find_bucket(struct request *request, bool anonymous, struct reply *refusal)
{
	const char *owner = request_owner_name(request->captures[0]);
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    catalog_bucket_find(request->shared->catalog, owner, request->captures[1], &request->bucket, &fault);
	if (status == HFKV_OK && anonymous && request->bucket.is_private)
		refuse_token(refusal, "this bucket is private: a token is needed");
	else if (status == HFKV_NOT_FOUND && anonymous)
		refuse_token(refusal, "a token is needed");
	else if (status == HFKV_NOT_FOUND)
		reply_error(refusal, 404, "RepoNotFound", "there is no bucket '%s/%s'", owner,
			    request->captures[1]);
	else if (status != HFKV_OK)
		reply_fault(refusal, status, &fault);
}

static void check_hub(struct request *request, struct reply *refusal)
{
	const char *token = request_bearer(request);
	enum server_right right = token ? server_keys_hub_right(request->shared->keys, token) : RIGHT_NONE;
	bool reads_bucket = request->route->has_bucket && request->route->access == ACCESS_HUB_READ;
	if (token && right == RIGHT_NONE) {
		refuse_token(refusal, INVALID_TOKEN_TEXT);
		return;
	}
	if (!token && !reads_bucket) {
		refuse_token(refusal, "a token is needed");
		return;
	}
	if (request->route->access == ACCESS_HUB_WRITE && right != RIGHT_WRITE) {
		reply_error(refusal, 403, NULL, "this token may only read");
		return;
	}
	if (request->route->has_bucket)
		find_bucket(request, !token, refusal);
}

void request_check_access(struct request *request, struct reply *refusal)
{
	switch (request->route->access) {
	case ACCESS_PUBLIC: break;
	case ACCESS_HUB_READ:
	case ACCESS_HUB_WRITE: check_hub(request, refusal); break;
	case ACCESS_CAS_READ:
	case ACCESS_CAS_WRITE: check_cas(request, refusal); break;
	}
}
