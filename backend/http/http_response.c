#include "backend/http/http_response.h"

#include <curl/curl.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define WAIT_MAX_SECONDS 86400

void http_response_done(struct http_response *response)
{
	byte_buf_done(&response->fields);
	response->status = 0;
}

bool http_response_add_field(struct http_response *response, const char *name, size_t name_length,
			     const char *value, size_t value_length)
{
	struct byte_buf *fields = &response->fields;
	char *place = byte_buf_reserve(fields, name_length + value_length + 2);
	if (!place)
		return false;
	memcpy(place, name, name_length);
	place[name_length] = '\0';
	memcpy(place + name_length + 1, value, value_length);
	place[name_length + 1 + value_length] = '\0';
	fields->length += name_length + value_length + 2;
	return true;
}

bool http_response_copy(struct http_response *into, const struct http_response *from)
{
	byte_buf_clear(&into->fields);
	into->status = from->status;
	return byte_buf_append(&into->fields, from->fields.data, from->fields.length);
}

/* Steps through the fields: *position starts at 0. False at the end. */
static bool next_field(const struct http_response *response, size_t *position, const char **ret_name,
		       const char **ret_value)
{
	if (*position >= response->fields.length)
		return false;
	const char *name = response->fields.data + *position;
	const char *value = name + strlen(name) + 1;
	*position += (size_t)(value - name) + strlen(value) + 1;
	*ret_name = name;
	*ret_value = value;
	return true;
}

const char *http_response_field(const struct http_response *response, const char *name)
{
	size_t position = 0;
	const char *found, *value;
	while (next_field(response, &position, &found, &value))
		if (strcasecmp(found, name) == 0)
			return value;
	return NULL;
}

/* The end of one element of a comma-separated list, commas in quotes not counted. */
static const char *element_end(const char *text)
{
	bool quoted = false;
	for (; *text; text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (*text == ',' && !quoted)
			break;
	}
	return text;
}

/* The value of parameter `name` among `;name=value` in [text, end), quotes removed. */
static bool parameter_find(const char *text, const char *end, const char *name, const char **ret_value,
			   size_t *ret_length)
{
	size_t name_length = strlen(name);
	while (text < end && (text = memchr(text, ';', (size_t)(end - text)))) {
		for (text++; text < end && (*text == ' ' || *text == '\t'); text++)
			;
		if ((size_t)(end - text) <= name_length || strncasecmp(text, name, name_length) != 0 ||
		    text[name_length] != '=')
			continue;
		text += name_length + 1;
		bool quoted = text < end && *text == '"';
		const char *value = text + quoted;
		const char *stop = value;
		while (stop < end && (quoted ? *stop != '"' : *stop != ';' && *stop != ' '))
			stop++;
		*ret_value = value;
		*ret_length = (size_t)(stop - value);
		return true;
	}
	return false;
}

static bool link_in_value(const char *value, const char *relation, struct byte_buf *ret_url)
{
	for (const char *at = strchr(value, '<'); at; at = strchr(at, '<')) {
		const char *close = strchr(at, '>');
		if (!close)
			return false;
		const char *end = element_end(close);
		const char *found;
		size_t length;
		if (parameter_find(close, end, "rel", &found, &length) && length == strlen(relation) &&
		    strncasecmp(found, relation, length) == 0) {
			byte_buf_clear(ret_url);
			return byte_buf_append(ret_url, at + 1, (size_t)(close - at - 1));
		}
		at = end;
	}
	return false;
}

bool http_response_link(const struct http_response *response, const char *relation, struct byte_buf *ret_url)
{
	size_t position = 0;
	const char *name, *value;
	while (next_field(response, &position, &name, &value))
		if (strcasecmp(name, "link") == 0 && link_in_value(value, relation, ret_url))
			return true;
	return false;
}

static bool parameter_number(const char *text, const char *end, const char *name, long *ret_number)
{
	const char *value;
	size_t length;
	if (!parameter_find(text, end, name, &value, &length) || length == 0 || length > 9)
		return false;
	char *stop;
	long number = strtol(value, &stop, 10);
	if (stop != value + length || number < 0)
		return false;
	*ret_number = number;
	return true;
}

static int64_t bounded_wait_ms(int64_t seconds)
{
	if (seconds < 0)
		return 0;
	return (seconds > WAIT_MAX_SECONDS ? WAIT_MAX_SECONDS : seconds) * 1000;
}

/* The longest wait among the policies of a RateLimit field that have nothing left; -1 when there is none. */
static int64_t rate_limit_wait_ms(const char *value)
{
	int64_t wait_ms = -1;
	while (*value) {
		const char *end = element_end(value);
		long remaining, seconds;
		if (parameter_number(value, end, "r", &remaining) && remaining == 0 &&
		    parameter_number(value, end, "t", &seconds) && bounded_wait_ms(seconds) > wait_ms)
			wait_ms = bounded_wait_ms(seconds);
		value = *end ? end + 1 : end;
	}
	return wait_ms;
}

int64_t http_response_wait_ms(const struct http_response *response)
{
	const char *limit = http_response_field(response, "RateLimit");
	int64_t wait_ms = limit ? rate_limit_wait_ms(limit) : -1;
	const char *after = http_response_field(response, "Retry-After");
	if (wait_ms >= 0 || !after)
		return wait_ms;
	char *stop;
	long long seconds = strtoll(after, &stop, 10);
	if (stop != after && *stop == '\0')
		return bounded_wait_ms(seconds);
	time_t date = curl_getdate(after, NULL);
	return date == -1 ? -1 : bounded_wait_ms((int64_t)date - (int64_t)time(NULL));
}

/* A decimal number at *text, which moves behind it. */
static bool read_number(const char **text, uint64_t *ret_number)
{
	if (!isdigit((unsigned char)**text))
		return false;
	uint64_t number = 0;
	for (; isdigit((unsigned char)**text); (*text)++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(**text - '0'), &number))
			return false;
	*ret_number = number;
	return true;
}

bool http_response_content_range(const struct http_response *response, uint64_t *ret_first, uint64_t *ret_last,
				 uint64_t *ret_total)
{
	const char *text = http_response_field(response, "Content-Range");
	uint64_t first, last, total = UINT64_MAX;
	if (!text || strncasecmp(text, "bytes ", 6) != 0)
		return false;
	text += 6;
	if (!read_number(&text, &first) || *text++ != '-' || !read_number(&text, &last) || *text++ != '/')
		return false;
	if (strcmp(text, "*") != 0 && (!read_number(&text, &total) || *text || last >= total))
		return false;
	if (last < first)
		return false;
	*ret_first = first;
	*ret_last = last;
	*ret_total = total;
	return true;
}
