/*
 * Access to tests/vectors for unit tests: JSON files, binary files, and inputs made by the rules of its README.
 *
 * Everything fails the test instead of returning an error.
 */
#ifndef TESTS_UNIT_BACKEND_VECTORS_H
#define TESTS_UNIT_BACKEND_VECTORS_H

#include "common/content_hash.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t *data; /* malloc'd, never NULL */
	size_t length;
};

void bytes_done(struct bytes *bytes);

/* A whole JSON file of tests/vectors; json_decref it. */
json_t *vectors_load(const char *name);
/* A whole binary file of tests/vectors. */
struct bytes vectors_read(const char *name);
/* The stream that a `gen` list describes. */
struct bytes vectors_generate(const json_t *gen);
/* `length` pseudo-random bytes (splitmix64). */
struct bytes vectors_random(uint64_t seed, size_t length);
/* Bytes from plain hex. */
struct bytes vectors_from_hex(const char *hex);

/* Members that must be there. */
const char *vectors_text(const json_t *object, const char *key);
uint64_t vectors_number(const json_t *object, const char *key);
struct content_hash vectors_hash(const json_t *object, const char *key);
struct content_hash vectors_parse_hash(const char *text);

/* Compares and names both hashes on failure. */
void vectors_expect_hash(const struct content_hash *got, const char *want_text);

#endif
