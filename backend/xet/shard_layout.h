/*
 * Where the fields of a shard's records lie. Private to backend/xet.
 *
 * Source: Xet protocol, shard.
 */
#ifndef BACKEND_XET_SHARD_LAYOUT_H
#define BACKEND_XET_SHARD_LAYOUT_H

#include "backend/xet/xet_limits.h"

#include <stdint.h>

#define SHARD_TAG_BYTES      32
#define SHARD_HEADER_VERSION 2
#define SHARD_FOOTER_VERSION 1

extern const uint8_t shard_tag[SHARD_TAG_BYTES];

/* Offsets in a record. Hashes are at 0. */
enum {
	SHARD_HEADER_VERSION_AT = 32,
	SHARD_HEADER_FOOTER_BYTES_AT = 40,
	SHARD_FILE_FLAGS_AT = 32,
	SHARD_FILE_TERMS_AT = 36,
	SHARD_TERM_RAW_BYTES_AT = 36,
	SHARD_TERM_START_AT = 40,
	SHARD_TERM_END_AT = 44,
	SHARD_XORB_CHUNKS_AT = 36,
	SHARD_XORB_RAW_BYTES_AT = 40,
	SHARD_XORB_SERIALIZED_AT = 44,
	SHARD_CHUNK_RAW_START_AT = 32,
	SHARD_CHUNK_RAW_BYTES_AT = 36,
	SHARD_CHUNK_FLAGS_AT = 40,
};

/* The bookend: so many bytes of ff, then zeros to the end of the record. */
#define SHARD_BOOKEND_FF_BYTES 32

#endif
