#include "backend/hub/hub_paths_info.h"

#include "backend/http/http_retry.h"
#include "common/json_text.h"

#include <string.h>
#include <uthash.h>

#define CALLS_AT_ONCE      4
#define QUESTION_MAX_BYTES (8 * 1024 * 1024) /* 1000 paths of 1024 bytes, each escaped */
#define ANSWER_MAX_BYTES   (16 * 1024 * 1024)

/* One call: up to 1000 of the caller's items. */
struct paths_call {
	struct hub_path_info *infos;
	size_t count;
	struct byte_buf question;
	struct iovec segment;
	struct hub_call call;
	struct http_stream *stream; /* the first try, under way; NULL when it could not be started */
};

/* ---- question ---- */

static enum hfkv_status no_memory(struct fault *fault)
{
	return fault_set(fault, HFKV_NO_MEMORY, "no memory for a paths-info call");
}

static bool write_question(struct paths_call *call)
{
	json_auto_t *paths = json_array();
	for (size_t i = 0; i < call->count; i++)
		if (json_array_append_new(paths, json_string(call->infos[i].path)) != 0)
			return false; /* no memory, or not UTF-8: the store's guard keeps those away */
	json_auto_t *question = json_pack("{s:O}", "paths", paths);
	CLEANUP(free_pointer) char *text = question ? json_dumps(question, JSON_COMPACT) : NULL;
	return text && byte_buf_append_text(&call->question, text);
}

static enum hfkv_status prepare(struct hub_client *client, struct paths_call *call, const char *url,
				struct deadline deadline, struct fault *fault)
{
	call->question = BYTE_BUF_INIT(QUESTION_MAX_BYTES);
	if (!write_question(call))
		return no_memory(fault);
	call->segment = (struct iovec){ call->question.data, call->question.length };
	call->call = (struct hub_call){ .what = "paths-info",
					.method = "POST",
					.url = url,
					.content_type = "application/json",
					.body = { call->question.length, &call->segment, 1, NULL, NULL },
					.deadline = deadline };
	/* A first try that cannot start leaves its failure to the tries that follow. */
	if (hub_client_start(client, &call->call, &call->stream, NULL) != HFKV_OK)
		call->stream = NULL;
	return HFKV_OK;
}

/* ---- answer ---- */

/* The caller's items by path; items of equal path are chained. */
struct asked_path {
	const char *path;
	struct hub_path_info *info;
	struct asked_path *same;
	UT_hash_handle hh;
};

static struct asked_path *index_questions(struct paths_call *call, struct asked_path *asked)
{
	struct asked_path *table = NULL, *found;
	for (size_t i = 0; i < call->count; i++) {
		asked[i] = (struct asked_path){ .path = call->infos[i].path, .info = &call->infos[i] };
		HASH_FIND_STR(table, asked[i].path, found);
		if (found) {
			asked[i].same = found->same;
			found->same = &asked[i];
		} else {
			struct asked_path *added = &asked[i];
			HASH_ADD_KEYPTR(hh, table, added->path, strlen(added->path), added);
		}
	}
	return table;
}

static void take_entry(struct asked_path *table, const json_t *json)
{
	const char *path = json_string_value(json_object_get(json, "path"));
	struct hub_entry entry;
	struct asked_path *asked;
	bool usable = hub_entry_parse(json, &entry);
	if (usable && entry.is_directory)
		return;
	HASH_FIND_STR(table, path, asked);
	for (; asked; asked = asked->same) {
		asked->info->found = usable;
		asked->info->senseless = !usable;
		if (!usable)
			continue;
		asked->info->entry = entry;
		asked->info->entry.path = asked->info->path;
	}
}

static enum hfkv_status take_answer(struct paths_call *call, const struct byte_buf *answer, struct fault *fault)
{
	json_auto_t *json = json_text_load(byte_buf_text(answer), answer->length, NULL);
	if (!hub_entry_is_list(json)) /* cut or mangled on the way: worth another try */
		return fault_set(fault, HFKV_UNAVAILABLE, "paths-info: the answer is not a JSON list of entries");
	CLEANUP(free_pointer) struct asked_path *asked = calloc(call->count, sizeof(*asked));
	if (!asked)
		return no_memory(fault);
	struct asked_path *table = index_questions(call, asked);
	size_t i;
	const json_t *entry;
	json_array_foreach(json, i, entry) take_entry(table, entry);
	HASH_CLEAR(hh, table);
	for (i = 0; i < call->count; i++)
		call->infos[i].answered = true;
	return HFKV_OK;
}

/* ---- calls ---- */

/* The stream that is under way, or a new one. */
static enum hfkv_status try_once(struct hub_client *client, struct paths_call *call, struct byte_buf *answer,
				 struct fault *fault)
{
	CLEANUP(http_stream_closep) struct http_stream *stream = TAKE_PTR(call->stream);
	enum hfkv_status status = stream ? HFKV_OK : hub_client_start(client, &call->call, &stream, fault);
	if (status == HFKV_OK)
		status = hub_client_finish(client, stream, &call->call, NULL, answer, fault);
	return status == HFKV_OK ? take_answer(call, answer, fault) : status;
}

static enum hfkv_status get_answer(struct hub_client *client, struct paths_call *call, struct fault *fault)
{
	struct http_retry retry = http_retry_begin(hub_client_http(client), call->call.deadline, NULL);
	struct byte_buf answer = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	struct fault own;
	enum hfkv_status status;
	do {
		own = FAULT_NONE;
		status = try_once(client, call, &answer, &own);
	} while (http_retry_again(&retry, status, &own));
	byte_buf_done(&answer);
	/* The paths were checked before: what the server refuses here says nothing of them, least of all that nobody
	 * has them. */
	if (status == HFKV_INVALID || status == HFKV_EXISTS)
		status = HFKV_UNAVAILABLE;
	if (fault && status != HFKV_OK)
		*fault = own;
	return status;
}

/* Up to CALLS_AT_ONCE calls, sent together. */
static enum hfkv_status ask_some(struct hub_client *client, struct hub_path_info *infos, size_t count,
				 const char *url, struct deadline deadline, struct fault *fault)
{
	struct paths_call calls[CALLS_AT_ONCE] = { 0 };
	enum hfkv_status first = HFKV_OK;
	size_t n_calls = 0;
	for (size_t at = 0; at < count && first == HFKV_OK; at += HUB_PATHS_PER_CALL) {
		struct paths_call *call = &calls[n_calls++];
		call->infos = infos + at;
		call->count = count - at < HUB_PATHS_PER_CALL ? count - at : HUB_PATHS_PER_CALL;
		first = prepare(client, call, url, deadline, fault);
	}
	for (size_t i = 0; i < n_calls; i++) {
		if (first == HFKV_OK)
			first = get_answer(client, &calls[i], fault);
		http_stream_close(calls[i].stream);
		byte_buf_done(&calls[i].question);
	}
	return first;
}

enum hfkv_status hub_paths_info_get(struct hub_client *client, struct hub_path_info *infos, size_t count,
				    struct deadline deadline, struct fault *fault)
{
	const size_t at_once = CALLS_AT_ONCE * HUB_PATHS_PER_CALL;
	struct byte_buf url = BYTE_BUF_INIT(4096);
	enum hfkv_status status = HFKV_OK;
	for (size_t i = 0; i < count; i++)
		infos[i].answered = infos[i].found = infos[i].senseless = false;
	if (!hub_client_url(client, &url, "/paths-info"))
		status = no_memory(fault);
	for (size_t at = 0; at < count && status == HFKV_OK; at += at_once)
		status = ask_some(client, infos + at, count - at < at_once ? count - at : at_once,
				  byte_buf_text(&url), deadline, fault);
	byte_buf_done(&url);
	return status;
}
