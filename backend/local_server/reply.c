#include "backend/local_server/reply.h"

#include "backend/local_server/json_writer.h"
#include "common/cleanup.h"
#include "common/fault.h"

#include <stdarg.h>
#include <string.h>

void reply_init(struct reply *reply)
{
	*reply = (struct reply){ .status = 500, .body = BYTE_BUF_INIT(REPLY_BODY_MAX_BYTES), .file_fd = -1 };
}

void reply_done(struct reply *reply)
{
	for (size_t i = 0; i < reply->header_count; i++) {
		free(reply->headers[i].name);
		free(reply->headers[i].value);
	}
	reply->header_count = 0;
	byte_buf_done(&reply->body);
	close_fd(&reply->file_fd);
	if (reply->stream.free)
		reply->stream.free(reply->stream.context);
	reply->stream = (struct reply_stream){ 0 };
}

void reply_reset(struct reply *reply, unsigned status)
{
	reply_done(reply);
	reply_init(reply);
	reply->status = status;
}

uint64_t reply_body_length(const struct reply *reply)
{
	if (reply->stream.read)
		return reply->stream.length;
	return reply->file_fd >= 0 ? reply->file_length : reply->body.length;
}

ssize_t reply_body_read(struct reply *reply, uint64_t offset, char *bytes, size_t max)
{
	uint64_t length = reply_body_length(reply);
	if (offset >= length)
		return 0;
	if (max > length - offset)
		max = (size_t)(length - offset);
	if (reply->stream.read)
		return reply->stream.read(reply->stream.context, offset, bytes, max);
	if (reply->file_fd >= 0) {
		ssize_t got = pread(reply->file_fd, bytes, max, (off_t)(reply->file_offset + offset));
		return got > 0 ? got : -1;
	}
	memcpy(bytes, reply->body.data + offset, max);
	return (ssize_t)max;
}

/* Header values come from requests now and then: nothing gets through that ends a line or is no ASCII. */
static void make_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = '?';
}

void reply_header(struct reply *reply, const char *name, const char *format, ...)
{
	if (reply->header_count == REPLY_HEADERS_MAX)
		return;
	char *value = NULL;
	va_list values;
	va_start(values, format);
	int length = vasprintf(&value, format, values);
	va_end(values);
	char *name_copy = length < 0 ? NULL : strdup(name);
	if (!name_copy) {
		if (length >= 0)
			free(value);
		return;
	}
	make_one_line(name_copy);
	make_one_line(value);
	reply->headers[reply->header_count++] = (struct reply_header){ name_copy, value };
}

void reply_json_text(struct reply *reply, unsigned status, const char *json)
{
	byte_buf_clear(&reply->body);
	reply_json_body(reply, status, byte_buf_append_text(&reply->body, json));
}

void reply_json_body(struct reply *reply, unsigned status, bool ok)
{
	if (!ok) {
		reply_error(reply, 500, NULL, "no memory for the answer");
		return;
	}
	reply->status = status;
	reply_header(reply, "Content-Type", "application/json; charset=utf-8");
}

void reply_error(struct reply *reply, unsigned status, const char *code, const char *format, ...)
{
	char text[FAULT_TEXT_BYTES];
	va_list values;
	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	reply_reset(reply, status);
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	json_write_open(&json, '{');
	json_write_text_field(&json, "error", text);
	json_write_close(&json, '}');
	reply_header(reply, "Content-Type", "application/json; charset=utf-8");
	if (code)
		reply_header(reply, "X-Error-Code", "%s", code);
	reply_header(reply, "X-Error-Message", "%s", text);
}

void reply_fault(struct reply *reply, enum hfkv_status status, const struct fault *fault)
{
	unsigned code = status == HFKV_NO_SPACE                           ? 507
			: status == HFKV_BUSY || status == HFKV_NO_MEMORY ? 503
									  : 500;
	reply_error(reply, code, NULL, "%s", fault_text(fault, status));
}
