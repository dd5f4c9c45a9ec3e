/*
 * The bookkeeping of a xorb that is being filled: what fits, its chunk list, its hash. It holds no chunk bytes;
 * whoever uploads keeps them (or where to read them again) and writes header and payload of each record in order.
 *
 * Source: Xet protocol, xorb. Limits are counted on the raw bytes plus headers, so that
 * neither the raw sum nor the body ever passes 64 MiB. One thread at a time.
 */
#ifndef BACKEND_XET_XORB_WRITER_H
#define BACKEND_XET_XORB_WRITER_H

#include "backend/xet/merkle_hash.h"
#include "backend/xet/xorb_listing.h"
#include "backend/xet/xorb_record.h"
#include "common/cleanup.h"

struct xorb_writer;

MUST_CHECK enum hfkv_status xorb_writer_new(struct xorb_writer **ret_writer, struct fault *fault);
void xorb_writer_free(struct xorb_writer *writer);
DEFINE_CLEANUP(xorb_writer_free, struct xorb_writer *);

/* Whether a chunk of raw_bytes may still be added. */
bool xorb_writer_fits(const struct xorb_writer *writer, uint32_t raw_bytes);

/* Adds the next chunk, which xorb_writer_fits. *ret_index is its place in the xorb. NO_MEMORY: nothing added. */
MUST_CHECK enum hfkv_status xorb_writer_add(struct xorb_writer *writer, const struct content_hash *hash,
					    const struct xorb_record *record, uint32_t *ret_index,
					    struct fault *fault);

uint32_t xorb_writer_chunk_count(const struct xorb_writer *writer);
uint32_t xorb_writer_raw_bytes(const struct xorb_writer *writer);
uint32_t xorb_writer_body_bytes(const struct xorb_writer *writer);

/* Ends the xorb: the caller frees *ret_listing with xorb_listing_done. At least one chunk was added. The writer is
 * empty afterwards and can be filled again. */
void xorb_writer_finish(struct xorb_writer *writer, struct xorb_listing *ret_listing);

#endif
