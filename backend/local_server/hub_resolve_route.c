/* resolve: what an object is, and its bytes for clients that do not speak Xet. */
#include "backend/local_server/file_content.h"
#include "backend/local_server/json_writer.h"
#include "backend/local_server/routes.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define FILE_INFO_TYPE "application/vnd.xet-fileinfo+json"

/* The found object, copied out of the catalog's visit. */
struct resolved {
	bool found;
	struct content_hash hash;
	char hash_text[CONTENT_HASH_TEXT_BYTES];
	uint64_t size_bytes;
	int64_t changed_at_ms;
	char content_type[128];
};

static void visit_resolved(void *context, size_t index, const struct catalog_object *object)
{
	(void)index;
	struct resolved *resolved = context;
	resolved->found = true;
	resolved->hash = object->hash;
	resolved->size_bytes = object->size_bytes;
	resolved->changed_at_ms = object->modified_at_ms >= 0 ? object->modified_at_ms : object->uploaded_at_ms;
	content_hash_format(&object->hash, resolved->hash_text);
	snprintf(resolved->content_type, sizeof(resolved->content_type), "%s",
		 object->content_type ? object->content_type : "application/octet-stream");
}

static void add_headers(const struct request *request, const struct resolved *resolved, struct reply *reply)
{
	char origin[REQUEST_ORIGIN_BYTES], date[64];
	time_t seconds = (time_t)(resolved->changed_at_ms / 1000);
	struct tm parts;
	request_origin(request, origin);
	if (gmtime_r(&seconds, &parts) && strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0)
		reply_header(reply, "Last-Modified", "%s", date);
	reply_header(reply, "ETag", "\"%s\"", resolved->hash_text);
	reply_header(reply, "X-Linked-Etag", "\"%s\"", resolved->hash_text);
	reply_header(reply, "X-Linked-Size", "%" PRIu64, resolved->size_bytes);
	reply_header(reply, "X-Xet-Hash", "%s", resolved->hash_text);
	reply_header(reply, "Accept-Ranges", "bytes");
	reply_header(reply, "Link",
		     "<%s/api/buckets/%s/%s/xet-read-token>; rel=\"xet-auth\","
		     " <%s/v1/reconstructions/%s>; rel=\"xet-reconstruction-info\"",
		     origin, request->bucket.owner, request->bucket.name, origin, resolved->hash_text);
}

static void answer_file_info(const struct request *request, const struct resolved *resolved, struct reply *reply)
{
	char origin[REQUEST_ORIGIN_BYTES], url[REQUEST_ORIGIN_BYTES + 2 * CATALOG_NAME_BYTES + 64];
	request_origin(request, origin);
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	json_write_open(&json, '{');
	json_write_text_field(&json, "hash", resolved->hash_text);
	json_write_uint_field(&json, "size", resolved->size_bytes);
	snprintf(url, sizeof(url), "%s/api/buckets/%s/%s/xet-read-token", origin, request->bucket.owner,
		 request->bucket.name);
	json_write_text_field(&json, "refreshUrl", url);
	snprintf(url, sizeof(url), "%s/v1/reconstructions/%s", origin, resolved->hash_text);
	json_write_text_field(&json, "reconstructionUrl", url);
	json_write_close(&json, '}');
	if (!json_writer_ok(&json)) {
		reply_error(reply, 500, NULL, "no memory for the answer");
		return;
	}
	reply->status = 200;
	reply_header(reply, "Content-Type", FILE_INFO_TYPE);
}

static ssize_t content_read(void *context, uint64_t offset, char *bytes, size_t max)
{
	(void)offset; /* asked in order */
	return file_content_read(context, bytes, max);
}

static void content_free(void *context)
{
	file_content_free(context);
}

/* Makes the reply's body the bytes of `range`. False, and the reply filled, on failure. */
static bool stream_content(struct request *request, const struct resolved *resolved, struct byte_range range,
			   struct reply *reply)
{
	if (range.start == range.end)
		return true;
	struct fault fault = FAULT_NONE;
	struct reconstruction_plan *plan = NULL;
	struct file_content *content = NULL;
	CLEANUP(catalog_file_done) struct catalog_file file = { 0 };
	enum hfkv_status status = catalog_file_find(request->shared->catalog, &resolved->hash, &file, &fault);
	if (status == HFKV_OK)
		status = reconstruction_plan_new(request->shared->catalog, &file, range, &plan, &fault);
	if (status == HFKV_OK)
		status = file_content_new(request->shared->blobs, plan, range.end - range.start, &content, &fault);
	if (status != HFKV_OK) {
		reply_fault(reply, status, &fault);
		return false;
	}
	reply->stream = (struct reply_stream){
		.read = content_read, .free = content_free, .context = content, .length = range.end - range.start
	};
	return true;
}

static bool has_etag(const struct request *request, const char *hash_text)
{
	const char *header = request_header(request, "If-None-Match");
	return header && (strcmp(header, "*") == 0 || strstr(header, hash_text));
}

static void answer_content(struct request *request, const struct resolved *resolved, struct reply *reply)
{
	struct byte_range range;
	enum range_outcome outcome =
	    byte_range_parse(request_header(request, "Range"), resolved->size_bytes, &range);
	if (outcome == RANGE_MALFORMED) /* a Range that is not understood counts as none (RFC 9110, 14.2) */
		outcome = byte_range_parse(NULL, resolved->size_bytes, &range);
	if (outcome == RANGE_UNSATISFIABLE) {
		reply_error(reply, 416, NULL, "the range begins at or past the end of the object");
		reply_header(reply, "Content-Range", "bytes */%" PRIu64, resolved->size_bytes);
		return;
	}
	if (!stream_content(request, resolved, range, reply))
		return;
	reply->status = outcome == RANGE_OK ? 206 : 200;
	reply_header(reply, "Content-Type", "%s", resolved->content_type);
	add_headers(request, resolved, reply);
	if (outcome == RANGE_OK)
		reply_header(reply, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range.start,
			     range.end - 1, resolved->size_bytes);
}

void hub_resolve(struct request *request, struct reply *reply)
{
	struct resolved resolved = { .found = false };
	struct fault fault = FAULT_NONE;
	const char *path = request->captures[2], *accept = request_header(request, "Accept");
	struct catalog_look_up look_up = {
		.paths = &path, .count = 1, .visit = visit_resolved, .context = &resolved
	};
	enum hfkv_status status =
	    catalog_objects_find(request->shared->catalog, request->bucket.id, &look_up, &fault);
	if (status != HFKV_OK) {
		reply_fault(reply, status, &fault);
	} else if (!resolved.found) {
		reply_error(reply, 404, "EntryNotFound", "there is no object '%s'", path);
	} else if (has_etag(request, resolved.hash_text)) {
		reply->status = 304;
		add_headers(request, &resolved, reply);
	} else if (accept && strstr(accept, FILE_INFO_TYPE)) {
		answer_file_info(request, &resolved, reply);
		add_headers(request, &resolved, reply);
	} else {
		answer_content(request, &resolved, reply);
	}
}
