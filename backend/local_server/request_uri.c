#include "backend/local_server/request_uri.h"

#include <stdlib.h>
#include <string.h>

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	char lower = (char)(digit | 0x20);
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The byte that text[0..2] = "%XY" stands for; -1 when malformed or a NUL. */
static int decode_escape(const char *text, size_t left)
{
	if (left < 3)
		return -1;
	int high = hex_digit(text[1]), low = hex_digit(text[2]);
	if (high < 0 || low < 0)
		return -1;
	int byte = high << 4 | low;
	return byte == 0 ? -1 : byte;
}

char *uri_decode(const char *text, size_t length)
{
	char *decoded = malloc(length + 1);
	if (!decoded)
		return NULL;
	size_t out = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '%') {
			decoded[out++] = text[i];
			continue;
		}
		int byte = decode_escape(text + i, length - i);
		if (byte < 0) {
			free(decoded);
			return NULL;
		}
		decoded[out++] = (char)byte;
		i += 2;
	}
	decoded[out] = '\0';
	return decoded;
}

char *uri_encode(const char *text, const char *keep)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
	static const char digits[] = "0123456789ABCDEF";
	char *encoded = malloc(3 * strlen(text) + 1);
	if (!encoded)
		return NULL;
	char *out = encoded;
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		if (strchr(plain, byte) || strchr(keep, byte)) {
			*out++ = *text;
			continue;
		}
		*out++ = '%';
		*out++ = digits[byte >> 4];
		*out++ = digits[byte & 15];
	}
	*out = '\0';
	return encoded;
}

char *uri_query_value(const char *query, const char *name)
{
	size_t name_length = strlen(name);
	while (query && *query) {
		size_t length = strcspn(query, "&");
		if (length > name_length && query[name_length] == '=' && strncmp(query, name, name_length) == 0)
			return uri_decode(query + name_length + 1, length - name_length - 1);
		query += length;
		query += *query == '&';
	}
	return NULL;
}
