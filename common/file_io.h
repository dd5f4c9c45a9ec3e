/*
 * Whole reads and writes on a descriptor: short transfers are continued, signals are not the caller's concern.
 *
 * Not a stream and not buffered. Any thread. Blocks as the file does. Failures are in errno: the caller knows the
 * name of the thing and fills the fault.
 */
#ifndef COMMON_FILE_IO_H
#define COMMON_FILE_IO_H

#include "common/attributes.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads until `length` bytes are there or the file ends. The bytes read, or -1: errno. */
MUST_CHECK int64_t file_io_read(int fd, void *into, uint64_t length);
/* The same from `offset`, wherever the descriptor stands. */
MUST_CHECK int64_t file_io_read_at(int fd, void *into, uint64_t length, uint64_t offset);

/* Writes all of it; false: errno. */
MUST_CHECK bool file_io_write(int fd, const void *bytes, uint64_t length);
/* The same at `offset`, wherever the descriptor stands. */
MUST_CHECK bool file_io_write_at(int fd, const void *bytes, uint64_t length, uint64_t offset);

#endif
