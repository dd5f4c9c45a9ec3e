/*
 * JSON from the network or a file, parsed with a bound on its nesting.
 *
 * jansson recurses once a level, up to 2048 of them, which is more stack than hfkv's threads have: text that nests
 * deeper than JSON_TEXT_MAX_DEPTH is refused before it is parsed. The caller bounds the length. Any thread.
 */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

#define JSON_TEXT_MAX_DEPTH 32

/* A value of any kind, owned by the caller (json_auto_t frees it). NULL: not JSON, too deep, or no memory;
 * error->text then says so in words. `error` may be NULL. */
json_t *json_text_load(const char *text, size_t length, json_error_t *error);

#endif
