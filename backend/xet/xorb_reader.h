/*
 * A streaming decoder of chunk records: fed byte spans of any size, it decodes each record straight into the place
 * the caller names. It checks the format and lengths, not hashes; a xorb_validator does that for whole bodies.
 *
 * Source: Xet protocol, xorb. Memory: at most one payload, and one chunk where no place was given. Raw bytes
 * go from the span to the place in one copy, or in none when a whole raw record lies in the span and is lent. One
 * thread at a time; no I/O. After a failure only free may follow.
 */
#ifndef BACKEND_XET_XORB_READER_H
#define BACKEND_XET_XORB_READER_H

#include "backend/xet/xorb_record.h"
#include "common/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

enum xorb_chunk_wish {
	XORB_CHUNK_SKIP, /* do not decode; `take` is not called for it */
	XORB_CHUNK_LEND, /* decode anywhere; `take` borrows the bytes */
	XORB_CHUNK_HERE, /* decode into *ret_place, which has room for raw_bytes */
};

/* Written to the implementer: called in record order from within xorb_reader_feed. */
struct xorb_reader_calls {
	/* What to do with chunk `index` (0 for the first record fed), known from its header; 0 <= raw_bytes <=
	 * XET_CHUNK_MAX_BYTES. A place must stay valid until `take` for this chunk or the reader's end; bytes are
	 * written there before the record is known to be good. */
	enum xorb_chunk_wish (*want)(void *context, uint32_t index, uint32_t raw_bytes, uint8_t **ret_place);
	/* The chunk is decoded at `bytes` (the place, or borrowed until return). Not OK stops the reader, which
	 * returns that status. */
	enum hfkv_status (*take)(void *context, uint32_t index, const uint8_t *bytes, uint32_t raw_bytes,
				 struct fault *fault);
};

struct xorb_reader;

/* `calls` is borrowed for the reader's life. NO_MEMORY. */
MUST_CHECK enum hfkv_status xorb_reader_new(const struct xorb_reader_calls *calls, void *context,
					    struct xorb_reader **ret_reader, struct fault *fault);
void xorb_reader_free(struct xorb_reader *reader);
DEFINE_CLEANUP(xorb_reader_free, struct xorb_reader *);

/* The next bytes of the stream. CORRUPT, NO_MEMORY, or what `take` returned. */
MUST_CHECK enum hfkv_status xorb_reader_feed(struct xorb_reader *reader, const void *bytes, size_t length,
					     struct fault *fault);

/* The same, but stops in front of a footer: *ret_used < length then, and the rest belongs to the footer. */
MUST_CHECK enum hfkv_status xorb_reader_feed_records(struct xorb_reader *reader, const void *bytes, size_t length,
						     size_t *ret_used, struct fault *fault);

/* The stream ended: CORRUPT when that is inside a record. */
MUST_CHECK enum hfkv_status xorb_reader_finish(struct xorb_reader *reader, struct fault *fault);

/* Records completed so far, and bytes of the stream they took; within `take` the latter counts the one at hand. */
uint32_t xorb_reader_chunk_count(const struct xorb_reader *reader);
uint64_t xorb_reader_record_bytes(const struct xorb_reader *reader);

/* Whether the stream stands at the end of a record, where another may start or the stream may end. */
bool xorb_reader_at_boundary(const struct xorb_reader *reader);

#endif
