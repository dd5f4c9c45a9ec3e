#include "backend/http/http_status.h"

#include "common/json_text.h"

#include <stdio.h>
#include <string.h>

#define SAID_MAX_BYTES       200
#define ERROR_BODY_MAX_BYTES (64 * 1024) /* a longer error page is not searched for words */

enum hfkv_status http_status_to_hfkv(int http_status)
{
	if (http_status >= 200 && http_status <= 299)
		return HFKV_OK;
	switch (http_status) {
	case 401: return HFKV_AUTH;
	case 403: return HFKV_FORBIDDEN;
	case 404:
	case 410: return HFKV_NOT_FOUND;
	case 408: return HFKV_TIMEOUT;
	case 409: return HFKV_EXISTS;
	case 413:
	case 507: return HFKV_QUOTA;
	case 429: return HFKV_RATE_LIMITED;
	case 501: return HFKV_INVALID;
	default: return http_status >= 500 && http_status <= 599 ? HFKV_UNAVAILABLE : HFKV_INVALID;
	}
}

bool http_status_may_pass(int http_status)
{
	return http_status == 408 || http_status == 429 ||
	       (http_status >= 500 && http_status <= 599 && http_status != 501 && http_status != 507);
}

/* What the server says of the failure, on one line, or "". */
static void words_of_server(const struct http_response *response, const struct byte_buf *body,
			    char said[SAID_MAX_BYTES])
{
	json_auto_t *json = NULL;
	const char *words = http_response_field(response, "X-Error-Message");
	if (!words && body && body->length > 0 && body->length <= ERROR_BODY_MAX_BYTES) {
		json = json_text_load(body->data, body->length, NULL);
		words = json_string_value(json_object_get(json, "error"));
	}
	snprintf(said, SAID_MAX_BYTES, "%s", words ? words : "");
	for (char *c = said; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
}

enum hfkv_status http_response_check(const struct http_response *response, const struct byte_buf *body,
				     const char *label, struct fault *fault)
{
	enum hfkv_status status = http_status_to_hfkv(response->status);
	if (status == HFKV_OK || !fault)
		return status;
	char said[SAID_MAX_BYTES];
	words_of_server(response, body, said);
	const char *code = http_response_field(response, "X-Error-Code");
	const char *id = http_response_field(response, "X-Request-Id");
	char cut_id[sizeof(fault->request_id)];
	snprintf(cut_id, sizeof(cut_id), "%s", id ? id : "");
	fault_set(fault, status, "%s: the server answered %d%s%.60s%s%s%s%s%s", label, response->status,
		  code ? " " : "", code ? code : "", said[0] ? ": " : "", said, cut_id[0] ? " (request id " : "",
		  cut_id, cut_id[0] ? ")" : "");
	fault->http_status = response->status;
	fault->retry_after_ms = http_response_wait_ms(response);
	snprintf(fault->request_id, sizeof(fault->request_id), "%s", cut_id);
	return status;
}
