/*
 * Ranged reads of one open file that is too large to stage (plain layout): windows of the object kept in memory, read ahead
 * while reading goes forward. Lengths and decoding are checked, hashes are not.
 *
 * Memory: at most two windows of RANGE_WINDOW_BYTES a reader. Any thread; calls of one reader take turns.
 */
#ifndef FUSE_RANGE_READER_H
#define FUSE_RANGE_READER_H

#include "cache/kv_cache.h"

#define RANGE_WINDOW_BYTES (8 * 1024 * 1024)

struct range_reader;

/* NULL: no memory. The cache is borrowed for the reader's life. */
struct range_reader *range_reader_new(struct kv_cache *cache, const struct object_info *object);
/* NULL is fine. No read is in flight. */
void range_reader_free(struct range_reader *reader);

/* Copies bytes from `offset` on to `into`: `length` of them, fewer only at the end of the object. Blocks on the network. */
MUST_CHECK enum hfkv_status range_reader_read(struct range_reader *reader, uint64_t offset, size_t length, void *into,
					      size_t *ret_bytes, struct deadline deadline, struct fault *fault);

#endif
