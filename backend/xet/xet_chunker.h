/*
 * Content-defined chunking: where a stream of bytes is cut into Xet chunks.
 *
 * Source: Xet protocol, chunking (gear hash, 8 KiB to 128 KiB, 64 KiB on average). It only finds cuts: it
 * neither keeps nor hashes bytes. The result does not depend on how the stream is split into spans.
 * Plain value, no heap memory, cannot fail; one thread at a time for each chunker.
 */
#ifndef BACKEND_XET_XET_CHUNKER_H
#define BACKEND_XET_XET_CHUNKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xet_chunker {
	uint64_t gear;       /* rolling hash of the open chunk */
	size_t length_bytes; /* bytes of the open chunk so far; 0 right after a cut */
};

#define XET_CHUNKER_INIT ((struct xet_chunker){ 0 })

/* Takes bytes from span[0..length) up to and including the end of the open chunk, at most all. Returns how many it
 * took; *ret_cut tells whether the open chunk ends with the last of them, after which the next call starts a new
 * chunk. length 0 takes nothing and cuts nothing. At the end of a file the open chunk, if length_bytes > 0, is the
 * file's last one. */
size_t xet_chunker_next(struct xet_chunker *chunker, const uint8_t *span, size_t length, bool *ret_cut);

#endif
