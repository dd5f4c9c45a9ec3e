/*
 * Every hash of the Xet formats: keyed BLAKE3 of chunks, Merkle nodes, files, term ranges, and of hashes.
 *
 * Source: Xet protocol, hashing. Pure functions and plain values without heap memory; any thread (one
 * thread at a time for a builder). Nothing here can fail.
 */
#ifndef BACKEND_XET_MERKLE_HASH_H
#define BACKEND_XET_MERKLE_HASH_H

#include "common/content_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hash of one Xet chunk's uncompressed bytes; also the name of a xorb that holds only this chunk. */
void merkle_hash_xet_chunk(const void *bytes, size_t length, struct content_hash *ret_hash);

/* Keyed BLAKE3 of a hash: how dedup answers hide chunk hashes ("HMAC" in the protocol's words). */
void merkle_hash_keyed(const uint8_t key[CONTENT_HASH_BYTES], const struct content_hash *hash,
		       struct content_hash *ret_hash);

/* The file hash that belongs to the Merkle root over a file's chunks. A file without chunks has no root (NULL) and
 * the zero hash. */
void merkle_hash_file(const struct content_hash *root, struct content_hash *ret_hash);
/* The same under a salt; a salt of zeros is merkle_hash_file. */
void merkle_hash_file_salted(const struct content_hash *root, const uint8_t salt[CONTENT_HASH_BYTES],
			     struct content_hash *ret_hash);

/* Whether the protocol lets a client ask for this chunk in global deduplication (hash mod 1024 == 0). */
bool merkle_hash_is_dedup_eligible(const struct content_hash *hash);

/* ---- Merkle root over (hash, size) pairs, fed one by one ---- */

struct merkle_node {
	struct content_hash hash;
	uint64_t size_bytes;
};

#define MERKLE_GROUP_MAX  9
#define MERKLE_LEVELS_MAX 32 /* groups but the last hold 3 or more, so 2^43 leaves need 29 */

struct merkle_level {
	struct merkle_node pending[MERKLE_GROUP_MAX]; /* members of the group that is still open */
	uint32_t pending_count;
	bool closed_any; /* a group of this level went up already */
};

/* Fields are the module's. About 12 KiB. */
struct merkle_root {
	struct merkle_level levels[MERKLE_LEVELS_MAX];
	uint32_t level_count;
};

void merkle_root_init(struct merkle_root *root);
/* The next leaf: a Xet chunk's hash and its uncompressed length. Leaves of equal hash all count. */
void merkle_root_add(struct merkle_root *root, const struct content_hash *hash, uint64_t size_bytes);
/* The root over all leaves (zero when there were none). Uses the builder up; init it before another use. */
void merkle_root_finish(struct merkle_root *root, struct content_hash *ret_hash);

/* ---- range hash: proves that whoever names a term knows its chunks ---- */

/* Room for the BLAKE3 state, whose header stays inside merkle_hash.c. */
struct range_hash {
	uint64_t state[240];
};

void range_hash_init(struct range_hash *range);
/* The next chunk of the term, in order. */
void range_hash_add(struct range_hash *range, const struct content_hash *chunk);
void range_hash_finish(const struct range_hash *range, struct content_hash *ret_hash);

#endif
