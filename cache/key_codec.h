/*
 * Between the three names of a KV chunk: LMCache's key string, the .data file name, the object name.
 *
 * key:         org/m@1@0@ab12@bfloat16           (any UTF-8 without NUL)
 * file name:   org-SEP-m@1@0@ab12@bfloat16.data  (MP keys carry the rank as 0x%08x)
 * object name: org%2Fm%401%400%40ab12%40bfloat16 (every byte outside A-Z a-z 0-9 _ . - ~ as %XX, upper case)
 *
 * File names have two forms. The plain one is LMCache's own: `/` as -SEP-, and 0x before the rank of an MP key. A
 * key that the plain form would not give back (it holds -SEP- itself, starts with `@`, or looks like an MP file
 * name) has the other form, `@` + object name + .data. So no two keys share a file name, and each key has just
 * one.
 *
 * Pure functions; any thread. Outputs are malloc'd strings that the caller frees, untouched on failure. A name
 * that no key has is INVALID; a result over the limit is OVERSIZE. Names here are single path segments, never
 * paths.
 */
#ifndef CACHE_KEY_CODEC_H
#define CACHE_KEY_CODEC_H

#include "common/attributes.h"
#include "hfkv/hfkv_status.h"

#include <stdbool.h>

#define FILE_NAME_MAX_BYTES   1024 /* what FUSE in the kernel takes for one name */
#define OBJECT_NAME_MAX_BYTES 1024 /* the Hub's limit for a whole path */

enum key_family {
	KEY_FAMILY_NON_MP, /* model@world_size@worker_id@hash@dtype[@...] */
	KEY_FAMILY_MP,     /* model@rank@group@hash[@salt] */
	KEY_FAMILY_MP_OLD, /* model@rank@hash: from before LMCache 0.5; read, never written */
	KEY_FAMILY_OTHER,  /* neither shape; it still has a file and an object name */
};

/* Which family a key string belongs to: a second field of %08x form is a rank, and makes it MP. */
enum key_family key_family_of(const char *key);

MUST_CHECK enum hfkv_status key_to_object_name(const char *key, char **ret_name);
MUST_CHECK enum hfkv_status key_from_object_name(const char *name, char **ret_key);

/* File names here carry the .data suffix. */
MUST_CHECK enum hfkv_status key_to_file_name(const char *key, char **ret_name);
MUST_CHECK enum hfkv_status key_from_file_name(const char *name, char **ret_key);

/* Both steps at once. */
MUST_CHECK enum hfkv_status file_name_to_object_name(const char *file_name, char **ret_object_name);
MUST_CHECK enum hfkv_status object_name_to_file_name(const char *object_name, char **ret_file_name);

/* Whether a file name ends in .data and so may name a KV chunk (it may still be INVALID). */
bool is_data_file_name(const char *file_name);

#endif
