#include "backend/hub/hub_batch.h"

#include "common/json_text.h"

#include <stdio.h>
#include <string.h>
#include <uthash.h>

#define BODY_MAX_BYTES   (16 * 1024 * 1024)
#define ANSWER_MAX_BYTES (8 * 1024 * 1024)

/* ---- request ---- */

static json_t *line_json(const struct hub_client *client, const struct hub_batch_line *line)
{
	char hash[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(&line->hash, hash);
	switch (line->kind) {
	case HUB_BATCH_ADD:
		return json_pack("{s:s, s:s, s:s, s:I}", "type", "addFile", "path", line->path, "xetHash", hash,
				 "mtime", (json_int_t)line->modified_at_ms);
	case HUB_BATCH_COPY:
		return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", "copyFile", "path", line->path,
				 "xetHash", hash, "sourceRepoType", "bucket", "sourceRepoId",
				 hub_client_bucket(client), "mtime", (json_int_t)line->modified_at_ms);
	case HUB_BATCH_DELETE: return json_pack("{s:s, s:s}", "type", "deleteFile", "path", line->path);
	}
	return NULL;
}

static bool write_lines(const struct hub_client *client, const struct hub_batch_line *lines, size_t count,
			struct byte_buf *body)
{
	for (size_t i = 0; i < count; i++) {
		json_auto_t *json = line_json(client, &lines[i]);
		CLEANUP(free_pointer) char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
		if (!text || !byte_buf_append_text(body, text) || !byte_buf_append_text(body, "\n"))
			return false;
	}
	return true;
}

/* ---- answer ---- */

struct refused_path {
	const char *path, *reason;
	UT_hash_handle hh;
};

/* The `failed` list by path. False: no memory or not of that shape. */
static bool index_refused(const json_t *failed, struct refused_path *refused, struct refused_path **ret_table)
{
	size_t i;
	const json_t *json;
	json_array_foreach(failed, i, json)
	{
		struct refused_path *added = &refused[i], *found;
		added->path = json_string_value(json_object_get(json, "path"));
		added->reason = json_string_value(json_object_get(json, "error"));
		if (!added->path)
			return false;
		HASH_FIND_STR(*ret_table, added->path, found);
		if (!found)
			HASH_ADD_KEYPTR(hh, *ret_table, added->path, strlen(added->path), added);
	}
	return true;
}

static void set_outcomes(struct hub_batch_line *lines, size_t count, struct refused_path *table)
{
	for (size_t i = 0; i < count; i++) {
		struct refused_path *found;
		HASH_FIND_STR(table, lines[i].path, found);
		lines[i].outcome = found ? HUB_BATCH_REFUSED : HUB_BATCH_APPLIED;
		if (found)
			snprintf(lines[i].reason, sizeof(lines[i].reason), "%s",
				 found->reason ? found->reason : "no reason given");
	}
}

/* False when the answer does not tell the outcome of every line: all well, or a list of what was not. */
static bool take_answer(const struct byte_buf *answer, bool is_success, struct hub_batch_line *lines, size_t count)
{
	json_auto_t *json = json_text_load(byte_buf_text(answer), answer->length, NULL);
	const json_t *failed = json_object_get(json, "failed");
	size_t n_failed = json_array_size(failed);
	bool all_well = is_success && json_is_object(json) && !json_is_false(json_object_get(json, "success"));
	if (n_failed == 0 && !all_well)
		return false;
	if (n_failed == 0) {
		set_outcomes(lines, count, NULL);
		return true;
	}
	CLEANUP(free_pointer) struct refused_path *refused = calloc(n_failed, sizeof(*refused));
	struct refused_path *table = NULL;
	bool known = refused && index_refused(failed, refused, &table);
	if (known)
		set_outcomes(lines, count, table);
	HASH_CLEAR(hh, table);
	return known;
}

enum hfkv_status hub_batch_commit(struct hub_client *client, struct hub_batch_line *lines, size_t count,
				  struct deadline deadline, struct fault *fault)
{
	struct byte_buf url = BYTE_BUF_INIT(4096);
	struct byte_buf body = BYTE_BUF_INIT(BODY_MAX_BYTES);
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	struct http_response header = HTTP_RESPONSE_INIT;
	enum hfkv_status status = HFKV_OK;
	if (count > HUB_BATCH_MAX_LINES)
		return fault_set(fault, HFKV_INVALID, "a batch of %zu lines is too long", count);
	for (size_t i = 0; i < count; i++)
		lines[i].outcome = HUB_BATCH_UNKNOWN;
	if (!hub_client_url(client, &url, "/batch") || !write_lines(client, lines, count, &body))
		status = fault_set(fault, HFKV_NO_MEMORY, "no memory for a batch of %zu lines", count);
	struct iovec segment = { body.data, body.length };
	struct hub_call call = { .what = "batch",
				 .method = "POST",
				 .url = byte_buf_text(&url),
				 .content_type = "application/x-ndjson",
				 .body = { body.length, &segment, 1, NULL, NULL },
				 .deadline = deadline };
	if (status == HFKV_OK)
		status = hub_client_perform_once(client, &call, &header, &answer, fault);
	bool has_list = status == HFKV_OK || header.status == 422;
	if (has_list) {
		bool known = take_answer(&answer, status == HFKV_OK, lines, count);
		if (known)
			status = HFKV_OK;
		else if (status == HFKV_OK)
			status = fault_set(fault, HFKV_UNAVAILABLE,
					   "batch of bucket '%s': the answer does not say what became of it",
					   hub_client_bucket(client));
	}
	http_response_done(&header);
	byte_buf_done(&answer);
	byte_buf_done(&body);
	byte_buf_done(&url);
	return status;
}
