/*
 * The records of a shard as plain values: what shard_writer takes and shard_reader gives.
 *
 * Source: Xet protocol, shard. All integers in the file are little-endian; records are 48 bytes.
 */
#ifndef BACKEND_XET_SHARD_FORMAT_H
#define BACKEND_XET_SHARD_FORMAT_H

#include "common/content_hash.h"

#include <stdint.h>

#define SHARD_FILE_HAS_VERIFICATION UINT32_C(0x80000000)
#define SHARD_FILE_HAS_SHA256       UINT32_C(0x40000000)
#define SHARD_CHUNK_DEDUP_CANDIDATE UINT32_C(0x80000000)
#define SHARD_FOOTER_BYTES          200

/* One run of chunks of one xorb that contributes to a file. */
struct shard_term {
	struct content_hash xorb;
	uint32_t raw_bytes;              /* of the run, uncompressed */
	uint32_t chunk_start, chunk_end; /* end exclusive */
	struct content_hash range_hash;  /* range_hash over the run; zero when the file block has none */
};

struct shard_chunk {
	struct content_hash hash; /* plain, or keyed in a dedup answer */
	uint32_t raw_start, raw_bytes;
	uint32_t flags;
};

/* The 200-byte footer; absent in uploads. Offsets are absolute. */
struct shard_footer {
	uint64_t file_offset, xorb_offset;
	uint64_t file_lookup_offset, file_lookup_count;
	uint64_t xorb_lookup_offset, xorb_lookup_count;
	uint64_t chunk_lookup_offset, chunk_lookup_count;
	uint8_t hmac_key[CONTENT_HASH_BYTES]; /* zeros: chunk hashes are plain */
	uint64_t created_at_s, key_expires_at_s;
	uint64_t stored_bytes_on_disk, materialized_bytes, stored_bytes;
	uint64_t footer_offset;
};

#endif
