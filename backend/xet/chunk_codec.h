/*
 * Packs Xet chunks into record payloads and unpacks them: the one place that knows LZ4.
 *
 * Source: Xet protocol, xorb. A packer decides cheaply whether packing is worth it: it tries a small sample at
 * each source's start and again every 32 chunks, so that incompressible data costs nearly nothing. Any choice is
 * valid on the wire; hashes never depend on it.
 * A packer or unpacker serves one thread at a time; it owns its buffers and no I/O happens here.
 */
#ifndef BACKEND_XET_CHUNK_CODEC_H
#define BACKEND_XET_CHUNK_CODEC_H

#include "backend/xet/xorb_record.h"
#include "common/cleanup.h"

#include <stddef.h>

struct chunk_packer;
struct chunk_unpacker;

/* NO_MEMORY. */
MUST_CHECK enum hfkv_status chunk_packer_new(struct chunk_packer **ret_packer, struct fault *fault);
void chunk_packer_free(struct chunk_packer *packer);
DEFINE_CLEANUP(chunk_packer_free, struct chunk_packer *);

/* The next chunk starts a new source (file): take a new sample. */
void chunk_packer_start_source(struct chunk_packer *packer);

/* Packs chunk[0..raw_bytes), raw_bytes <= XET_CHUNK_MAX_BYTES. *ret_record describes the outcome. With scheme NONE
 * the payload is the chunk itself and *ret_payload is NULL; otherwise *ret_payload is record.payload_bytes long
 * (always less than raw_bytes) and borrowed until the next call. Cannot fail. */
void chunk_packer_pack(struct chunk_packer *packer, const uint8_t *chunk, uint32_t raw_bytes,
		       struct xorb_record *ret_record, const uint8_t **ret_payload);

/* Packs with the given scheme, without a decision; falls back to NONE when that is not smaller. */
void chunk_packer_pack_as(struct chunk_packer *packer, enum xorb_scheme scheme, const uint8_t *chunk,
			  uint32_t raw_bytes, struct xorb_record *ret_record, const uint8_t **ret_payload);

/* NO_MEMORY. */
MUST_CHECK enum hfkv_status chunk_unpacker_new(struct chunk_unpacker **ret_unpacker, struct fault *fault);
void chunk_unpacker_free(struct chunk_unpacker *unpacker);
DEFINE_CLEANUP(chunk_unpacker_free, struct chunk_unpacker *);

/* Decodes a whole payload into out[0..record->raw_bytes), whose content is undefined on failure. CORRUPT when the
 * frame is malformed, truncated, followed by anything, or does not give exactly raw_bytes; NO_MEMORY. */
MUST_CHECK enum hfkv_status chunk_unpacker_unpack(struct chunk_unpacker *unpacker,
						  const struct xorb_record *record, const uint8_t *payload,
						  uint8_t *out, struct fault *fault);

#endif
