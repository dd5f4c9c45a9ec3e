#include "tests/unit/backend/vectors.h"

#include "tests/unit/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

static struct bytes bytes_new(size_t length)
{
	struct bytes bytes = { .data = malloc(length ? length : 1), .length = length };
	assert_non_null(bytes.data);
	return bytes;
}

static void path_of(const char *name, char *path, size_t room)
{
	assert_true((size_t)snprintf(path, room, "%s/%s", VECTORS_DIR, name) < room);
}

json_t *vectors_load(const char *name)
{
	char path[1024];
	json_error_t error;
	path_of(name, path, sizeof(path));
	json_t *json = json_load_file(path, 0, &error);
	if (!json)
		fail_msg("%s: %s", path, error.text);
	return json;
}

struct bytes vectors_read(const char *name)
{
	char path[1024];
	path_of(name, path, sizeof(path));
	FILE *file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: cannot be opened", path);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	struct bytes bytes = bytes_new((size_t)ftell(file));
	rewind(file);
	assert_int_equal(fread(bytes.data, 1, bytes.length, file), bytes.length);
	fclose(file);
	return bytes;
}

const char *vectors_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (!text)
		fail_msg("no text member '%s'", key);
	return text;
}

uint64_t vectors_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 10);
	if (!json_is_integer(value))
		fail_msg("no number member '%s'", key);
	return (uint64_t)json_integer_value(value);
}

struct content_hash vectors_parse_hash(const char *text)
{
	struct content_hash hash = { 0 };
	if (!content_hash_parse(text, &hash))
		fail_msg("'%s' is no hash", text);
	return hash;
}

struct content_hash vectors_hash(const json_t *object, const char *key)
{
	return vectors_parse_hash(vectors_text(object, key));
}

void vectors_expect_hash(const struct content_hash *got, const char *want_text)
{
	char text[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(got, text);
	assert_string_equal(text, want_text);
}

struct bytes vectors_from_hex(const char *hex)
{
	struct bytes bytes = bytes_new(strlen(hex) / 2);
	for (size_t i = 0; i < bytes.length; i++) {
		unsigned value = 0;
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
		bytes.data[i] = (uint8_t)value;
	}
	return bytes;
}

static void make_splitmix64(uint8_t *out, size_t length, uint64_t seed, size_t skip)
{
	uint64_t state = seed;
	for (size_t done = 0; done < skip + length; done += 8) {
		state += UINT64_C(0x9e3779b97f4a7c15);
		uint64_t z = state;
		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		z ^= z >> 31;
		for (size_t i = 0; i < 8; i++)
			if (done + i >= skip && done + i < skip + length)
				out[done + i - skip] = (uint8_t)(z >> (8 * i));
	}
}

struct bytes vectors_random(uint64_t seed, size_t length)
{
	struct bytes bytes = bytes_new(length);
	make_splitmix64(bytes.data, length, seed, 0);
	return bytes;
}

static void make_words(uint8_t *out, size_t length, uint32_t start, int as_float)
{
	for (size_t i = 0; i < length; i++) {
		uint32_t number = start + (uint32_t)(i / 4), word = number;
		float value = (float)number / 1024;
		if (as_float)
			memcpy(&word, &value, sizeof(word));
		out[i] = (uint8_t)(word >> (8 * (i % 4)));
	}
}

static void make_lines(uint8_t *out, size_t length, uint64_t start)
{
	char line[64];
	for (size_t i = 0; i < length; start++) {
		int width = snprintf(line, sizeof(line), "%08llu the quick brown fox jumps over the lazy dog\n",
				     (unsigned long long)start);
		for (int at = 0; at < width && i < length; at++)
			out[i++] = (uint8_t)line[at];
	}
}

static void make_piece(const json_t *piece, uint8_t *out, size_t length)
{
	const char *op = vectors_text(piece, "op");
	if (strcmp(op, "splitmix64") == 0) {
		make_splitmix64(out, length, vectors_number(piece, "seed"), 0);
	} else if (strcmp(op, "splitmix64_skip") == 0) {
		make_splitmix64(out, length, vectors_number(piece, "seed"), vectors_number(piece, "skip"));
	} else if (strcmp(op, "repeat") == 0) {
		struct bytes pattern = vectors_from_hex(vectors_text(piece, "hex"));
		for (size_t i = 0; i < length; i++)
			out[i] = pattern.data[i % pattern.length];
		bytes_done(&pattern);
	} else if (strcmp(op, "counter32") == 0 || strcmp(op, "f32ramp") == 0) {
		make_words(out, length, (uint32_t)vectors_number(piece, "start"), op[0] == 'f');
	} else if (strcmp(op, "lines") == 0) {
		make_lines(out, length, vectors_number(piece, "start"));
	} else {
		fail_msg("unknown op '%s'", op);
	}
}

struct bytes vectors_generate(const json_t *gen)
{
	size_t index, length = 0, done = 0;
	json_t *piece;
	json_array_foreach(gen, index, piece) length += vectors_number(piece, "len");
	struct bytes bytes = bytes_new(length);
	json_array_foreach(gen, index, piece)
	{
		size_t part = vectors_number(piece, "len");
		make_piece(piece, bytes.data + done, part);
		done += part;
	}
	return bytes;
}
