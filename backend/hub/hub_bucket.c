#include "backend/hub/hub_bucket.h"

#include "backend/hub/hub_entry.h"
#include "common/json_text.h"

#include <string.h>

#define URL_MAX_BYTES    (16 * 1024)
#define ANSWER_MAX_BYTES (16 * 1024 * 1024)
#define PAGES_MAX        10000

static enum hfkv_status no_memory(struct fault *fault)
{
	return fault_set(fault, HFKV_NO_MEMORY, "no memory for a call about a bucket");
}

static enum hfkv_status not_understood(const struct hub_client *client, const char *what, struct fault *fault)
{
	return fault_set(fault, HFKV_CORRUPT, "%s of bucket '%s': the answer is not what the Hub sends", what,
			 hub_client_bucket(client));
}

enum hfkv_status hub_bucket_create(struct hub_client *client, struct deadline deadline, struct fault *fault)
{
	static char body_text[] = "{\"visibility\":\"private\"}";
	struct iovec segment = { body_text, sizeof(body_text) - 1 };
	struct byte_buf url = BYTE_BUF_INIT(URL_MAX_BYTES);
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	enum hfkv_status status = hub_client_url(client, &url, "") ? HFKV_OK : no_memory(fault);
	struct hub_call call = { .what = "creation",
				 .method = "POST",
				 .url = byte_buf_text(&url),
				 .content_type = "application/json",
				 .body = { segment.iov_len, &segment, 1, NULL, NULL },
				 .deadline = deadline };
	if (status == HFKV_OK)
		status = hub_client_perform(client, &call, NULL, &answer, fault);
	byte_buf_done(&answer);
	byte_buf_done(&url);
	return status == HFKV_EXISTS ? HFKV_OK : status;
}

static bool parse_info(const json_t *json, struct hub_bucket_info *ret_info)
{
	const char *id = json_string_value(json_object_get(json, "id"));
	struct hub_bucket_info info = { .is_private = json_is_true(json_object_get(json, "private")) };
	if (!id || strlen(id) >= sizeof(info.id))
		return false;
	memcpy(info.id, id, strlen(id) + 1);
	json_int_t size = json_integer_value(json_object_get(json, "size"));
	json_int_t files = json_integer_value(json_object_get(json, "totalFiles"));
	info.size_bytes = size > 0 ? (uint64_t)size : 0;
	info.file_count = files > 0 ? (uint64_t)files : 0;
	info.updated_at_ms = hub_time_parse(json_string_value(json_object_get(json, "updatedAt")));
	*ret_info = info;
	return true;
}

enum hfkv_status hub_bucket_get_info(struct hub_client *client, struct deadline deadline,
				     struct hub_bucket_info *ret_info, struct fault *fault)
{
	struct byte_buf url = BYTE_BUF_INIT(URL_MAX_BYTES);
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	enum hfkv_status status = hub_client_url(client, &url, "") ? HFKV_OK : no_memory(fault);
	struct hub_call call = {
		.what = "info", .method = "GET", .url = byte_buf_text(&url), .deadline = deadline
	};
	if (status == HFKV_OK)
		status = hub_client_perform(client, &call, NULL, &answer, fault);
	if (status == HFKV_OK) {
		json_auto_t *json = json_text_load(byte_buf_text(&answer), answer.length, NULL);
		if (!parse_info(json, ret_info))
			status = not_understood(client, "info", fault);
	}
	byte_buf_done(&answer);
	byte_buf_done(&url);
	return status;
}

/* ---- list ---- */

static bool namespace_url(const struct hub_client *client, struct byte_buf *url)
{
	const char *bucket = hub_client_bucket(client);
	CLEANUP(free_pointer) char *namespace = strndup(bucket, strcspn(bucket, "/"));
	return namespace && hub_client_endpoint_url(client, url, "/api/buckets/") && hub_quote(url, namespace);
}

/* One page; then `url` is the next one's, or *ret_more false. */
static enum hfkv_status list_page(struct hub_client *client, const struct hub_call *call, struct byte_buf *next,
				  hub_bucket_visit visit, void *context, struct fault *fault)
{
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	struct http_response header = HTTP_RESPONSE_INIT;
	enum hfkv_status status = hub_client_perform(client, call, &header, &answer, fault);
	json_auto_t *page = status == HFKV_OK ? json_text_load(byte_buf_text(&answer), answer.length, NULL) : NULL;
	byte_buf_done(&answer);
	if (status == HFKV_OK && !json_is_array(page))
		status = not_understood(client, "list", fault);
	for (size_t i = 0; status == HFKV_OK && i < json_array_size(page); i++) {
		struct hub_bucket_info info;
		if (parse_info(json_array_get(page, i), &info))
			status = visit(context, &info);
	}
	byte_buf_clear(next);
	if (status == HFKV_OK && http_response_link(&header, "next", next) &&
	    (!hub_client_is_same_origin(client, byte_buf_text(next)) ||
	     strcmp(byte_buf_text(next), call->url) == 0))
		status = not_understood(client, "list", fault);
	http_response_done(&header);
	return status;
}

enum hfkv_status hub_bucket_list(struct hub_client *client, hub_bucket_visit visit, void *context,
				 struct deadline deadline, struct fault *fault)
{
	struct byte_buf url = BYTE_BUF_INIT(URL_MAX_BYTES), next = BYTE_BUF_INIT(URL_MAX_BYTES);
	enum hfkv_status status = namespace_url(client, &url) ? HFKV_OK : no_memory(fault);
	for (size_t n_pages = 0; status == HFKV_OK && url.length > 0 && n_pages < PAGES_MAX; n_pages++) {
		struct hub_call call = {
			.what = "list", .method = "GET", .url = byte_buf_text(&url), .deadline = deadline
		};
		status = list_page(client, &call, &next, visit, context, fault);
		struct byte_buf used = url;
		url = next;
		next = used;
	}
	byte_buf_done(&url);
	byte_buf_done(&next);
	return status;
}

/* ---- what else has the name ---- */

const char *hub_bucket_other_kind(struct hub_client *client, struct deadline deadline)
{
	static const char *const kinds[] = { "model", "dataset", "space" };
	const char *bucket = hub_client_bucket(client), *found = NULL;
	const char *slash = strchr(bucket, '/');
	CLEANUP(free_pointer) char *namespace = strndup(bucket, (size_t)(slash - bucket));
	struct byte_buf url = BYTE_BUF_INIT(URL_MAX_BYTES);
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	for (size_t i = 0; i < ARRAY_LENGTH(kinds) && namespace && !found; i++) {
		char route[32];
		snprintf(route, sizeof(route), "/api/%ss/", kinds[i]);
		if (!hub_client_endpoint_url(client, &url, route) || !hub_quote(&url, namespace) ||
		    !byte_buf_append_text(&url, "/") || !hub_quote(&url, slash + 1))
			break;
		struct hub_call call = {
			.what = "kind", .method = "GET", .url = byte_buf_text(&url), .deadline = deadline
		};
		if (hub_client_perform_once(client, &call, NULL, &answer, NULL) == HFKV_OK)
			found = kinds[i];
	}
	byte_buf_done(&answer);
	byte_buf_done(&url);
	return found;
}
