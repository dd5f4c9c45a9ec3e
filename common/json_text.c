#include "common/json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether brackets outside strings nest deeper than the limit. Text that is no JSON may answer either way. */
static bool too_deep(const char *text, size_t length)
{
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '[' || c == '{') {
			if (++depth > JSON_TEXT_MAX_DEPTH)
				return true;
		} else if ((c == ']' || c == '}') && depth > 0) {
			depth--;
		}
	}
	return false;
}

json_t *json_text_load(const char *text, size_t length, json_error_t *error)
{
	json_error_t unwanted;
	json_error_t *words = error ? error : &unwanted;
	if (!too_deep(text, length))
		return json_loadb(text, length, JSON_DECODE_ANY, words);
	memset(words, 0, sizeof(*words));
	snprintf(words->text, sizeof(words->text), "nested deeper than %d levels", JSON_TEXT_MAX_DEPTH);
	return NULL;
}
