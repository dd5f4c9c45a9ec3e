/* The one call that changes a bucket's objects: NDJSON of operations. */
#include "backend/local_server/json_writer.h"
#include "backend/local_server/object_path.h"
#include "backend/local_server/request_access.h"
#include "backend/local_server/routes.h"

#include <jansson.h>

#include <string.h>

#define OPERATIONS_MAX 1000

struct batch {
	struct catalog_change changes[OPERATIONS_MAX];
	json_t *lines[OPERATIONS_MAX];      /* owned: the changes borrow their texts */
	const char *errors[OPERATIONS_MAX]; /* static text, for operations that cannot be applied */
	size_t count;
};

static void batch_free(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		json_decref(batch->lines[i]);
	free(batch);
}
DEFINE_CLEANUP(batch_free, struct batch *);

static const char *text_field(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

/* Whether a copy's source can be one of this server: it holds buckets only. */
static const char *copy_refusal(struct request *request, const json_t *json)
{
	const char *type = text_field(json, "sourceRepoType"), *id = text_field(json, "sourceRepoId");
	if (!type || strcmp(type, "bucket") != 0)
		return "this server can copy from buckets only";
	CLEANUP(free_pointer) char *owner = id ? strdup(id) : NULL;
	char *slash = owner ? strchr(owner, '/') : NULL;
	if (!slash)
		return "\"sourceRepoId\" must be <namespace>/<name>";
	*slash = '\0';
	struct catalog_bucket source;
	enum hfkv_status status =
	    catalog_bucket_find(request->shared->catalog, request_owner_name(owner), slash + 1, &source, NULL);
	return status == HFKV_OK ? NULL : "the source bucket does not exist";
}

static const char *read_added(struct request *request, const json_t *json, const char *type,
			      struct catalog_change *change)
{
	const char *hash = text_field(json, "xetHash");
	const json_t *mtime = json_object_get(json, "mtime");
	if (!hash || !content_hash_parse(hash, &change->hash))
		return "\"xetHash\" must be 64 hex digits";
	change->modified_at_ms = -1;
	if (json_is_integer(mtime) && json_integer_value(mtime) >= 0)
		change->modified_at_ms = json_integer_value(mtime);
	else if (json_is_real(mtime) && json_real_value(mtime) >= 0 && json_real_value(mtime) < 1e15)
		change->modified_at_ms = (int64_t)json_real_value(mtime);
	else if (mtime && !json_is_null(mtime))
		return "\"mtime\" must be milliseconds since 1970";
	change->content_type = text_field(json, "contentType");
	return strcmp(type, "copyFile") == 0 ? copy_refusal(request, json) : NULL;
}

/* Fills the change; NULL, or why this operation alone cannot be applied. */
static const char *read_operation(struct request *request, const json_t *json, struct catalog_change *change)
{
	const char *type = text_field(json, "type");
	change->path = text_field(json, "path");
	if (!type || !change->path)
		return "\"type\" and \"path\" are needed";
	const char *refusal = object_path_refusal(change->path);
	if (refusal)
		return refusal;
	if (strlen(change->path) != json_string_length(json_object_get(json, "path")))
		return "the path holds a NUL";
	if (strcmp(type, "deleteFile") == 0) {
		change->kind = CATALOG_DELETE;
		return NULL;
	}
	if (strcmp(type, "addFile") != 0 && strcmp(type, "copyFile") != 0)
		return "\"type\" must be addFile, copyFile or deleteFile";
	change->kind = CATALOG_ADD;
	return read_added(request, json, type, change);
}

/* Takes the body apart. False, and the reply filled, when it is no batch at all. */
static bool read_lines(struct request *request, struct batch *batch, struct reply *reply)
{
	const char *at = byte_buf_text(&request->body), *end = at + request->body.length;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((line_end ? line_end : end) - at);
		const char *line = at;
		at += length + 1;
		if (length == 0 || (length == 1 && line[0] == '\r'))
			continue;
		if (batch->count == OPERATIONS_MAX) {
			reply_error(reply, 400, NULL, "at most %d operations in one call", OPERATIONS_MAX);
			return false;
		}
		json_t *json = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
		if (!json_is_object(json)) {
			json_decref(json);
			reply_error(reply, 400, NULL, "line %zu is not a JSON object", batch->count + 1);
			return false;
		}
		size_t i = batch->count++;
		batch->lines[i] = json;
		batch->errors[i] = read_operation(request, json, &batch->changes[i]);
		batch->changes[i].status = batch->errors[i] ? HFKV_INVALID : HFKV_OK;
	}
	return true;
}

static void answer_batch(const struct batch *batch, struct reply *reply)
{
	size_t failed = 0;
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	json_write_open(&json, '{');
	json_write_key(&json, "failed");
	json_write_open(&json, '[');
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->changes[i].status == HFKV_OK)
			continue;
		failed++;
		json_write_open(&json, '{');
		json_write_text_field(&json, "path", batch->changes[i].path ? batch->changes[i].path : "");
		json_write_text_field(&json, "error",
				      batch->errors[i] ? batch->errors[i]
						       : "the content store has no file of this xetHash");
		json_write_close(&json, '}');
	}
	json_write_close(&json, ']');
	json_write_bool_field(&json, "success", failed == 0);
	json_write_uint_field(&json, "processed", batch->count);
	json_write_uint_field(&json, "succeeded", batch->count - failed);
	json_write_close(&json, '}');
	reply_json_body(reply, failed > 0 && failed == batch->count ? 422 : 200, json_writer_ok(&json));
}

void hub_batch(struct request *request, struct reply *reply)
{
	CLEANUP(batch_freep) struct batch *batch = calloc(1, sizeof(*batch));
	if (!batch) {
		reply_error(reply, 503, NULL, "no memory for the batch");
		return;
	}
	if (!read_lines(request, batch, reply))
		return;
	size_t count = batch->count;
	if (request->apply_first >= 0 && (uint64_t)request->apply_first < count)
		count = (size_t)request->apply_first;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    catalog_objects_change(request->shared->catalog, request->bucket.id, batch->changes, count, &fault);
	if (status == HFKV_OK)
		answer_batch(batch, reply);
	else if (status == HFKV_NOT_FOUND)
		reply_error(reply, 404, "RepoNotFound", "the bucket was deleted");
	else
		reply_fault(reply, status, &fault);
}
