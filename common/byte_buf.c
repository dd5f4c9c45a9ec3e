#include "common/byte_buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void byte_buf_done(struct byte_buf *buf)
{
	free(buf->data);
	*buf = BYTE_BUF_INIT(buf->max_bytes);
}

void byte_buf_clear(struct byte_buf *buf)
{
	buf->length = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

char *byte_buf_reserve(struct byte_buf *buf, size_t length)
{
	if (length > buf->max_bytes || buf->length > buf->max_bytes - length)
		return NULL;
	size_t needed = buf->length + length + 1; /* the closing NUL */
	if (needed > buf->capacity) {
		size_t capacity = buf->capacity ? buf->capacity : 64;
		while (capacity < needed)
			capacity *= 2;
		if (capacity > buf->max_bytes + 1)
			capacity = buf->max_bytes + 1;
		char *data = realloc(buf->data, capacity);
		if (!data)
			return NULL;
		buf->data = data;
		buf->capacity = capacity;
	}
	return buf->data + buf->length;
}

bool byte_buf_append(struct byte_buf *buf, const void *bytes, size_t length)
{
	char *place = byte_buf_reserve(buf, length);
	if (!place)
		return false;
	if (length > 0)
		memcpy(place, bytes, length);
	buf->length += length;
	buf->data[buf->length] = '\0';
	return true;
}

bool byte_buf_append_text(struct byte_buf *buf, const char *text)
{
	return byte_buf_append(buf, text, strlen(text));
}

bool byte_buf_printf(struct byte_buf *buf, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	int length = vsnprintf(NULL, 0, format, values);
	va_end(values);
	if (length < 0)
		return false;
	char *place = byte_buf_reserve(buf, (size_t)length);
	if (!place)
		return false;
	va_start(values, format);
	vsnprintf(place, (size_t)length + 1, format, values);
	va_end(values);
	buf->length += (size_t)length;
	return true;
}

char *byte_buf_detach(struct byte_buf *buf)
{
	char *data = buf->data ? buf->data : strdup("");
	*buf = BYTE_BUF_INIT(buf->max_bytes);
	return data;
}

const char *byte_buf_text(const struct byte_buf *buf)
{
	return buf->data ? buf->data : "";
}
