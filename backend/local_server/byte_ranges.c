#include "backend/local_server/byte_ranges.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define UNIT "bytes="

/* Digits at *at; false when there are none or the number does not fit. */
static bool read_number(const char **at, uint64_t *ret_value)
{
	if (!isdigit((unsigned char)**at))
		return false;
	uint64_t value = 0;
	for (; isdigit((unsigned char)**at); (*at)++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
			return false;
	}
	*ret_value = value;
	return true;
}

static enum range_outcome last_bytes(const char *at, uint64_t size, struct byte_range *ret_range)
{
	uint64_t count;
	if (!read_number(&at, &count) || *at)
		return RANGE_MALFORMED;
	if (count == 0 || size == 0)
		return RANGE_UNSATISFIABLE;
	*ret_range = (struct byte_range){ count < size ? size - count : 0, size };
	return RANGE_OK;
}

enum range_outcome byte_range_parse(const char *header, uint64_t size, struct byte_range *ret_range)
{
	if (!header) {
		*ret_range = (struct byte_range){ 0, size };
		return RANGE_ABSENT;
	}
	if (strncmp(header, UNIT, strlen(UNIT)) != 0)
		return RANGE_MALFORMED;
	const char *at = header + strlen(UNIT);
	if (*at == '-')
		return last_bytes(at + 1, size, ret_range);
	uint64_t start, last = UINT64_MAX - 1;
	if (!read_number(&at, &start) || *at++ != '-')
		return RANGE_MALFORMED;
	if (*at && (!read_number(&at, &last) || *at || last < start))
		return RANGE_MALFORMED;
	if (start >= size)
		return RANGE_UNSATISFIABLE;
	*ret_range = (struct byte_range){ start, last < size ? last + 1 : size };
	return RANGE_OK;
}

size_t byte_ranges_parse_list(const char *text, struct byte_range *ret_ranges, size_t max)
{
	size_t count = 0;
	for (;;) {
		uint64_t start, last;
		text += strspn(text, " ");
		if (count == max || !read_number(&text, &start) || *text++ != '-' || !read_number(&text, &last) ||
		    last < start || last == UINT64_MAX)
			return 0;
		ret_ranges[count++] = (struct byte_range){ start, last + 1 };
		if (*text == '\0')
			return count;
		if (*text++ != ',')
			return 0;
	}
}
