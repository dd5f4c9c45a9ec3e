/*
 * One call on one libcurl easy handle: options from the request, callbacks that fill the stream, the result.
 * Everything here runs on the loop thread.
 */
#include "backend/http/http_loop.h"

#include "common/clock.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* ---- callbacks ---- */

static void stop_with(struct http_stream *stream, enum hfkv_status status, const char *reason)
{
	stream->local_status = status;
	stream->local_reason = reason;
}

static void mark_dirty(struct http_stream *stream)
{
	if (stream->is_dirty)
		return;
	stream->is_dirty = true;
	stream->next_dirty = stream->client->dirty;
	stream->client->dirty = stream;
}

/* A new status line: an informational answer (100, 103) or the real one. */
static void begin_answer(struct http_stream *stream, const char *line, size_t length)
{
	http_response_done(&stream->response);
	const char *space = memchr(line, ' ', length);
	for (int i = 1; space && i <= 3 && space + i < line + length; i++)
		if (space[i] >= '0' && space[i] <= '9')
			stream->response.status = 10 * stream->response.status + space[i] - '0';
}

static void end_answer(struct http_stream *stream)
{
	if (stream->response.status < 200)
		return; /* an informational one; another follows */
	SCOPED_LOCK(&stream->mutex);
	stream->header_ready = true;
	pthread_cond_signal(&stream->changed);
}

static bool add_field(struct http_stream *stream, const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	if (!colon)
		return true; /* libcurl refuses what matters; the rest is noise */
	const char *value = colon + 1, *end = line + length;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && strchr(" \t\r\n", end[-1]))
		end--;
	return http_response_add_field(&stream->response, line, (size_t)(colon - line), value,
				       (size_t)(end - value));
}

static size_t on_header(char *line, size_t one, size_t length, void *context)
{
	struct http_stream *stream = context;
	(void)one;
	stream->progress_at_ms = clock_now_ms();
	if (stream->header_ready)
		return length; /* a trailer: nobody asks for it */
	if (length >= 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		begin_answer(stream, line, length);
	} else if (length <= 2 && (line[0] == '\r' || line[0] == '\n')) {
		end_answer(stream);
	} else if (!add_field(stream, line, length)) {
		stop_with(stream, HFKV_CORRUPT, "the answer's header is too long");
		return 0;
	}
	return length;
}

/* Room for `length` more bytes, at most one new block. False: leave the socket alone, or *ret_failed. */
static bool make_room(struct http_stream *stream, size_t length, bool *ret_failed)
{
	struct http_block *last = stream->last;
	if (last && sizeof(last->bytes) - last->length >= length)
		return true;
	bool full = stream->n_blocks >= stream->client->settings.stream_blocks;
	struct http_block *block =
	    full ? NULL : http_block_get(&stream->client->blocks, stream->n_blocks == 0, &full);
	*ret_failed = !block && !full;
	if (!block)
		return false;
	if (last)
		last->next = block;
	else
		stream->first = block;
	stream->last = block;
	stream->n_blocks++;
	return true;
}

/* `length` is at most CURL_MAX_WRITE_SIZE, far below a block. */
static size_t on_body(char *bytes, size_t one, size_t length, void *context)
{
	struct http_stream *stream = context;
	(void)one;
	bool failed = false;
	SCOPED_LOCK(&stream->mutex);
	stream->progress_at_ms = clock_now_ms();
	struct http_block *part = stream->last;
	size_t taken = length;
	if (!make_room(stream, length, &failed)) {
		stream->paused = !failed;
		if (!failed)
			return CURL_WRITEFUNC_PAUSE;
		stop_with(stream, HFKV_NO_MEMORY, "no memory");
		return 0;
	}
	/* What fits goes behind the last bytes, so that blocks are handed over full. */
	if (part && part != stream->last) {
		size_t fits = sizeof(part->bytes) - part->length;
		memcpy(part->bytes + part->length, bytes, fits);
		part->length += fits;
		bytes += fits;
		length -= fits;
	}
	memcpy(stream->last->bytes + stream->last->length, bytes, length);
	stream->last->length += length;
	mark_dirty(stream);
	return taken;
}

static size_t copy_segments(const struct http_body *body, uint64_t offset, char *buffer, size_t room)
{
	size_t copied = 0;
	for (size_t i = 0; i < body->segment_count && copied < room; i++) {
		const struct iovec *segment = &body->segments[i];
		if (offset >= segment->iov_len) {
			offset -= segment->iov_len;
			continue;
		}
		size_t part = segment->iov_len - (size_t)offset;
		if (part > room - copied)
			part = room - copied;
		memcpy(buffer + copied, (const char *)segment->iov_base + offset, part);
		copied += part;
		offset = 0;
	}
	return copied;
}

static size_t on_send(char *buffer, size_t one, size_t room, void *context)
{
	struct http_stream *stream = context;
	const struct http_body *body = &stream->body;
	(void)one;
	uint64_t left = body->length_bytes - stream->body_offset;
	if (room > left)
		room = (size_t)left;
	if (room == 0)
		return 0;
	size_t length = body->read ? body->read(body->read_context, stream->body_offset, buffer, room)
				   : copy_segments(body, stream->body_offset, buffer, room);
	if (length == 0 || length > room) {
		stop_with(stream, HFKV_IO, "the request's body could not be read");
		return CURL_READFUNC_ABORT;
	}
	stream->progress_at_ms = clock_now_ms();
	stream->body_offset += length;
	return length;
}

static int on_seek(void *context, curl_off_t offset, int origin)
{
	struct http_stream *stream = context;
	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > stream->body.length_bytes)
		return CURL_SEEKFUNC_CANTSEEK;
	stream->body_offset = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static curl_socket_t on_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)context;
	(void)purpose;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- options ---- */

static void set_connection_options(CURL *easy, const struct http_stream *stream)
{
	const struct http_client_settings *settings = &stream->client->settings;
	curl_easy_setopt(easy, CURLOPT_URL, stream->url);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)settings->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)HTTP_BLOCK_BYTES);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)HTTP_BLOCK_BYTES);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, settings->user_agent);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	if (settings->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
	if (stream->origin.loopback) /* a proxy would carry a token off this machine */
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static void set_callbacks(CURL *easy, struct http_stream *stream)
{
	curl_easy_setopt(easy, CURLOPT_PRIVATE, stream);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, stream->error_text);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, stream);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, stream);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(easy, CURLOPT_READDATA, stream);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, stream);
}

static void set_method(CURL *easy, const struct http_stream *stream)
{
	uint64_t length = stream->body.length_bytes;
	if (strcmp(stream->method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	} else if (strcmp(stream->method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
		if (length == 0)
			curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
	} else if (strcmp(stream->method, "PUT") == 0) {
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)length);
	} else if (strcmp(stream->method, "GET") != 0) {
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, stream->method);
	}
}

/* The stream's own fields and the token, as libcurl's list; wiped again by wipe_headers. */
static bool make_headers(struct http_stream *stream)
{
	struct curl_slist *list = NULL, *longer;
	for (struct curl_slist *field = stream->headers; field; field = field->next) {
		longer = curl_slist_append(list, field->data);
		if (!longer)
			goto no_memory;
		list = longer;
	}
	if (stream->bearer) {
		CLEANUP(free_pointer) char *line = NULL;
		if (asprintf(&line, "Authorization: Bearer %s", secret_reveal(stream->bearer)) < 0)
			goto no_memory;
		longer = curl_slist_append(list, line);
		explicit_bzero(line, strlen(line));
		if (!longer)
			goto no_memory;
		list = longer;
	}
	stream->sent_headers = list;
	return true;
no_memory:
	curl_slist_free_all(list);
	return false;
}

static void wipe_headers(struct http_stream *stream)
{
	for (struct curl_slist *field = stream->sent_headers; field; field = field->next)
		explicit_bzero(field->data, strlen(field->data));
	curl_slist_free_all(stream->sent_headers);
	stream->sent_headers = NULL;
}

bool http_transfer_begin(struct http_stream *stream)
{
	stream->body_offset = 0;
	stream->local_status = HFKV_OK;
	stream->error_text[0] = '\0';
	if (!make_headers(stream))
		return false;
	set_connection_options(stream->easy, stream);
	set_callbacks(stream->easy, stream);
	set_method(stream->easy, stream);
	return curl_easy_setopt(stream->easy, CURLOPT_HTTPHEADER, stream->sent_headers) == CURLE_OK;
}

/* ---- results ---- */

static enum hfkv_status status_from_curl(CURLcode code)
{
	switch ((int)code) {
	case CURLE_OK: return HFKV_OK;
	case CURLE_OUT_OF_MEMORY: return HFKV_NO_MEMORY;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE: return HFKV_INVALID;
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING: return HFKV_CORRUPT;
	default: return HFKV_UNAVAILABLE;
	}
}

/* The owner may free the stream as soon as the lock is let go. */
static void finish(struct http_stream *stream, enum hfkv_status status, const struct fault *fault)
{
	wipe_headers(stream);
	SCOPED_LOCK(&stream->mutex);
	stream->status = status;
	stream->fault = *fault;
	stream->done = true;
	pthread_cond_signal(&stream->changed);
}

void http_transfer_fail(struct http_stream *stream, enum hfkv_status status, const char *reason)
{
	struct fault fault = FAULT_NONE;
	fault_set(&fault, status, "%s: %s: %s", stream->label, stream->origin.text, reason);
	finish(stream, status, &fault);
}

void http_transfer_end(struct http_stream *stream, CURLcode code)
{
	struct fault fault = FAULT_NONE;
	if (code == CURLE_OK && !stream->header_ready)
		code = CURLE_GOT_NOTHING;
	if (code == CURLE_OK) {
		finish(stream, HFKV_OK, &fault);
	} else if (stream->local_status != HFKV_OK) {
		http_transfer_fail(stream, stream->local_status, stream->local_reason);
	} else {
		const char *words = stream->error_text[0] ? stream->error_text : curl_easy_strerror(code);
		const char *remedy = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE
					 ? " (a private certificate authority is named with --ca-file)"
					 : "";
		enum hfkv_status status = status_from_curl(code);
		fault_set(&fault, status, "%s: %s: %s%s", stream->label, stream->origin.text, words, remedy);
		finish(stream, status, &fault);
	}
}

void http_transfer_flush(struct http_stream *stream)
{
	SCOPED_LOCK(&stream->mutex);
	if (stream->owner_waits && stream->first)
		pthread_cond_signal(&stream->changed);
}
