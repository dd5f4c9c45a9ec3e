/*
 * A 32-byte content hash as Xet uses it, and its text form.
 *
 * The text form is 64 lower-case hex digits of the bytes with every 8-byte group reversed (Xet protocol,
 * api). The all-zero hash names the empty file. Plain value; any thread.
 */
#ifndef COMMON_CONTENT_HASH_H
#define COMMON_CONTENT_HASH_H

#include <stdbool.h>
#include <stdint.h>

#define CONTENT_HASH_BYTES      32
#define CONTENT_HASH_TEXT_BYTES 65 /* 64 digits and the NUL */

struct content_hash {
	uint8_t bytes[CONTENT_HASH_BYTES]; /* as BLAKE3 outputs them */
};

void content_hash_format(const struct content_hash *hash, char text[CONTENT_HASH_TEXT_BYTES]);

/* Parses a string of exactly 64 hex digits, either case. False, and *ret_hash untouched, for anything else. */
bool content_hash_parse(const char *text, struct content_hash *ret_hash);

bool content_hash_equal(const struct content_hash *a, const struct content_hash *b);
bool content_hash_is_zero(const struct content_hash *hash);
/* Order of the text forms (not memcmp of the bytes): <0, 0, >0. */
int content_hash_compare(const struct content_hash *a, const struct content_hash *b);

#endif
