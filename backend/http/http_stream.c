#include "backend/http/http_stream.h"

#include "backend/http/http_loop.h"

#include <string.h>
#include <strings.h>

#define REDIRECT_BODY_MAX_BYTES (64 * 1024) /* a longer one costs the connection */

/* ---- making ---- */

static bool has_line_break(const char *text)
{
	return strpbrk(text, "\r\n") != NULL;
}

static bool list_add(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);
	if (longer)
		*list = longer;
	return longer != NULL;
}

/* The request's fields, and two that libcurl would add by itself taken away. */
static enum hfkv_status copy_headers(struct http_stream *stream, const struct http_request *request,
				     struct fault *fault)
{
	bool copied = list_add(&stream->headers, "Expect:") && list_add(&stream->headers, "Accept: */*");
	bool has_type = false;
	for (size_t i = 0; i < request->header_count && copied; i++) {
		const struct http_header *header = &request->headers[i];
		if (has_line_break(header->name) || has_line_break(header->value))
			return fault_set(fault, HFKV_INVALID, "%s: a line break in header %.40s", stream->label,
					 has_line_break(header->name) ? "name" : header->name);
		CLEANUP(free_pointer) char *line = NULL;
		copied = asprintf(&line, "%s: %s", header->name, header->value) >= 0 &&
			 list_add(&stream->headers, line);
		has_type = has_type || strcasecmp(header->name, "Content-Type") == 0;
	}
	if (copied && !has_type)
		copied = list_add(&stream->headers, "Content-Type:");
	return copied ? HFKV_OK : fault_set(fault, HFKV_NO_MEMORY, "%s: no memory", stream->label);
}

static void discard_blocks(struct http_stream *stream)
{
	http_block_put(&stream->client->blocks, stream->current);
	stream->current = NULL;
	while (stream->first) {
		struct http_block *block = stream->first;
		stream->first = block->next;
		http_block_put(&stream->client->blocks, block);
	}
	stream->last = NULL;
	stream->n_blocks = 0;
}

/* The loop does not have the stream. */
static void stream_free(struct http_stream *stream)
{
	discard_blocks(stream);
	http_response_done(&stream->response);
	curl_slist_free_all(stream->headers);
	secret_unref(stream->bearer);
	free(stream->label);
	free(stream->method);
	free(stream->url);
	pthread_cond_destroy(&stream->changed);
	pthread_mutex_destroy(&stream->mutex);
	free(stream);
}
DEFINE_CLEANUP(stream_free, struct http_stream *);

static struct http_stream *stream_new(struct http_client *client, const struct http_request *request)
{
	CLEANUP(stream_freep) struct http_stream *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	pthread_mutex_init(&stream->mutex, NULL);
	condition_init(&stream->changed);
	stream->client = client;
	stream->response = HTTP_RESPONSE_INIT;
	stream->body = request->body;
	stream->deadline = request->deadline;
	stream->stall_ms = request->stall_ms > 0 ? request->stall_ms : client->settings.stall_ms;
	stream->cancel = request->cancel;
	stream->keep_redirects = request->keep_redirects;
	stream->label = strdup(request->label);
	stream->method = strdup(request->method);
	stream->url = strdup(request->url);
	stream->bearer = request->bearer ? secret_ref(request->bearer) : NULL;
	if (!stream->label || !stream->method || !stream->url)
		return NULL;
	return TAKE_PTR(stream);
}

enum hfkv_status http_stream_start(struct http_client *client, const struct http_request *request,
				   struct http_stream **ret_stream, struct fault *fault)
{
	CLEANUP(stream_freep) struct http_stream *stream = stream_new(client, request);
	if (!stream)
		return fault_set(fault, HFKV_NO_MEMORY, "%s: no memory", request->label);
	enum hfkv_status status = http_origin_parse(stream->url, stream->label, &stream->origin, fault);
	if (status == HFKV_OK && stream->bearer)
		status = http_origin_check_token(&stream->origin, stream->label, fault);
	if (status == HFKV_OK && stream->bearer && has_line_break(secret_reveal(stream->bearer)))
		status = fault_set(fault, HFKV_INVALID, "%s: the token holds a line break", stream->label);
	if (status == HFKV_OK && deadline_passed(stream->deadline))
		status = fault_set(fault, HFKV_TIMEOUT, "%s: the deadline has passed", stream->label);
	if (status == HFKV_OK)
		status = copy_headers(stream, request, fault);
	if (status == HFKV_OK)
		status = http_loop_submit(client, stream, fault);
	if (status != HFKV_OK)
		return status;
	*ret_stream = TAKE_PTR(stream);
	return HFKV_OK;
}

/* ---- waiting ---- */

/* stream->mutex is held. */
static void wait_for_change(struct http_stream *stream)
{
	stream->owner_waits = true;
	pthread_cond_wait(&stream->changed, &stream->mutex);
	stream->owner_waits = false;
}

static enum hfkv_status failure_of(const struct http_stream *stream, struct fault *fault)
{
	if (fault)
		*fault = stream->fault;
	return stream->status;
}

/* Stops a call that is not complete. Afterwards the loop does not have the stream. */
static void stop_transfer(struct http_stream *stream)
{
	bool done;
	{
		SCOPED_LOCK(&stream->mutex);
		done = stream->done;
	}
	if (done)
		return;
	atomic_store(&stream->abort_asked, true);
	http_loop_attend(stream->client);
	SCOPED_LOCK(&stream->mutex);
	while (!stream->done)
		wait_for_change(stream);
}

static enum hfkv_status next_bytes(struct http_stream *stream, const uint8_t **ret_bytes, size_t *ret_length,
				   struct fault *fault)
{
	http_block_put(&stream->client->blocks, stream->current);
	stream->current = NULL;
	bool resume = false;
	{
		SCOPED_LOCK(&stream->mutex);
		while (!stream->first && !stream->done)
			wait_for_change(stream);
		if (stream->done && stream->status != HFKV_OK)
			return failure_of(stream, fault);
		struct http_block *block = stream->first;
		if (block) {
			stream->first = block->next;
			if (!stream->first)
				stream->last = NULL;
			stream->n_blocks--;
			stream->current = block;
		}
		if (stream->paused && stream->n_blocks <= stream->client->settings.stream_blocks / 2) {
			stream->paused = false;
			resume = true;
		}
	}
	if (resume) {
		atomic_store(&stream->resume_asked, true);
		http_loop_attend(stream->client);
	}
	*ret_bytes = stream->current ? stream->current->bytes : NULL;
	*ret_length = stream->current ? stream->current->length : 0;
	return HFKV_OK;
}

/* ---- redirects ---- */

static const char *redirect_location(const struct http_stream *stream)
{
	bool safe_method = strcmp(stream->method, "GET") == 0 || strcmp(stream->method, "HEAD") == 0;
	switch (stream->response.status) {
	case 301:
	case 302:
	case 303:
		if (!safe_method)
			return NULL;
		break;
	case 307:
	case 308: break;
	default: return NULL;
	}
	return stream->keep_redirects ? NULL : http_response_field(&stream->response, "Location");
}

/* Points the request at its next address; the token stays behind when the origin changes. */
static enum hfkv_status redirect_request(struct http_stream *stream, const char *location, struct fault *fault)
{
	if (++stream->redirects > HTTP_REDIRECTS_MAX)
		return fault_set(fault, HFKV_INVALID, "%s: %s redirects more than %d times", stream->label,
				 stream->origin.text, HTTP_REDIRECTS_MAX);
	char *url = http_url_resolve(stream->url, location);
	if (!url)
		return fault_set(fault, HFKV_INVALID, "%s: %s redirects to something that is no URL",
				 stream->label, stream->origin.text);
	free(stream->url);
	stream->url = url;
	struct http_origin origin;
	enum hfkv_status status = http_origin_parse(url, stream->label, &origin, fault);
	if (status != HFKV_OK)
		return status;
	if (stream->origin.https && !origin.https)
		return fault_set(fault, HFKV_INVALID, "%s: %s redirects to plain HTTP", stream->label,
				 stream->origin.text);
	if (!http_origin_equal(&origin, &stream->origin)) {
		secret_unref(stream->bearer);
		stream->bearer = NULL;
	}
	stream->origin = origin;
	return HFKV_OK;
}

/* Reads a short body to its end, which keeps the connection. */
static void drain(struct http_stream *stream)
{
	const uint8_t *bytes;
	size_t length, total = 0;
	do {
		if (next_bytes(stream, &bytes, &length, NULL) != HFKV_OK)
			return;
		total += length;
	} while (length > 0 && total <= REDIRECT_BODY_MAX_BYTES);
	stop_transfer(stream);
}

static enum hfkv_status follow_redirect(struct http_stream *stream, const char *location, struct fault *fault)
{
	CLEANUP(free_pointer) char *target = strdup(location);
	drain(stream);
	discard_blocks(stream);
	struct fault own = FAULT_NONE;
	enum hfkv_status status = target ? redirect_request(stream, target, &own)
					 : fault_set(&own, HFKV_NO_MEMORY, "%s: no memory", stream->label);
	if (status == HFKV_OK) {
		http_response_done(&stream->response);
		stream->header_ready = stream->done = stream->paused = false;
		atomic_store(&stream->abort_asked, false);
		atomic_store(&stream->resume_asked, false);
		status = http_loop_submit(stream->client, stream, &own);
		if (status == HFKV_OK)
			return HFKV_OK;
		stream->done = true;
	}
	stream->status = status;
	stream->fault = own;
	return failure_of(stream, fault);
}

/* ---- the public calls ---- */

enum hfkv_status http_stream_response(struct http_stream *stream, const struct http_response **ret_response,
				      struct fault *fault)
{
	for (;;) {
		{
			SCOPED_LOCK(&stream->mutex);
			while (!stream->header_ready && !stream->done)
				wait_for_change(stream);
			if (!stream->header_ready || (stream->done && stream->status != HFKV_OK))
				return failure_of(stream, fault);
		}
		const char *location = redirect_location(stream);
		if (!location)
			break;
		enum hfkv_status status = follow_redirect(stream, location, fault);
		if (status != HFKV_OK)
			return status;
	}
	*ret_response = &stream->response;
	return HFKV_OK;
}

enum hfkv_status http_stream_next(struct http_stream *stream, const uint8_t **ret_bytes, size_t *ret_length,
				  struct fault *fault)
{
	const struct http_response *response;
	enum hfkv_status status = http_stream_response(stream, &response, fault);
	return status == HFKV_OK ? next_bytes(stream, ret_bytes, ret_length, fault) : status;
}

enum hfkv_status http_stream_read_all(struct http_stream *stream, struct byte_buf *body, struct fault *fault)
{
	for (;;) {
		const uint8_t *bytes;
		size_t length;
		enum hfkv_status status = http_stream_next(stream, &bytes, &length, fault);
		if (status != HFKV_OK || length == 0)
			return status;
		if (!byte_buf_append(body, bytes, length))
			return fault_set(fault, HFKV_CORRUPT, "%s: %s: the answer is longer than %zu bytes",
					 stream->label, stream->origin.text, body->max_bytes);
	}
}

/* The rest of the current block, or the next one. */
static enum hfkv_status more_of_line(struct http_stream *stream, const uint8_t **ret_bytes, size_t *ret_length,
				     struct fault *fault)
{
	if (stream->current && stream->line_offset < stream->current->length) {
		*ret_bytes = stream->current->bytes + stream->line_offset;
		*ret_length = stream->current->length - stream->line_offset;
		return HFKV_OK;
	}
	stream->line_offset = 0;
	return http_stream_next(stream, ret_bytes, ret_length, fault);
}

enum hfkv_status http_stream_read_line(struct http_stream *stream, struct byte_buf *line, bool *ret_more,
				       struct fault *fault)
{
	byte_buf_clear(line);
	for (;;) {
		const uint8_t *bytes;
		size_t length;
		enum hfkv_status status = more_of_line(stream, &bytes, &length, fault);
		if (status != HFKV_OK)
			return status;
		if (length == 0) {
			*ret_more = line->length > 0;
			return HFKV_OK;
		}
		const uint8_t *end = memchr(bytes, '\n', length);
		size_t part = end ? (size_t)(end - bytes) : length;
		if (!byte_buf_append(line, bytes, part))
			return fault_set(fault, HFKV_CORRUPT,
					 "%s: %s: a line of the answer is longer than %zu bytes", stream->label,
					 stream->origin.text, line->max_bytes);
		stream->line_offset += part + (end != NULL);
		if (!end)
			continue;
		if (line->length > 0 && line->data[line->length - 1] == '\r')
			line->data[--line->length] = '\0';
		*ret_more = true;
		return HFKV_OK;
	}
}

void http_stream_close(struct http_stream *stream)
{
	if (!stream)
		return;
	stop_transfer(stream);
	stream_free(stream);
}
