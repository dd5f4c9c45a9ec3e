#include "backend/xet/merkle_hash.h"

#include "common/attributes.h"

#include <assert.h>
#include <blake3.h>
#include <stdio.h>
#include <string.h>

/* The three keys of the Xet protocol (hashing). */
static const uint8_t data_key[BLAKE3_KEY_LEN] = {
	0x66, 0x97, 0xf5, 0x77, 0x5b, 0x95, 0x50, 0xde, 0x31, 0x35, 0xcb, 0xac, 0xa5, 0x97, 0x18, 0x1c,
	0x9d, 0xe4, 0x21, 0x10, 0x9b, 0xeb, 0x2b, 0x58, 0xb4, 0xd0, 0xb0, 0x4b, 0x93, 0xad, 0xf2, 0x29,
};
static const uint8_t node_key[BLAKE3_KEY_LEN] = {
	0x01, 0x7e, 0xc5, 0xc7, 0xa5, 0x47, 0x29, 0x96, 0xfd, 0x94, 0x66, 0x66, 0xb4, 0x8a, 0x02, 0xe6,
	0x5d, 0xdd, 0x53, 0x6f, 0x37, 0xc7, 0x6d, 0xd2, 0xf8, 0x63, 0x52, 0xe6, 0x4a, 0x53, 0x71, 0x3f,
};
static const uint8_t range_key[BLAKE3_KEY_LEN] = {
	0x7f, 0x18, 0x57, 0xd6, 0xce, 0x56, 0xed, 0x66, 0x12, 0x7f, 0xf9, 0x13, 0xe7, 0xa5, 0xc3, 0xf3,
	0xa4, 0xcd, 0x26, 0xd5, 0xb5, 0xdb, 0x49, 0xe6, 0x41, 0x24, 0x98, 0x7f, 0x28, 0xfb, 0x94, 0xc3,
};
static const uint8_t zero_key[BLAKE3_KEY_LEN];

#define GROUP_MIN           3  /* no cut before the third member */
#define NODE_LINE_MAX_BYTES 90 /* 64 digits, " : ", 20 digits, newline, NUL */

static void hash_keyed(const uint8_t key[BLAKE3_KEY_LEN], const void *bytes, size_t length,
		       struct content_hash *ret_hash)
{
	blake3_hasher hasher;
	blake3_hasher_init_keyed(&hasher, key);
	blake3_hasher_update(&hasher, bytes, length);
	blake3_hasher_finalize(&hasher, ret_hash->bytes, sizeof(ret_hash->bytes));
}

void merkle_hash_xet_chunk(const void *bytes, size_t length, struct content_hash *ret_hash)
{
	hash_keyed(data_key, bytes, length, ret_hash);
}

void merkle_hash_keyed(const uint8_t key[CONTENT_HASH_BYTES], const struct content_hash *hash,
		       struct content_hash *ret_hash)
{
	struct content_hash message = *hash;
	hash_keyed(key, message.bytes, sizeof(message.bytes), ret_hash);
}

void merkle_hash_file(const struct content_hash *root, struct content_hash *ret_hash)
{
	merkle_hash_file_salted(root, zero_key, ret_hash);
}

void merkle_hash_file_salted(const struct content_hash *root, const uint8_t salt[CONTENT_HASH_BYTES],
			     struct content_hash *ret_hash)
{
	if (root)
		merkle_hash_keyed(salt, root, ret_hash);
	else
		*ret_hash = (struct content_hash){ 0 };
}

bool merkle_hash_is_dedup_eligible(const struct content_hash *hash)
{
	return ((hash->bytes[24] | hash->bytes[25] << 8) & 1023) == 0;
}

static bool ends_group(const struct content_hash *hash)
{
	return (hash->bytes[24] & 3) == 0;
}

/* The node over the open group of a level, which becomes empty. */
static struct merkle_node close_group(struct merkle_level *level)
{
	blake3_hasher hasher;
	blake3_hasher_init_keyed(&hasher, node_key);
	struct merkle_node node = { .size_bytes = 0 };
	for (uint32_t i = 0; i < level->pending_count; i++) {
		const struct merkle_node *member = &level->pending[i];
		char line[NODE_LINE_MAX_BYTES];
		content_hash_format(&member->hash, line);
		int digits =
		    snprintf(line + CONTENT_HASH_TEXT_BYTES - 1, sizeof(line) - CONTENT_HASH_TEXT_BYTES + 1,
			     " : %llu\n", (unsigned long long)member->size_bytes);
		blake3_hasher_update(&hasher, line, CONTENT_HASH_TEXT_BYTES - 1 + (size_t)digits);
		node.size_bytes += member->size_bytes;
	}
	blake3_hasher_finalize(&hasher, node.hash.bytes, sizeof(node.hash.bytes));
	level->pending_count = 0;
	level->closed_any = true;
	return node;
}

void merkle_root_init(struct merkle_root *root)
{
	root->level_count = 0;
}

static struct merkle_level *level_at(struct merkle_root *root, uint32_t index)
{
	assert(index < MERKLE_LEVELS_MAX);
	if (index == root->level_count) {
		root->levels[index].pending_count = 0;
		root->levels[index].closed_any = false;
		root->level_count++;
	}
	return &root->levels[index];
}

static void add_node(struct merkle_root *root, uint32_t index, struct merkle_node node)
{
	for (;; index++) {
		struct merkle_level *level = level_at(root, index);
		level->pending[level->pending_count++] = node;
		bool closes = level->pending_count == MERKLE_GROUP_MAX ||
			      (level->pending_count >= GROUP_MIN && ends_group(&node.hash));
		if (!closes)
			return;
		node = close_group(level);
	}
}

void merkle_root_add(struct merkle_root *root, const struct content_hash *hash, uint64_t size_bytes)
{
	add_node(root, 0, (struct merkle_node){ .hash = *hash, .size_bytes = size_bytes });
}

void merkle_root_finish(struct merkle_root *root, struct content_hash *ret_hash)
{
	/* A level that holds one node in all is the root; a lone last node of a longer level is hashed as a group.
	 */
	for (uint32_t index = 0; index < root->level_count; index++) {
		struct merkle_level *level = &root->levels[index];
		if (level->pending_count == 1 && !level->closed_any) {
			*ret_hash = level->pending[0].hash;
			return;
		}
		if (level->pending_count > 0)
			add_node(root, index + 1, close_group(level));
	}
	*ret_hash = (struct content_hash){ 0 };
}

static_assert(sizeof(blake3_hasher) <= sizeof(struct range_hash), "range_hash has room for the BLAKE3 state");
static_assert(_Alignof(blake3_hasher) <= _Alignof(struct range_hash),
	      "range_hash is aligned for the BLAKE3 state");

void range_hash_init(struct range_hash *range)
{
	blake3_hasher_init_keyed((blake3_hasher *)range->state, range_key);
}

void range_hash_add(struct range_hash *range, const struct content_hash *chunk)
{
	blake3_hasher_update((blake3_hasher *)range->state, chunk->bytes, sizeof(chunk->bytes));
}

void range_hash_finish(const struct range_hash *range, struct content_hash *ret_hash)
{
	blake3_hasher_finalize((const blake3_hasher *)range->state, ret_hash->bytes, sizeof(ret_hash->bytes));
}
