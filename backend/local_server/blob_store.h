/*
 * Where the bytes of xorbs are kept, by hash: the second seam of the server. A blob is written once, whole,
 * and never changes; what was not committed is never readable. Another store (an S3-compatible one) takes
 * the place of blob_store_dir.c by giving the same functions. No file name shows here.
 *
 * Any thread; one writer object belongs to one thread at a time. Calls block on the store.
 */
#ifndef BACKEND_LOCAL_SERVER_BLOB_STORE_H
#define BACKEND_LOCAL_SERVER_BLOB_STORE_H

#include "common/cleanup.h"
#include "common/content_hash.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob_store;
struct blob_writer;
struct blob_reader;

/* `location`: a directory the store may fill as it likes; what an earlier process left half-written there is
 * removed. `durable`: a committed blob survives a power loss. */
MUST_CHECK enum hfkv_status blob_store_open(const char *location, bool durable, struct blob_store **ret_store,
					    struct fault *fault);
void blob_store_close(struct blob_store *store);
DEFINE_CLEANUP(blob_store_close, struct blob_store *);

MUST_CHECK enum hfkv_status blob_writer_new(struct blob_store *store, struct blob_writer **ret_writer,
					    struct fault *fault);
MUST_CHECK enum hfkv_status blob_writer_append(struct blob_writer *writer, const void *bytes, size_t length,
					       struct fault *fault);
/* Makes what was appended the blob `hash`, replacing one of that name (whose bytes are the same by right). */
MUST_CHECK enum hfkv_status blob_writer_commit(struct blob_writer *writer, const struct content_hash *hash,
					       struct fault *fault);
/* Gives up what was not committed. NULL is fine. */
void blob_writer_free(struct blob_writer *writer);
DEFINE_CLEANUP(blob_writer_free, struct blob_writer *);

/* NOT_FOUND: no such blob. */
MUST_CHECK enum hfkv_status blob_reader_open(struct blob_store *store, const struct content_hash *hash,
					     struct blob_reader **ret_reader, struct fault *fault);
/* Reads exactly `length` bytes; CORRUPT when the blob ends before. */
MUST_CHECK enum hfkv_status blob_reader_read(struct blob_reader *reader, uint64_t offset, void *bytes,
					     size_t length, struct fault *fault);
/* The length of the blob. */
uint64_t blob_reader_bytes(const struct blob_reader *reader);
/* A file descriptor of the blob (the caller closes it), for sendfile; -1 where the store has none: use read. */
int blob_reader_dup_fd(const struct blob_reader *reader);
void blob_reader_free(struct blob_reader *reader);
DEFINE_CLEANUP(blob_reader_free, struct blob_reader *);

#endif
