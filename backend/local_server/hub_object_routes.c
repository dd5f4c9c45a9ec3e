/* Listings and look-ups of objects: tree and paths-info. */
#include "backend/local_server/json_writer.h"
#include "backend/local_server/request_uri.h"
#include "backend/local_server/routes.h"
#include "backend/local_server/tree_page.h"

#include <jansson.h>

#include <string.h>
#include <strings.h>

#define TREE_LIMIT_DEFAULT 1000
#define TREE_LIMIT_MAX     5000
#define PATHS_MAX          1000

static void write_object(struct json_writer *json, const struct catalog_object *object)
{
	char hash[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(&object->hash, hash);
	json_write_open(json, '{');
	json_write_text_field(json, "type", "file");
	json_write_text_field(json, "path", object->path);
	json_write_uint_field(json, "size", object->size_bytes);
	json_write_text_field(json, "xetHash", hash);
	if (object->modified_at_ms >= 0)
		json_write_time_field(json, "mtime", object->modified_at_ms);
	json_write_time_field(json, "uploadedAt", object->uploaded_at_ms);
	if (object->content_type)
		json_write_text_field(json, "contentType", object->content_type);
	json_write_close(json, '}');
}

/*
 * Entries are written one after another into the reply. Where each begins is kept only when a test wants them
 * in reverse order.
 */
struct entry_list {
	struct json_writer json;
	struct request *request;
	size_t *starts, start_count;
};

static void note_start(struct entry_list *list)
{
	if (list->starts)
		list->starts[list->start_count++] = list->json.buf->length;
}

static void list_file(void *context, const struct catalog_object *object)
{
	struct entry_list *list = context;
	note_start(list);
	write_object(&list->json, object);
}

static void list_directory(void *context, const char *path, size_t length)
{
	struct entry_list *list = context;
	char name[CATALOG_SCAN_BOUND_BYTES];
	if (length >= sizeof(name))
		return;
	memcpy(name, path, length);
	name[length] = '\0';
	note_start(list);
	json_write_open(&list->json, '{');
	json_write_text_field(&list->json, "type", "directory");
	json_write_text_field(&list->json, "path", name);
	json_write_close(&list->json, '}');
}

static void list_begin(struct entry_list *list, struct request *request, struct reply *reply, size_t most)
{
	*list = (struct entry_list){ .json = JSON_WRITER_INIT(&reply->body), .request = request };
	if (request->reverse_order)
		list->starts = calloc(most + 1, sizeof(*list->starts));
	json_write_open(&list->json, '[');
}

/* Test control: the same entries, last first. */
static void reverse_entries(struct entry_list *list, struct reply *reply)
{
	struct byte_buf turned = BYTE_BUF_INIT(REPLY_BODY_MAX_BYTES);
	bool ok = byte_buf_append(&turned, "[", 1);
	size_t end = reply->body.length;
	for (size_t i = list->start_count; ok && i-- > 0; end = list->starts[i]) {
		size_t start = list->starts[i] + (reply->body.data[list->starts[i]] == ',');
		ok = (turned.length == 1 || byte_buf_append(&turned, ",", 1)) &&
		     byte_buf_append(&turned, reply->body.data + start, end - start);
	}
	byte_buf_done(&reply->body);
	reply->body = turned;
	list->json.failed |= !ok;
}

static void list_end(struct entry_list *list, struct reply *reply)
{
	if (list->starts && !list->json.failed)
		reverse_entries(list, reply);
	free(list->starts);
	list->starts = NULL;
	json_write_close(&list->json, ']');
	reply_json_body(reply, 200, json_writer_ok(&list->json));
}

/* ---- tree ---- */

/* One level only when the caller says so: no parameter means everything. */
static bool wants_one_level(const struct request *request)
{
	CLEANUP(free_pointer) char *value = uri_query_value(request->query, "recursive");
	return value && (strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0);
}

static size_t wanted_limit(const struct request *request)
{
	CLEANUP(free_pointer) char *value = uri_query_value(request->query, "limit");
	unsigned long limit = value ? strtoul(value, NULL, 10) : 0;
	if (limit == 0)
		return TREE_LIMIT_DEFAULT;
	return limit < TREE_LIMIT_MAX ? (size_t)limit : TREE_LIMIT_MAX;
}

static void link_next(struct request *request, const struct tree_page *page, struct reply *reply)
{
	char cursor[TREE_CURSOR_BYTES], origin[REQUEST_ORIGIN_BYTES];
	tree_page_write_cursor(page, cursor);
	request_origin(request, origin);
	CLEANUP(free_pointer) char *prefix = uri_encode(page->prefix, "");
	if (!prefix) {
		reply_error(reply, 500, NULL, "no memory for the answer");
		return;
	}
	reply_header(reply, "Link",
		     "<%s/api/buckets/%s/%s/tree%s%s?recursive=%s&limit=%zu&cursor=%s>; rel=\"next\"", origin,
		     request->bucket.owner, request->bucket.name, prefix[0] ? "/" : "", prefix,
		     page->one_level ? "false" : "true", page->limit, cursor);
}

void hub_tree(struct request *request, struct reply *reply)
{
	char from[CATALOG_SCAN_BOUND_BYTES];
	size_t from_bytes = 0;
	CLEANUP(free_pointer) char *cursor = uri_query_value(request->query, "cursor");
	if (cursor && !tree_page_read_cursor(cursor, from, &from_bytes)) {
		reply_error(reply, 400, NULL, "the cursor is not one that this server gave");
		return;
	}
	struct entry_list list;
	struct tree_page page = { .prefix = request->captures[2] ? request->captures[2] : "",
				  .one_level = wants_one_level(request),
				  .limit = wanted_limit(request),
				  .file = list_file,
				  .directory = list_directory,
				  .context = &list };
	list_begin(&list, request, reply, page.limit);
	struct catalog_scan scan = { .from = from,
				     .from_bytes = from_bytes,
				     .prefix = page.prefix,
				     .visit = tree_page_visit,
				     .context = &page };
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    catalog_objects_scan(request->shared->catalog, request->bucket.id, &scan, &fault);
	list_end(&list, reply);
	if (status != HFKV_OK)
		reply_fault(reply, status, &fault);
	else if (page.more)
		link_next(request, &page, reply);
}

/* ---- paths-info ---- */

static void visit_found(void *context, size_t index, const struct catalog_object *object)
{
	(void)index;
	list_file(context, object);
}

static void answer_paths(struct request *request, const json_t *array, struct reply *reply)
{
	const char *paths[PATHS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *path = json_array_get(array, i);
		if (!json_is_string(path)) {
			reply_error(reply, 400, NULL, "every entry of \"paths\" must be text");
			return;
		}
		/* A text with a NUL names nothing; as a C string it would name something else. */
		if (strlen(json_string_value(path)) == json_string_length(path))
			paths[count++] = json_string_value(path);
	}
	struct entry_list list;
	struct fault fault = FAULT_NONE;
	list_begin(&list, request, reply, count);
	struct catalog_look_up look_up = {
		.paths = paths, .count = count, .visit = visit_found, .context = &list
	};
	enum hfkv_status status =
	    catalog_objects_find(request->shared->catalog, request->bucket.id, &look_up, &fault);
	list_end(&list, reply);
	if (status != HFKV_OK)
		reply_fault(reply, status, &fault);
}

void hub_paths_info(struct request *request, struct reply *reply)
{
	json_t *json = json_loadb(byte_buf_text(&request->body), request->body.length, JSON_ALLOW_NUL, NULL);
	const json_t *paths = json_object_get(json, "paths");
	if (!json_is_array(paths))
		reply_error(reply, 400, NULL, "the body must be {\"paths\": [...]}");
	else if (json_array_size(paths) > PATHS_MAX)
		reply_error(reply, 400, NULL, "at most %d paths in one call", PATHS_MAX);
	else
		answer_paths(request, paths, reply);
	json_decref(json);
}
