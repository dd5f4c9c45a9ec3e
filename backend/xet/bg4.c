#include "backend/xet/bg4.h"

#include <string.h>

/* Start of each group in the grouped form; `tail` of the four lanes hold one byte more than length / 4. */
static void group_starts(size_t length, size_t starts[4])
{
	size_t quarter = length / 4, tail = length % 4;
	starts[0] = 0;
	for (size_t lane = 1; lane < 4; lane++)
		starts[lane] = starts[lane - 1] + quarter + (tail >= lane ? 1 : 0);
}

void bg4_split(const uint8_t *in, size_t length, uint8_t *out)
{
	size_t starts[4], quarter = length / 4;
	group_starts(length, starts);
	uint8_t *restrict a = out, *restrict b = out + starts[1];
	uint8_t *restrict c = out + starts[2], *restrict d = out + starts[3];
	for (size_t i = 0; i < quarter; i++) {
		a[i] = in[4 * i];
		b[i] = in[4 * i + 1];
		c[i] = in[4 * i + 2];
		d[i] = in[4 * i + 3];
	}
	for (size_t lane = 0; lane < length % 4; lane++)
		out[starts[lane] + quarter] = in[4 * quarter + lane];
}

void bg4_join(const uint8_t *in, size_t length, uint8_t *out)
{
	size_t starts[4], quarter = length / 4;
	group_starts(length, starts);
	const uint8_t *a = in, *b = in + starts[1], *c = in + starts[2], *d = in + starts[3];
	uint8_t *restrict to = out;
	for (size_t i = 0; i < quarter; i++) {
		to[4 * i] = a[i];
		to[4 * i + 1] = b[i];
		to[4 * i + 2] = c[i];
		to[4 * i + 3] = d[i];
	}
	for (size_t lane = 0; lane < length % 4; lane++)
		out[4 * quarter + lane] = in[starts[lane] + quarter];
}
