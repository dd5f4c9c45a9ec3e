/*
 * Byte grouping by four: puts bytes 0, 4, 8, ... first, then 1, 5, 9, ... and so on, so that LZ4 sees the
 * slowly changing bytes of 32-bit numbers together.
 *
 * Source: Xet protocol, xorb. Pure; any thread; `in` and `out` hold `length` bytes each and do not overlap.
 */
#ifndef BACKEND_XET_BG4_H
#define BACKEND_XET_BG4_H

#include <stddef.h>
#include <stdint.h>

void bg4_split(const uint8_t *in, size_t length, uint8_t *out);
/* The inverse of bg4_split. */
void bg4_join(const uint8_t *in, size_t length, uint8_t *out);

#endif
