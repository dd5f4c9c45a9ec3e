/*
 * Reads the bytes of a file out of the CAS: plan, parallel ranged downloads, decoding, verification.
 *
 * Each stream is decoded as it arrives, straight into memory or by pwrite; nothing is kept but a record at most.
 * No range is requested twice (except to repeat a failed one). A whole file is verified against its hash; a part
 * is checked for lengths and decoding only, as the protocol offers no more. Any thread, any number at once; blocks
 * on network and disk until the deadline. With none, http_client's stall limit and a bounded number of tries still
 * end it.
 */
#ifndef BACKEND_CAS_XET_DOWNLOAD_H
#define BACKEND_CAS_XET_DOWNLOAD_H

#include "backend/cas/cas_client.h"
#include "backend/cas/transfer_progress.h"

struct xet_download {
	const struct content_hash *file; /* its Xet file hash, not zero */
	uint64_t size_bytes;             /* of the whole file */
	uint64_t offset,
	    length_bytes; /* what to read; offset 0 and length >= size is the whole, which is verified */

	/* Byte k of the range goes to memory[k], or when memory is NULL to offset fd_offset + k of fd. */
	uint8_t *memory;
	int fd;
	uint64_t fd_offset;

	xet_progress progress; /* NULL: none */
	void *progress_context;
	struct cas_call call; /* its cancel, if any, is of this read alone: the read fires it too, when it fails */
};

/* *ret_bytes: bytes delivered, fewer than asked only at the file's end. NOT_FOUND: the CAS has no such file;
 * CORRUPT: an answer or the bytes do not verify; IO, NO_SPACE: pwrite; TIMEOUT, CANCELLED, UNAVAILABLE, AUTH,
 * FORBIDDEN as usual. On failure the content of the target is undefined. */
MUST_CHECK enum hfkv_status xet_download_run(struct cas_client *client, const struct xet_download *download,
					     uint64_t *ret_bytes, struct fault *fault);

#endif
