#include "backend/hub/hub_client.h"

#include "backend/http/http_origin.h"
#include "backend/http/http_retry.h"
#include "backend/http/http_status.h"

#include <string.h>

#define LABEL_BYTES 256
#define LABEL_FORM  "%s of bucket '%s'"

struct hub_client {
	struct http_client *http;
	struct hub_auth *auth;
	char *endpoint; /* without trailing slash */
	char *bucket;
	struct http_origin origin;
};

/* ---- life ---- */

static char *copy_endpoint(const char *given)
{
	const char *environment = getenv("HF_ENDPOINT");
	const char *text = given && *given               ? given
			   : environment && *environment ? environment
							 : HUB_DEFAULT_ENDPOINT;
	size_t length = strlen(text);
	while (length > 0 && text[length - 1] == '/')
		length--;
	return strndup(text, length);
}

static bool is_bucket_id(const char *bucket)
{
	const char *slash = bucket ? strchr(bucket, '/') : NULL;
	return slash && slash != bucket && slash[1] && !strchr(slash + 1, '/');
}

enum hfkv_status hub_client_new(const struct hub_client_settings *settings, struct hub_client **ret_client,
				struct fault *fault)
{
	if (!is_bucket_id(settings->bucket))
		return fault_set(fault, HFKV_INVALID, "bucket '%s' is not of the form <namespace>/<bucket>",
				 settings->bucket ? settings->bucket : "");
	CLEANUP(hub_client_freep) struct hub_client *client = calloc(1, sizeof(*client));
	if (!client)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a Hub client");
	client->http = settings->http;
	client->auth = settings->auth;
	client->endpoint = copy_endpoint(settings->endpoint);
	client->bucket = strdup(settings->bucket);
	if (!client->endpoint || !client->bucket)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a Hub client");
	if (strpbrk(client->endpoint, "?# "))
		return fault_set(fault, HFKV_INVALID,
				 "Hub endpoint: a base address has no query, fragment or space");
	enum hfkv_status status = http_origin_parse(client->endpoint, "Hub endpoint", &client->origin, fault);
	if (status == HFKV_INVALID && !strchr(client->endpoint, '@')) /* else it may hold a password */
		fault_set(fault, status,
			  "the Hub endpoint '%s' is not an http:// or https:// URL: set HF_ENDPOINT or --endpoint to one",
			  client->endpoint);
	if (status == HFKV_OK)
		*ret_client = TAKE_PTR(client);
	return status;
}

void hub_client_free(struct hub_client *client)
{
	if (!client)
		return;
	free(client->endpoint);
	free(client->bucket);
	free(client);
}

const char *hub_client_bucket(const struct hub_client *client)
{
	return client->bucket;
}

struct http_client *hub_client_http(const struct hub_client *client)
{
	return client->http;
}

bool hub_client_is_same_origin(const struct hub_client *client, const char *url)
{
	struct http_origin origin;
	return http_origin_parse(url, "link", &origin, NULL) == HFKV_OK &&
	       http_origin_equal(&origin, &client->origin);
}

/* ---- addresses ---- */

bool hub_quote(struct byte_buf *url, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	while (*text) {
		size_t length = strspn(text, plain);
		if (!byte_buf_append(url, text, length))
			return false;
		text += length;
		if (*text && !byte_buf_printf(url, "%%%02X", (unsigned char)*text++))
			return false;
	}
	return true;
}

bool hub_client_endpoint_url(const struct hub_client *client, struct byte_buf *url, const char *path)
{
	byte_buf_clear(url);
	return byte_buf_append_text(url, client->endpoint) && byte_buf_append_text(url, path);
}

bool hub_client_url(const struct hub_client *client, struct byte_buf *url, const char *rest)
{
	const char *slash = strchr(client->bucket, '/');
	CLEANUP(free_pointer) char *namespace = strndup(client->bucket, (size_t)(slash - client->bucket));
	return namespace && hub_client_endpoint_url(client, url, "/api/buckets/") && hub_quote(url, namespace) &&
	       byte_buf_append_text(url, "/") && hub_quote(url, slash + 1) && byte_buf_append_text(url, rest);
}

/* ---- calls ---- */

/* The request of a call; `label`, `header` and the token's reference belong to the caller's frame. */
static struct http_request request_of(const struct hub_client *client, const struct hub_call *call,
				      char label[LABEL_BYTES], struct http_header *header, struct secret *token)
{
	snprintf(label, LABEL_BYTES, LABEL_FORM, call->what, client->bucket);
	*header = (struct http_header){ "Content-Type", call->content_type };
	return (struct http_request){ .label = label,
				      .method = call->method,
				      .url = call->url,
				      .bearer = token,
				      .headers = header,
				      .header_count = call->content_type ? 1 : 0,
				      .body = call->body,
				      .deadline = call->deadline };
}

/* A refused or missing token: says which one it was, or where to put one. */
static void explain_refusal(struct hub_client *client, enum hfkv_status status, struct fault *fault)
{
	if (!fault || (status != HFKV_AUTH && status != HFKV_FORBIDDEN))
		return;
	char origin[HUB_AUTH_ORIGIN_BYTES];
	CLEANUP(secret_unrefp) struct secret *token = hub_auth_token(client->auth);
	hub_auth_describe(client->auth, origin);
	size_t length = strlen(fault->text);
	snprintf(fault->text + length, sizeof(fault->text) - length, "; %s%s", token ? "the token came from " : "",
		 origin);
}

enum hfkv_status hub_client_start(struct hub_client *client, const struct hub_call *call,
				  struct http_stream **ret_stream, struct fault *fault)
{
	char label[LABEL_BYTES];
	struct http_header header;
	CLEANUP(secret_unrefp) struct secret *token = hub_auth_token(client->auth);
	struct http_request request = request_of(client, call, label, &header, token);
	return http_stream_start(client->http, &request, ret_stream, fault);
}

enum hfkv_status hub_client_finish(struct hub_client *client, struct http_stream *stream,
				   const struct hub_call *call, struct http_response *response,
				   struct byte_buf *body, struct fault *fault)
{
	char label[LABEL_BYTES];
	const struct http_response *answer;
	byte_buf_clear(body);
	enum hfkv_status status = http_stream_response(stream, &answer, fault);
	if (status != HFKV_OK)
		return status;
	if (response && !http_response_copy(response, answer))
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for an answer's header");
	bool is_good = http_status_to_hfkv(answer->status) == HFKV_OK;
	status = http_stream_read_all(stream, body, is_good ? fault : NULL);
	if (is_good)
		return status;
	snprintf(label, sizeof(label), LABEL_FORM, call->what, client->bucket); /* an error page may be cut */
	status = http_response_check(answer, body, label, fault);
	explain_refusal(client, status, fault);
	return status;
}

enum hfkv_status hub_client_perform_once(struct hub_client *client, const struct hub_call *call,
					 struct http_response *response, struct byte_buf *body,
					 struct fault *fault)
{
	CLEANUP(http_stream_closep) struct http_stream *stream = NULL;
	enum hfkv_status status = hub_client_start(client, call, &stream, fault);
	return status == HFKV_OK ? hub_client_finish(client, stream, call, response, body, fault) : status;
}

enum hfkv_status hub_client_perform(struct hub_client *client, const struct hub_call *call,
				    struct http_response *response, struct byte_buf *body, struct fault *fault)
{
	struct http_retry retry = http_retry_begin(client->http, call->deadline, NULL);
	struct fault own;
	enum hfkv_status status;
	do {
		own = FAULT_NONE;
		status = hub_client_perform_once(client, call, response, body, &own);
	} while (http_retry_again(&retry, status, &own));
	if (fault && status != HFKV_OK)
		*fault = own;
	return status;
}
