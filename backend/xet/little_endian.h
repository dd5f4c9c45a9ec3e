/*
 * Little-endian integers in byte arrays, as the Xet formats store them. Private to backend/xet.
 */
#ifndef BACKEND_XET_LITTLE_ENDIAN_H
#define BACKEND_XET_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t le24_read(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static inline void le24_write(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
	at[2] = (uint8_t)(value >> 16);
}

static inline uint32_t le32_read(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline void le32_write(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint64_t le64_read(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static inline void le64_write(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

#endif
