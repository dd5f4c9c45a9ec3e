/*
 * Between the three names of a KV chunk: LMCache's key string, the .data file name, the object name.
 *
 * key:         org/m@1@0@ab12@bfloat16           (any UTF-8; shapes in spec section 1)
 * file name:   org-SEP-m@1@0@ab12@bfloat16.data  (MP keys carry the rank as 0x%08x)
 * object name: org%2Fm%401%400%40ab12%40bfloat16 (every byte outside A-Z a-z 0-9 _ . - ~ as %XX, upper case)
 *
 * Pure functions; any thread. Outputs are malloc'd strings that the caller frees. No two keys share a file name or
 * an object name; a name that no key has is INVALID. Object and file names may sit below directories: these functions
 * take and give one path segment, never a slash-separated path.
 */
#ifndef CACHE_KEY_CODEC_H
#define CACHE_KEY_CODEC_H

#include "common/attributes.h"
#include "hfkv/hfkv_status.h"

#include <stdbool.h>

enum key_family { KEY_FAMILY_NON_MP, KEY_FAMILY_MP, KEY_FAMILY_MP_OLD, KEY_FAMILY_OTHER };

/* Which family a key string belongs to (spec section 1); OTHER when it follows neither shape. */
enum key_family key_family_of(const char *key);

/* OBJECT: percent-encode / decode. Decoding refuses what does not re-encode to itself. */
MUST_CHECK enum hfkv_status key_to_object_name(const char *key, char **ret_name);
MUST_CHECK enum hfkv_status key_from_object_name(const char *name, char **ret_key);

/* FILE: with the .data suffix. */
MUST_CHECK enum hfkv_status key_to_file_name(const char *key, char **ret_name);
MUST_CHECK enum hfkv_status key_from_file_name(const char *name, char **ret_key);

/* Both steps. INVALID when the name stands for no key, OVERSIZE when the result exceeds a name limit. */
MUST_CHECK enum hfkv_status file_name_to_object_name(const char *file_name, char **ret_object_name);
MUST_CHECK enum hfkv_status object_name_to_file_name(const char *object_name, char **ret_file_name);

/* Whether a file name ends in .data and so may name a KV chunk (it may still be INVALID). */
bool is_data_file_name(const char *file_name);

#endif
