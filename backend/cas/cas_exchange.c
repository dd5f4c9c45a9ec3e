#include "backend/cas/cas_exchange.h"

#include "backend/http/http_status.h"

#include <stdio.h>

#define ERROR_BODY_MAX_BYTES (64 * 1024)
#define NOT_UNDERSTOOD_MAX   3

static enum hfkv_status send_request(struct cas_exchange *exchange, struct fault *fault)
{
	const struct cas_request *request = &exchange->request;
	cas_access_done(&exchange->access);
	enum hfkv_status status = cas_token_get(exchange->client->token, request->scope, exchange->call.deadline,
						&exchange->access, fault);
	if (status != HFKV_OK)
		return status;
	CLEANUP(free_pointer) char *url = NULL;
	if (asprintf(&url, "%s%s", exchange->access.url, request->path) < 0) {
		url = NULL;
		return fault_set(fault, HFKV_NO_MEMORY, "%s: no memory", request->label);
	}
	const struct http_header headers[] = {
		{ "X-Xet-Session-Id", exchange->client->session_id },
		{ "Range", request->range },
	};
	const struct http_request http = {
		.label = request->label,
		.method = request->method,
		.url = url,
		.bearer = exchange->access.token,
		.headers = headers,
		.header_count = request->range[0] ? 2 : 1,
		.body = request->body,
		.deadline = exchange->call.deadline,
		.stall_ms = request->stall_ms,
		.cancel = exchange->call.cancel,
	};
	return http_stream_start(exchange->client->http, &http, &exchange->stream, fault);
}

/* The fault of an answer that is no 2xx. Its body is kept as far as it came: the status is the news. `fault` is
 * not NULL. */
static enum hfkv_status refuse(struct cas_exchange *exchange, const struct http_response *response,
			       struct fault *fault)
{
	CLEANUP(byte_buf_done) struct byte_buf body = BYTE_BUF_INIT(ERROR_BODY_MAX_BYTES);
	if (http_stream_read_all(exchange->stream, &body, NULL) != HFKV_OK)
		byte_buf_clear(&body);
	enum hfkv_status status = http_response_check(response, &body, exchange->request.label, fault);
	/* No caller's argument is at fault when the CAS refuses what this layer made. */
	if (status == HFKV_INVALID)
		status = fault->status = HFKV_CORRUPT;
	return status;
}

static enum hfkv_status drop_body(struct http_stream *stream, struct fault *fault)
{
	for (;;) {
		const uint8_t *bytes;
		size_t length;
		enum hfkv_status status = http_stream_next(stream, &bytes, &length, fault);
		if (status != HFKV_OK || length == 0)
			return status;
	}
}

static enum hfkv_status receive_answer(struct cas_exchange *exchange, cas_answer_read read, void *context,
				       struct fault *fault)
{
	const struct http_response *response;
	enum hfkv_status status = http_stream_response(exchange->stream, &response, fault);
	if (status != HFKV_OK)
		return status;
	if (http_status_to_hfkv(response->status) != HFKV_OK)
		return refuse(exchange, response, fault);
	return read ? read(context, exchange->stream, fault) : drop_body(exchange->stream, fault);
}

enum hfkv_status cas_exchange_start(struct cas_exchange *exchange, struct cas_client *client,
				    const struct cas_request *request, const struct cas_call *call,
				    struct fault *fault)
{
	*exchange = (struct cas_exchange){
		.client = client,
		.request = *request,
		.call = *call,
		.retry = http_retry_begin(client->http, call->deadline, call->cancel),
	};
	return send_request(exchange, fault);
}

/* After a failed try: whether to make another. A 401 is worth one more with a new token, at once. */
static bool try_again(struct cas_exchange *exchange, enum hfkv_status status, const struct fault *fault)
{
	if (status == HFKV_AUTH && fault->http_status == 401 && !exchange->renewed) {
		cas_token_reject(exchange->client->token, exchange->request.scope, &exchange->access);
		exchange->renewed = true;
		return true;
	}
	/* An answer that cannot be understood may be a cut one; one that stays so is what the server has to say.
	 */
	if (status == HFKV_CORRUPT && ++exchange->not_understood < NOT_UNDERSTOOD_MAX)
		status = HFKV_UNAVAILABLE;
	return http_retry_again(&exchange->retry, status, fault);
}

enum hfkv_status cas_exchange_finish(struct cas_exchange *exchange, cas_answer_read read, void *context,
				     struct fault *fault)
{
	for (;;) {
		struct fault own = FAULT_NONE;
		enum hfkv_status status = HFKV_OK;
		if (!exchange->stream)
			status = send_request(exchange, &own);
		if (status == HFKV_OK) {
			status = receive_answer(exchange, read, context, &own);
			http_stream_close(TAKE_PTR(exchange->stream));
			if (status != HFKV_OK && try_again(exchange, status, &own))
				continue;
		}
		if (fault && status != HFKV_OK)
			*fault = own;
		return status;
	}
}

void cas_exchange_done(struct cas_exchange *exchange)
{
	http_stream_close(TAKE_PTR(exchange->stream));
	cas_access_done(&exchange->access);
}

enum hfkv_status cas_exchange_run(struct cas_client *client, const struct cas_request *request,
				  const struct cas_call *call, cas_answer_read read, void *context,
				  struct fault *fault)
{
	CLEANUP(cas_exchange_done) struct cas_exchange exchange = { 0 };
	enum hfkv_status status = cas_exchange_start(&exchange, client, request, call, fault);
	return status == HFKV_OK ? cas_exchange_finish(&exchange, read, context, fault) : status;
}

bool cas_fault_is_missing_endpoint(enum hfkv_status status, const struct fault *fault)
{
	return status != HFKV_OK && (fault->http_status == 404 || fault->http_status == 501);
}
