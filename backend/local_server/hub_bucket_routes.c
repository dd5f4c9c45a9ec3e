/* Buckets: create, info, list, delete, settings, move. */
#include "backend/local_server/json_writer.h"
#include "backend/local_server/object_path.h"
#include "backend/local_server/request_access.h"
#include "backend/local_server/request_uri.h"
#include "backend/local_server/routes.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

#define LIST_PAGE 1000

/* The body as a JSON object; an empty body counts as {}. NULL, and the reply filled, for anything else. */
static json_t *read_object(const struct request *request, struct reply *reply)
{
	json_t *json = request->body.length == 0 ? json_object()
						 : json_loadb(request->body.data, request->body.length, 0, NULL);
	if (json_is_object(json))
		return json;
	json_decref(json);
	reply_error(reply, 400, NULL, "the body must be a JSON object");
	return NULL;
}

static void write_bucket(struct json_writer *json, const struct catalog_bucket *bucket)
{
	char id[2 * CATALOG_NAME_BYTES];
	snprintf(id, sizeof(id), "%s/%s", bucket->owner, bucket->name);
	json_write_open(json, '{');
	json_write_text_field(json, "id", id);
	json_write_text_field(json, "author", bucket->owner);
	json_write_text_field(json, "name", bucket->name);
	json_write_bool_field(json, "private", bucket->is_private);
	json_write_text_field(json, "visibility", bucket->is_private ? "private" : "public");
	json_write_time_field(json, "createdAt", bucket->created_at_ms);
	json_write_time_field(json, "updatedAt", bucket->updated_at_ms);
	json_write_uint_field(json, "size", bucket->size_bytes);
	json_write_uint_field(json, "totalFiles", bucket->file_count);
	json_write_close(json, '}');
}

static void write_url(struct json_writer *json, const struct request *request, const struct catalog_bucket *bucket)
{
	char origin[REQUEST_ORIGIN_BYTES], url[REQUEST_ORIGIN_BYTES + 2 * CATALOG_NAME_BYTES + 16];
	request_origin(request, origin);
	snprintf(url, sizeof(url), "%s/buckets/%s/%s", origin, bucket->owner, bucket->name);
	json_write_text_field(json, "url", url);
}

/* What a new bucket is to be: private unless the caller says public. False, and the reply filled, when unclear. */
static bool wants_private(const json_t *json, bool *ret_private, struct reply *reply)
{
	const json_t *visibility = json_object_get(json, "visibility"), *flag = json_object_get(json, "private");
	const char *text = json_string_value(visibility);
	*ret_private = true;
	if (text && strcmp(text, "public") == 0)
		*ret_private = false;
	else if (visibility && !json_is_null(visibility) && !(text && strcmp(text, "private") == 0)) {
		reply_error(reply, 400, NULL, "\"visibility\" must be \"public\" or \"private\"");
		return false;
	} else if (json_is_boolean(flag))
		*ret_private = json_is_true(flag);
	else if (flag && !json_is_null(flag)) {
		reply_error(reply, 400, NULL, "\"private\" must be true or false");
		return false;
	}
	return true;
}

static void answer_created(const struct request *request, bool existed, const struct catalog_bucket *bucket,
			   struct reply *reply)
{
	if (existed)
		reply_header(reply, "X-Error-Message", "You already created this bucket: %s/%s", bucket->owner,
			     bucket->name);
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	char id[2 * CATALOG_NAME_BYTES];
	snprintf(id, sizeof(id), "%s/%s", bucket->owner, bucket->name);
	json_write_open(&json, '{');
	if (existed)
		json_write_text_field(&json, "error", "You already created this bucket");
	json_write_text_field(&json, "id", id);
	json_write_text_field(&json, "name", id);
	write_url(&json, request, bucket);
	json_write_close(&json, '}');
	reply_json_body(reply, existed ? 409 : 200, json_writer_ok(&json));
}

void hub_create_bucket(struct request *request, struct reply *reply)
{
	const char *owner = request_owner_name(request->captures[0]), *name = request->captures[1];
	if (!bucket_name_valid(owner) || !bucket_name_valid(name)) {
		reply_error(
		    reply, 400, NULL,
		    "bucket and namespace names are 1 to 96 of A-Z a-z 0-9 . _ - and begin with none of . -");
		return;
	}
	json_t *json = read_object(request, reply);
	bool is_private = true;
	bool clear = json && wants_private(json, &is_private, reply);
	json_decref(json);
	if (!clear)
		return;
	struct catalog_bucket bucket;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    catalog_bucket_create(request->shared->catalog, owner, name, is_private, &bucket, &fault);
	if (status == HFKV_OK || status == HFKV_EXISTS)
		answer_created(request, status == HFKV_EXISTS, &bucket, reply);
	else
		reply_fault(reply, status, &fault);
}

void hub_bucket_info(struct request *request, struct reply *reply)
{
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	write_bucket(&json, &request->bucket);
	reply_json_body(reply, 200, json_writer_ok(&json));
}

struct list_visit {
	struct json_writer json;
	unsigned count;
	char last[CATALOG_NAME_BYTES];
};

static void visit_listed(void *context, const struct catalog_bucket *bucket)
{
	struct list_visit *visit = context;
	if (visit->count++ == LIST_PAGE)
		return; /* only there to show that more follow */
	write_bucket(&visit->json, bucket);
	memcpy(visit->last, bucket->name, sizeof(visit->last));
}

void hub_list_buckets(struct request *request, struct reply *reply)
{
	const char *owner = request_owner_name(request->captures[0]);
	CLEANUP(free_pointer) char *search = uri_query_value(request->query, "search");
	CLEANUP(free_pointer) char *cursor = uri_query_value(request->query, "cursor");
	struct list_visit visit = { .json = JSON_WRITER_INIT(&reply->body) };
	struct fault fault = FAULT_NONE;
	json_write_open(&visit.json, '[');
	struct catalog_bucket_query query = { .owner = owner,
					      .search = search ? search : "",
					      .after = cursor ? cursor : "",
					      .limit = LIST_PAGE + 1,
					      .visit = visit_listed,
					      .context = &visit };
	enum hfkv_status status = catalog_bucket_list(request->shared->catalog, &query, &fault);
	json_write_close(&visit.json, ']');
	if (status != HFKV_OK) {
		reply_fault(reply, status, &fault);
		return;
	}
	reply_json_body(reply, 200, json_writer_ok(&visit.json));
	CLEANUP(free_pointer) char *again = search ? uri_encode(search, "") : NULL;
	char origin[REQUEST_ORIGIN_BYTES];
	request_origin(request, origin);
	if (visit.count > LIST_PAGE)
		reply_header(reply, "Link", "<%s/api/buckets/%s?search=%s&cursor=%s>; rel=\"next\"", origin, owner,
			     again ? again : "", visit.last);
}

void hub_delete_bucket(struct request *request, struct reply *reply)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = catalog_bucket_delete(request->shared->catalog, request->bucket.id, &fault);
	if (status == HFKV_OK)
		reply_json_text(reply, 200, "{}");
	else if (status == HFKV_NOT_FOUND)
		reply_error(reply, 404, "RepoNotFound", "the bucket is gone already");
	else
		reply_fault(reply, status, &fault);
}

void hub_bucket_settings(struct request *request, struct reply *reply)
{
	json_t *json = read_object(request, reply);
	bool is_private = true;
	bool clear = json && wants_private(json, &is_private, reply);
	json_decref(json);
	if (!clear)
		return;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    catalog_bucket_set_private(request->shared->catalog, request->bucket.id, is_private, &fault);
	if (status == HFKV_OK)
		reply_json_text(reply, 200, "{}");
	else
		reply_fault(reply, status, &fault);
}

/* Splits "owner/name" in place; false when it is not of that form. */
static bool split_id(char *id, const char **ret_owner, const char **ret_name)
{
	char *slash = strchr(id, '/');
	if (!slash)
		return false;
	*slash = '\0';
	*ret_owner = request_owner_name(id);
	*ret_name = slash + 1;
	return bucket_name_valid(*ret_owner) && bucket_name_valid(*ret_name);
}

static void move_bucket(struct request *request, char *from, char *to, struct reply *reply)
{
	const char *owner, *name, *new_owner, *new_name;
	struct catalog_bucket bucket;
	struct fault fault = FAULT_NONE;
	if (!split_id(from, &owner, &name) || !split_id(to, &new_owner, &new_name)) {
		reply_error(reply, 400, NULL, "\"fromRepo\" and \"toRepo\" must be <namespace>/<name>");
		return;
	}
	enum hfkv_status status = catalog_bucket_find(request->shared->catalog, owner, name, &bucket, &fault);
	if (status == HFKV_OK)
		status = catalog_bucket_rename(request->shared->catalog, bucket.id, new_owner, new_name, &fault);
	if (status == HFKV_OK)
		reply_json_text(reply, 200, "{}");
	else if (status == HFKV_NOT_FOUND)
		reply_error(reply, 404, "RepoNotFound", "there is no bucket '%s/%s'", owner, name);
	else if (status == HFKV_EXISTS)
		reply_error(reply, 409, NULL, "there is a bucket '%s/%s' already", new_owner, new_name);
	else
		reply_fault(reply, status, &fault);
}

void hub_move_bucket(struct request *request, struct reply *reply)
{
	json_t *json = read_object(request, reply);
	if (!json)
		return;
	const char *from = json_string_value(json_object_get(json, "fromRepo"));
	const char *to = json_string_value(json_object_get(json, "toRepo"));
	const char *type = json_string_value(json_object_get(json, "type"));
	CLEANUP(free_pointer) char *from_copy = from ? strdup(from) : NULL;
	CLEANUP(free_pointer) char *to_copy = to ? strdup(to) : NULL;
	bool is_bucket = type && strcmp(type, "bucket") == 0;
	json_decref(json);
	if (is_bucket && from_copy && to_copy)
		move_bucket(request, from_copy, to_copy, reply);
	else
		reply_error(reply, 400, NULL, "\"fromRepo\", \"toRepo\" and \"type\": \"bucket\" are needed");
}
