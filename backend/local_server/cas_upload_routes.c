/* What clients bring: xorbs, shards; and the optional calls that this server declines (Xet note, sections 6, 8).
 */
#include "backend/local_server/json_writer.h"
#include "backend/local_server/routes.h"
#include "backend/local_server/shard_intake.h"
#include "backend/local_server/xorb_intake.h"

/* What a body that does not hold is answered with; anything else is the server's own trouble. */
static void refuse_body(struct reply *reply, enum hfkv_status status, const struct fault *fault)
{
	if (status == HFKV_CORRUPT || status == HFKV_OVERSIZE || status == HFKV_INVALID)
		reply_error(reply, 400, NULL, "%s", fault_text(fault, status));
	else
		reply_fault(reply, status, fault);
}

/* ---- xorbs ---- */

/* At the first bytes of the body (or at its end, for an empty one). False: the refusal is filled. */
static bool begin_xorb(struct request *request)
{
	struct content_hash hash;
	struct fault fault = FAULT_NONE;
	if (!content_hash_parse(request->captures[1], &hash)) {
		reply_error(&request->refusal, 400, NULL, "a xorb hash is 64 hex digits");
		return false;
	}
	enum hfkv_status known = catalog_xorb_exists(request->shared->catalog, &hash, &fault);
	enum hfkv_status status = known;
	if (known == HFKV_OK || known == HFKV_NOT_FOUND)
		status = xorb_intake_new(request->shared->blobs, known == HFKV_NOT_FOUND, &request->xorb_intake,
					 &fault);
	if (status != HFKV_OK)
		reply_fault(&request->refusal, status, &fault);
	return status == HFKV_OK;
}

void cas_take_xorb_body(struct request *request, const char *bytes, size_t length)
{
	if (request->xorb_intake || begin_xorb(request))
		xorb_intake_feed(request->xorb_intake, bytes, length);
}

void cas_put_xorb(struct request *request, struct reply *reply)
{
	struct content_hash hash;
	struct fault fault = FAULT_NONE;
	bool inserted = false;
	if (!request->xorb_intake || !content_hash_parse(request->captures[1], &hash)) {
		reply_error(reply, 400, NULL, "a xorb needs a body and a name of 64 hex digits");
		return;
	}
	enum hfkv_status status =
	    xorb_intake_commit(request->xorb_intake, request->shared->catalog, &hash, &inserted, &fault);
	xorb_intake_free(
	    TAKE_PTR(request->xorb_intake)); /* a refused body is gone before the client hears of it */
	if (status == HFKV_OK)
		reply_json_text(reply, 200, inserted ? "{\"was_inserted\":true}" : "{\"was_inserted\":false}");
	else
		refuse_body(reply, status, &fault);
}

/* ---- shards ---- */

static bool take_shard(struct request *request, size_t *ret_inserted, size_t *ret_files, struct reply *reply)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = shard_intake(request->shared->catalog, byte_buf_text(&request->body),
					       request->body.length, ret_inserted, ret_files, &fault);
	if (status != HFKV_OK)
		refuse_body(reply, status, &fault);
	return status == HFKV_OK;
}

void cas_shard_v1(struct request *request, struct reply *reply)
{
	size_t inserted, files;
	if (take_shard(request, &inserted, &files, reply))
		reply_json_text(reply, 200, inserted ? "{\"result\":1}" : "{\"result\":0}");
}

/* Checking is quick here, so the progress lines come together with the result. */
void cas_shard_v2(struct request *request, struct reply *reply)
{
	size_t inserted, files;
	if (!take_shard(request, &inserted, &files, reply))
		return;
	if (!byte_buf_printf(&reply->body,
			     "{\"type\":\"validating\",\"verified\":%zu,\"total\":%zu}\n"
			     "{\"type\":\"committing\",\"stage\":\"syncing\"}\n"
			     "{\"type\":\"result\",\"result\":%d}\n",
			     files, files, inserted ? 1 : 0)) {
		reply_error(reply, 500, NULL, "no memory for the answer");
		return;
	}
	reply->status = 200;
	reply_header(reply, "Content-Type", "application/x-ndjson");
}

/* ---- declined ---- */

void cas_xorb_grant(struct request *request, struct reply *reply)
{
	(void)request;
	reply_error(reply, 404, NULL, "this server takes xorbs directly");
}

void cas_dedup_chunk(struct request *request, struct reply *reply)
{
	(void)request;
	reply_error(reply, 404, NULL, "no xorb is known for this chunk");
}

void cas_telemetry(struct request *request, struct reply *reply)
{
	(void)request;
	reply_json_text(reply, 200, "{}");
}
