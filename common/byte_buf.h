/*
 * A growable byte buffer with a maximum given at initialisation: nothing in hfkv grows without a bound.
 *
 * Invariants: data is NULL only while capacity is 0; data[length] is always 0 once anything was
 * appended, so text can be read as a C string; length <= max_bytes. Owner thread only.
 * An append that would pass max_bytes or run out of memory changes nothing and returns false.
 */
#ifndef COMMON_BYTE_BUF_H
#define COMMON_BYTE_BUF_H

#include "common/attributes.h"

#include <stdbool.h>
#include <stddef.h>

struct byte_buf {
	char *data;
	size_t length, capacity, max_bytes;
};

#define BYTE_BUF_INIT(max) ((struct byte_buf){ .max_bytes = (max) })

/* Frees the content and leaves an empty buffer with the same maximum. Fits CLEANUP(byte_buf_done). */
void byte_buf_done(struct byte_buf *buf);
/* Empties it, keeping the memory. */
void byte_buf_clear(struct byte_buf *buf);

MUST_CHECK bool byte_buf_append(struct byte_buf *buf, const void *bytes, size_t length);
MUST_CHECK bool byte_buf_append_text(struct byte_buf *buf, const char *text);
MUST_CHECK bool byte_buf_printf(struct byte_buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
/* Room for `length` more bytes at the returned place, or NULL; the caller adds what it wrote to length. */
MUST_CHECK char *byte_buf_reserve(struct byte_buf *buf, size_t length);

/* The content as malloc'd memory that the caller frees ("" when nothing was appended); the buffer is empty afterwards. NULL: no memory. */
char *byte_buf_detach(struct byte_buf *buf);
/* The content as a C string, "" when empty; borrowed until the next change. */
const char *byte_buf_text(const struct byte_buf *buf);

#endif
