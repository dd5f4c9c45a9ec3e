#include "src/connector/setting_reader.h"

#include "common/cleanup.h"

#include <stdlib.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHOWN_VALUE_BYTES 96
#define SHORT_TEXT_BYTES  64 /* more than any number or truth value */

const json_t *setting_raw(const struct setting_scope *scope, const char *name)
{
	char key[512];
	int length = snprintf(key, sizeof(key), "%s%s", scope->prefix, name);
	if (!scope->object || length < 0 || (size_t)length >= sizeof(key))
		return NULL;
	const json_t *value = json_object_get(scope->object, key);
	return json_is_null(value) ? NULL : value;
}

static bool ends_in_token(const char *name)
{
	size_t length = strlen(name);
	return length >= 5 && strcmp(name + length - 5, "token") == 0;
}

/* What may be told of a value: an object or a list could hold a token, and so could text where an object belongs. */
static const char *stand_in(const char *name, const json_t *value)
{
	if (json_is_object(value))
		return "an object";
	if (json_is_array(value))
		return "a list";
	return ends_in_token(name) || strcmp(name, "adapter_params") == 0 ? "the value" : NULL;
}

enum hfkv_status setting_refuse(const struct setting_scope *scope, const char *name, const json_t *value,
				const char *expected, struct fault *fault)
{
	const char *told = stand_in(name, value);
	CLEANUP(free_pointer) char *text = told ? NULL : json_dumps(value, JSON_ENCODE_ANY);
	bool too_long = text && strlen(text) > SHOWN_VALUE_BYTES;
	if (!told)
		told = text ? text : "the value";
	return fault_set(fault, HFKV_INVALID, "%s%s: %.*s%s is not %s", scope->prefix, name, SHOWN_VALUE_BYTES,
			 told, too_long ? "..." : "", expected);
}

static enum hfkv_status read_text(const struct setting_scope *scope, const char *name, bool may_be_empty, char **text,
				  struct fault *fault)
{
	const json_t *value = setting_raw(scope, name);
	if (!value)
		return HFKV_OK;
	if (!json_is_string(value) || (json_string_length(value) == 0 && !may_be_empty))
		return setting_refuse(scope, name, value, may_be_empty ? "a string" : "a non-empty string", fault);
	char *copy = strdup(json_string_value(value));
	if (!copy)
		return HFKV_NO_MEMORY;
	free(*text);
	*text = copy;
	return HFKV_OK;
}

enum hfkv_status setting_text(const struct setting_scope *scope, const char *name, char **text,
			      struct fault *fault)
{
	return read_text(scope, name, false, text, fault);
}

enum hfkv_status setting_text_or_empty(const struct setting_scope *scope, const char *name, char **text,
				       struct fault *fault)
{
	return read_text(scope, name, true, text, fault);
}

/* A string's text without outer white space, in `buffer`; NULL when it is none, is empty, or is too long for any
 * number or truth value. */
static const char *short_text(const json_t *value, char *buffer, size_t capacity)
{
	static const char *const space = " \t\n\r\f\v";
	if (!json_is_string(value))
		return NULL;
	const char *text = json_string_value(value);
	text += strspn(text, space);
	size_t length = strlen(text);
	while (length > 0 && strchr(space, text[length - 1]))
		length--;
	if (length == 0 || length >= capacity)
		return NULL;
	memcpy(buffer, text, length);
	buffer[length] = '\0';
	return buffer;
}

static bool parse_bool(const char *text, bool *ret_value)
{
	static const char *const words[2][4] = { { "false", "no", "off", "0" }, { "true", "yes", "on", "1" } };
	for (int truth = 0; truth < 2; truth++)
		for (size_t i = 0; i < ARRAY_LENGTH(words[truth]); i++)
			if (strcasecmp(text, words[truth][i]) == 0) {
				*ret_value = truth;
				return true;
			}
	return false;
}

enum hfkv_status setting_bool(const struct setting_scope *scope, const char *name, bool *value,
			      struct fault *fault)
{
	const json_t *raw = setting_raw(scope, name);
	if (!raw)
		return HFKV_OK;
	if (json_is_boolean(raw)) {
		*value = json_is_true(raw);
		return HFKV_OK;
	}
	char buffer[SHORT_TEXT_BYTES];
	const char *text = scope->strict ? NULL : short_text(raw, buffer, sizeof(buffer));
	if (text && parse_bool(text, value))
		return HFKV_OK;
	bool is_bit = json_is_integer(raw) && (json_integer_value(raw) == 0 || json_integer_value(raw) == 1);
	if (scope->strict || !is_bit)
		return setting_refuse(scope, name, raw, "true or false", fault);
	*value = json_integer_value(raw) == 1;
	return HFKV_OK;
}

/* A finite number from a number or, where allowed, from text that is one as a whole. */
static bool read_number(const struct setting_scope *scope, const json_t *raw, double *ret_value)
{
	if (json_is_number(raw)) {
		*ret_value = json_number_value(raw);
		return isfinite(*ret_value);
	}
	char buffer[SHORT_TEXT_BYTES], *end;
	const char *text = scope->strict ? NULL : short_text(raw, buffer, sizeof(buffer));
	if (!text)
		return false;
	*ret_value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*ret_value);
}

enum hfkv_status setting_number(const struct setting_scope *scope, const char *name, double min, double max,
				double *value, struct fault *fault)
{
	const json_t *raw = setting_raw(scope, name);
	if (!raw)
		return HFKV_OK;
	double number;
	if (read_number(scope, raw, &number) && number >= min && number <= max) {
		*value = number;
		return HFKV_OK;
	}
	char expected[96];
	snprintf(expected, sizeof(expected), "a number from %g to %g", min, max);
	return setting_refuse(scope, name, raw, expected, fault);
}

static bool read_count(const struct setting_scope *scope, const json_t *raw, uint64_t *ret_value)
{
	if (json_is_integer(raw)) {
		*ret_value = (uint64_t)json_integer_value(raw);
		return json_integer_value(raw) >= 0;
	}
	char buffer[SHORT_TEXT_BYTES], *end;
	const char *text = scope->strict ? NULL : short_text(raw, buffer, sizeof(buffer));
	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

enum hfkv_status setting_count(const struct setting_scope *scope, const char *name, uint64_t min, uint64_t max,
			       uint64_t *value, struct fault *fault)
{
	const json_t *raw = setting_raw(scope, name);
	if (!raw)
		return HFKV_OK;
	uint64_t count;
	if (read_count(scope, raw, &count) && count >= min && count <= max) {
		*value = count;
		return HFKV_OK;
	}
	char expected[96];
	snprintf(expected, sizeof(expected), "a whole number from %llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	return setting_refuse(scope, name, raw, expected, fault);
}

enum hfkv_status setting_take_secret(char *text, struct secret **ret_secret)
{
	*ret_secret = secret_new(text, strlen(text));
	explicit_bzero(text, strlen(text));
	free(text);
	return *ret_secret ? HFKV_OK : HFKV_NO_MEMORY;
}
