/*
 * Builds a shard in upload form (no footer, every file verified) for files whose xorbs were uploaded.
 *
 * Source: Xet protocol, shard, and what hf_xet uploads. Keeps only the bytes of the shard itself. One thread at a
 * time; no I/O.
 */
#ifndef BACKEND_XET_SHARD_WRITER_H
#define BACKEND_XET_SHARD_WRITER_H

#include "backend/xet/shard_format.h"
#include "backend/xet/xorb_listing.h"
#include "common/attributes.h"
#include "common/byte_buf.h"
#include "common/cleanup.h"
#include "common/fault.h"

#include <stddef.h>

struct shard_writer;

MUST_CHECK enum hfkv_status shard_writer_new(struct shard_writer **ret_writer, struct fault *fault);
void shard_writer_free(struct shard_writer *writer);
DEFINE_CLEANUP(shard_writer_free, struct shard_writer *);

/* A file and its terms in file order (none for the empty file, whose hash is zero), each with its range hash.
 * OVERSIZE, nothing added, when the shard would pass SHARD_MAX_BYTES; NO_MEMORY. */
MUST_CHECK enum hfkv_status shard_writer_add_file(struct shard_writer *writer, const struct content_hash *hash,
						  const struct shard_term *terms, size_t term_count,
						  struct fault *fault);

/* A newly uploaded xorb. OVERSIZE or NO_MEMORY as above. */
MUST_CHECK enum hfkv_status shard_writer_add_xorb(struct shard_writer *writer, const struct xorb_listing *listing,
						  struct fault *fault);

/* Appends the whole shard to `buf`. NO_MEMORY when it cannot take it. The writer stays as it is. */
MUST_CHECK enum hfkv_status shard_writer_finish(const struct shard_writer *writer, struct byte_buf *buf,
						struct fault *fault);

#endif
