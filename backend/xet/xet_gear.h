/*
 * The gear table of the Xet chunker. Private to backend/xet.
 */
#ifndef BACKEND_XET_XET_GEAR_H
#define BACKEND_XET_XET_GEAR_H

#include <stdint.h>

extern const uint64_t xet_gear_table[256];

#endif
