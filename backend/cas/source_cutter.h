/*
 * Cuts a source into its Xet chunks, one after the other, with the bytes of each in one piece.
 *
 * Memory is cut where it lies; a file is read through one window, so that it is hashed while in the cache. Where a
 * chunk in memory is followed by the same bytes again (padding, unused tokens), they are compared, not scanned.
 * One thread at a time; reads local files only.
 */
#ifndef BACKEND_CAS_SOURCE_CUTTER_H
#define BACKEND_CAS_SOURCE_CUTTER_H

#include "backend/xet/xet_chunker.h"
#include "common/attributes.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is uploaded: bytes in memory, or a file read with pread from offset 0. */
struct upload_source {
	const char *name;      /* for faults */
	const uint8_t *memory; /* NULL: fd */
	int fd;
	uint64_t size_bytes;
};

struct cut_chunk {
	const uint8_t *bytes; /* borrowed until the next call */
	uint32_t raw_bytes;
	uint64_t offset; /* in the source */
	bool repeats;    /* it has the bytes, and so the hash, of the chunk before it in this source */
};

/* Fields are the module's. Start with all zero. */
struct source_cutter {
	const struct upload_source *source;
	struct xet_chunker chunker;
	uint64_t chunk_offset; /* of the open chunk in the source */
	size_t last_length;    /* of the chunk cut last; 0: none, or a file's */
	uint8_t *window;       /* kept from source to source; NULL until a file is read */
	size_t start;          /* of the open chunk in the window */
	size_t scanned;        /* the chunker has seen the window up to here */
	size_t filled;
};

void source_cutter_done(struct source_cutter *cutter);

/* Begins a source, which is borrowed until its end. */
void source_cutter_begin(struct source_cutter *cutter, const struct upload_source *source);

/* The next chunk; *ret_more false: there was none left. IO: the file cannot be read; CHANGED: it is shorter than
 * it was said to be; NO_MEMORY. */
MUST_CHECK enum hfkv_status source_cutter_next(struct source_cutter *cutter, struct cut_chunk *ret_chunk,
					       bool *ret_more, struct fault *fault);

/* Copies bytes [offset, offset + length) of a source into `buffer`. IO or CHANGED as above. */
MUST_CHECK enum hfkv_status upload_source_read(const struct upload_source *source, uint64_t offset, void *buffer,
					       size_t length, struct fault *fault);

#endif
