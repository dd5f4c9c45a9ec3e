/*
 * The uploading endpoints of cas_client.h: xorbs, and shards with their stream of progress lines.
 */
#include "backend/cas/cas_exchange.h"
#include "common/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The v1 shard call may be silent for long while the server works. */
#define SHARD_V1_STALL_MS (10 * 60 * 1000)

#define PROGRESS_LINE_MAX_BYTES (1024 * 1024)

/* ---- xorbs ---- */

struct cas_xorb_put {
	struct cas_exchange exchange;
};

enum hfkv_status cas_xorb_put_start(struct cas_client *client, const struct content_hash *xorb,
				    const struct http_body *body, const struct cas_call *call,
				    struct cas_xorb_put **ret_put, struct fault *fault)
{
	CLEANUP(cas_xorb_put_freep) struct cas_xorb_put *put = calloc(1, sizeof(*put));
	if (!put)
		return fault_set(fault, HFKV_NO_MEMORY, "xorb upload: no memory");
	struct cas_request request = { .scope = CAS_SCOPE_WRITE, .method = "POST", .body = *body };
	char text[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(xorb, text);
	snprintf(request.path, sizeof(request.path), "/v1/xorbs/default/%s", text);
	snprintf(request.label, sizeof(request.label), "upload of xorb %.16s", text);
	enum hfkv_status status = cas_exchange_start(&put->exchange, client, &request, call, fault);
	if (status == HFKV_OK)
		*ret_put = TAKE_PTR(put);
	return status;
}

enum hfkv_status cas_xorb_put_wait(struct cas_xorb_put *put, struct fault *fault)
{
	return cas_exchange_finish(&put->exchange, NULL, NULL, fault);
}

void cas_xorb_put_free(struct cas_xorb_put *put)
{
	if (!put)
		return;
	cas_exchange_done(&put->exchange);
	free(put);
}

/* ---- shards ---- */

/* The server's final no. One that is not worth a retry stands like a 400. */
static enum hfkv_status refused(const json_t *line, struct fault *fault)
{
	bool retryable = json_is_true(json_object_get(line, "retryable"));
	const char *message = json_string_value(json_object_get(line, "message"));
	enum hfkv_status status =
	    fault_set(fault, retryable ? HFKV_UNAVAILABLE : HFKV_CORRUPT,
		      "upload of a shard: the server refused it: %.200s", message ? message : "no reason given");
	for (char *c = fault->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	fault->http_status = retryable ? 0 : 400;
	return status;
}

/* `fault` is not NULL. */
static enum hfkv_status read_progress_line(const struct byte_buf *line, bool *ret_done, struct fault *fault)
{
	*ret_done = false;
	if (line->length == 0)
		return HFKV_OK;
	json_auto_t *json = json_text_load(line->data, line->length, NULL);
	const char *type = json_string_value(json_object_get(json, "type"));
	if (!type)
		return fault_set(fault, HFKV_UNAVAILABLE,
				 "upload of a shard: a line of the answer is not understood");
	if (strcmp(type, "error") == 0)
		return refused(json, fault);
	*ret_done = strcmp(type, "result") == 0;
	return HFKV_OK;
}

/* HTTP 200 alone is not success: the last line is. */
static enum hfkv_status read_progress(void *context, struct http_stream *stream, struct fault *fault)
{
	CLEANUP(byte_buf_done) struct byte_buf line = BYTE_BUF_INIT(PROGRESS_LINE_MAX_BYTES);
	(void)context;
	for (;;) {
		bool more = false, done = false;
		enum hfkv_status status = http_stream_read_line(stream, &line, &more, fault);
		if (status != HFKV_OK)
			return status;
		if (!more)
			return fault_set(fault, HFKV_UNAVAILABLE,
					 "upload of a shard: the answer ended without a result");
		status = read_progress_line(&line, &done, fault);
		if (status != HFKV_OK || done)
			return status;
	}
}

static enum hfkv_status put_shard(struct cas_client *client, int version, const struct iovec *bytes,
				  const struct cas_call *call, struct fault *fault)
{
	struct cas_request request = {
		.scope = CAS_SCOPE_WRITE,
		.method = "POST",
		.body = { .length_bytes = bytes->iov_len, .segments = bytes, .segment_count = 1 },
		.stall_ms = version == 1 ? SHARD_V1_STALL_MS : 0,
	};
	snprintf(request.path, sizeof(request.path), "/v%d/shards", version);
	snprintf(request.label, sizeof(request.label), "upload of a shard");
	return cas_exchange_run(client, &request, call, version == 1 ? NULL : read_progress, NULL, fault);
}

enum hfkv_status cas_put_shard(struct cas_client *client, const void *bytes, size_t length,
			       const struct cas_call *call, struct fault *fault)
{
	const struct iovec segment = { .iov_base = (void *)bytes, .iov_len = length };
	struct fault own = FAULT_NONE;
	enum hfkv_status status = HFKV_OK;
	if (!atomic_load(&client->shard_is_v1)) {
		status = put_shard(client, 2, &segment, call, &own);
		if (!cas_fault_is_missing_endpoint(status, &own)) {
			if (fault && status != HFKV_OK)
				*fault = own;
			return status;
		}
	}
	status = put_shard(client, 1, &segment, call, fault);
	if (status == HFKV_OK)
		atomic_store(&client->shard_is_v1, true);
	return status;
}
