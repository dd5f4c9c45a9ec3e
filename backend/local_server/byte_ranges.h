/*
 * HTTP byte ranges as requests write them ("bytes=0-99", "bytes=100-", "bytes=-5", "bytes=0-9,20-29").
 * Pure; any thread.
 */
#ifndef BACKEND_LOCAL_SERVER_BYTE_RANGES_H
#define BACKEND_LOCAL_SERVER_BYTE_RANGES_H

#include "common/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_range {
	uint64_t start, end; /* end exclusive */
};

enum range_outcome {
	RANGE_ABSENT, /* no header: everything */
	RANGE_OK,
	RANGE_MALFORMED,
	RANGE_UNSATISFIABLE, /* begins at or past the end */
};

/* One range of a body of `size` bytes; the end is cut to it. *ret_range is set for ABSENT (all) and OK. */
enum range_outcome byte_range_parse(const char *header, uint64_t size, struct byte_range *ret_range);

/* Explicit ranges only, "s-e,s-e" with inclusive ends, as in signed URLs. Count, 0: malformed or more than `max`.
 */
size_t byte_ranges_parse_list(const char *text, struct byte_range *ret_ranges, size_t max);

#endif
