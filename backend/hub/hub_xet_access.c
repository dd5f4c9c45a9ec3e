#include "backend/hub/hub_xet_access.h"

#include "common/json_text.h"

#include <string.h>

#define ANSWER_MAX_BYTES (256 * 1024) /* a token has up to 64,000 characters */

static enum hfkv_status parse_access(const struct byte_buf *answer, struct hub_xet_access *ret_access)
{
	json_auto_t *json = json_text_load(byte_buf_text(answer), answer->length, NULL);
	const char *url = json_string_value(json_object_get(json, "casUrl"));
	const char *token = json_string_value(json_object_get(json, "accessToken"));
	const json_t *expiry = json_object_get(json, "exp");
	if (!url || !token || !*token || !json_is_integer(expiry))
		return HFKV_CORRUPT;
	struct hub_xet_access access = { strdup(url), secret_new(token, strlen(token)),
					 json_integer_value(expiry) };
	if (!access.cas_url || !access.token) {
		free(access.cas_url);
		secret_unref(access.token);
		return HFKV_NO_MEMORY;
	}
	*ret_access = access;
	return HFKV_OK;
}

enum hfkv_status hub_xet_access_get(struct hub_client *client, bool for_writing, struct deadline deadline,
				    struct hub_xet_access *ret_access, struct fault *fault)
{
	struct byte_buf url = BYTE_BUF_INIT(4096);
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	enum hfkv_status status =
	    hub_client_url(client, &url, for_writing ? "/xet-write-token" : "/xet-read-token")
		? HFKV_OK
		: fault_set(fault, HFKV_NO_MEMORY, "no memory for a token call");
	struct hub_call call = { .what = for_writing ? "write token" : "read token",
				 .method = "GET",
				 .url = byte_buf_text(&url),
				 .deadline = deadline };
	if (status == HFKV_OK)
		status = hub_client_perform(client, &call, NULL, &answer, fault);
	if (status == HFKV_OK) {
		status = parse_access(&answer, ret_access);
		if (status != HFKV_OK)
			fault_set(fault, status, "%s of bucket '%s': the answer is not what the Hub sends",
				  call.what, hub_client_bucket(client));
	}
	if (answer.data)
		explicit_bzero(answer.data, answer.capacity);
	byte_buf_done(&answer);
	byte_buf_done(&url);
	return status;
}
