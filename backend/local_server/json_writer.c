#include "backend/local_server/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

bool json_writer_ok(const struct json_writer *json)
{
	return !json->failed;
}

static void put(struct json_writer *json, const char *bytes, size_t length)
{
	if (!json->failed)
		json->failed = !byte_buf_append(json->buf, bytes, length);
}

static void begin_value(struct json_writer *json)
{
	if (json->need_comma)
		put(json, ",", 1);
	json->need_comma = true;
}

void json_write_open(struct json_writer *json, char open)
{
	begin_value(json);
	put(json, &open, 1);
	json->need_comma = false;
}

void json_write_close(struct json_writer *json, char close)
{
	put(json, &close, 1);
	json->need_comma = true;
}

/* Length of the well-formed UTF-8 sequence that `at` begins with; 0: none. `at` is NUL-terminated. */
static size_t utf8_sequence(const unsigned char *at)
{
	if (at[0] < 0x80)
		return 1;
	size_t length = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
			: (at[0] & 0xf0) == 0xe0         ? 3
			: at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
							 : 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
	bool beyond = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
	return overlong || beyond ? 0 : length;
}

static void put_escaped(struct json_writer *json, unsigned char byte)
{
	char escape[8];
	if (byte == '"' || byte == '\\')
		snprintf(escape, sizeof(escape), "\\%c", byte);
	else
		snprintf(escape, sizeof(escape), "\\u%04x", byte);
	put(json, escape, strlen(escape));
}

/* ASCII that stands for itself in JSON text: nearly everything that is written. */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void put_quoted(struct json_writer *json, const char *text)
{
	const unsigned char *at = (const unsigned char *)text, *run = at;
	put(json, "\"", 1);
	while (*at) {
		if (is_plain(*at)) {
			at++;
			continue;
		}
		size_t length = utf8_sequence(at);
		if (length > 1) {
			at += length;
			continue;
		}
		put(json, (const char *)run, (size_t)(at - run));
		if (length == 0)
			put(json, "?", 1);
		else
			put_escaped(json, *at);
		run = ++at;
	}
	put(json, (const char *)run, (size_t)(at - run));
	put(json, "\"", 1);
}

void json_write_key(struct json_writer *json, const char *key)
{
	begin_value(json);
	put_quoted(json, key);
	put(json, ":", 1);
	json->need_comma = false;
}

void json_write_text(struct json_writer *json, const char *text)
{
	begin_value(json);
	put_quoted(json, text);
}

void json_write_uint(struct json_writer *json, uint64_t value)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	begin_value(json);
	put(json, digits, (size_t)length);
}

void json_write_bool(struct json_writer *json, bool value)
{
	begin_value(json);
	put(json, value ? "true" : "false", value ? 4 : 5);
}

void json_write_null(struct json_writer *json)
{
	begin_value(json);
	put(json, "null", 4);
}

void json_write_text_field(struct json_writer *json, const char *key, const char *text)
{
	json_write_key(json, key);
	json_write_text(json, text);
}

void json_write_uint_field(struct json_writer *json, const char *key, uint64_t value)
{
	json_write_key(json, key);
	json_write_uint(json, value);
}

void json_write_bool_field(struct json_writer *json, const char *key, bool value)
{
	json_write_key(json, key);
	json_write_bool(json, value);
}

void json_write_time_field(struct json_writer *json, const char *key, int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm parts;
	char date[40], text[64];
	if (!gmtime_r(&seconds, &parts) || strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		snprintf(date, sizeof(date), "1970-01-01T00:00:00");
	snprintf(text, sizeof(text), "%s.%03dZ", date, (int)(wall_ms % 1000));
	json_write_text_field(json, key, text);
}
