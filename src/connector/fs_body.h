/*
 * One file's bytes, written and read whole: ordinary I/O, or O_DIRECT through aligned memory.
 *
 * A body is an optional header and the data behind it. Nothing here knows keys, sizes or where files lie. Any
 * thread; the struct is immutable but for its warning flag.
 */
#ifndef SRC_CONNECTOR_FS_BODY_H
#define SRC_CONNECTOR_FS_BODY_H

#include "common/attributes.h"
#include "common/fault.h"

#include <stdatomic.h>
#include <stdint.h>

struct fs_body_io {
	uint64_t direct_block_bytes; /* O_DIRECT for bodies whose size is a multiple of this; 0: never */
	uint64_t read_ahead_bytes;   /* read this much first; 0: everything at once */
	atomic_bool direct_warned;   /* once, that O_DIRECT could not be used */
};

struct fs_body {
	void *header;
	uint64_t header_bytes; /* 0: none */
	void *data;
	uint64_t data_bytes;
};

/* Writes a new file (it must not exist), checked to the last close. On failure no file is left. */
MUST_CHECK enum hfkv_status fs_body_write(struct fs_body_io *io, const char *path, const struct fs_body *body,
					  struct fault *fault);

/* Reads header and data, which say how much is wanted at most, and sets *ret_bytes to what the file held of it.
 * A file that goes on behind is OVERSIZE (buffers undefined). NOT_FOUND; IO. Never more than the buffers is
 * touched. */
MUST_CHECK enum hfkv_status fs_body_read(struct fs_body_io *io, const char *path, const struct fs_body *body,
					 uint64_t *ret_bytes, struct fault *fault);

#endif
