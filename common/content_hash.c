#include "common/content_hash.h"

#include <string.h>

/* Byte of the raw hash that the i-th pair of hex digits shows: the bytes of each group of 8, reversed. */
static unsigned text_position_to_byte(unsigned i)
{
	return (i & ~7u) | (7 - (i & 7u));
}

void content_hash_format(const struct content_hash *hash, char text[CONTENT_HASH_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	for (unsigned i = 0; i < CONTENT_HASH_BYTES; i++) {
		uint8_t byte = hash->bytes[text_position_to_byte(i)];
		text[2 * i] = digits[byte >> 4];
		text[2 * i + 1] = digits[byte & 15];
	}
	text[2 * CONTENT_HASH_BYTES] = '\0';
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

bool content_hash_parse(const char *text, struct content_hash *ret_hash)
{
	struct content_hash hash;
	for (unsigned i = 0; i < CONTENT_HASH_BYTES; i++) {
		int high = hex_value(text[2 * i]);
		int low = high < 0 ? -1 : hex_value(text[2 * i + 1]);
		if (low < 0)
			return false;
		hash.bytes[text_position_to_byte(i)] = (uint8_t)(high << 4 | low);
	}
	if (text[2 * CONTENT_HASH_BYTES] != '\0')
		return false;
	*ret_hash = hash;
	return true;
}

bool content_hash_equal(const struct content_hash *a, const struct content_hash *b)
{
	return memcmp(a->bytes, b->bytes, CONTENT_HASH_BYTES) == 0;
}

bool content_hash_is_zero(const struct content_hash *hash)
{
	static const struct content_hash zero;
	return content_hash_equal(hash, &zero);
}

int content_hash_compare(const struct content_hash *a, const struct content_hash *b)
{
	for (unsigned i = 0; i < CONTENT_HASH_BYTES; i++) {
		unsigned at = text_position_to_byte(i);
		if (a->bytes[at] != b->bytes[at])
			return a->bytes[at] < b->bytes[at] ? -1 : 1;
	}
	return 0;
}
