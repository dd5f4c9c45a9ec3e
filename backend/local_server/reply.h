/*
 * What a request is answered with: status, headers, and a body that is bytes, pieces of blobs, or a stream.
 * Handlers fill it; reply_sender hands it to the HTTP library. One thread at a time.
 */
#ifndef BACKEND_LOCAL_SERVER_REPLY_H
#define BACKEND_LOCAL_SERVER_REPLY_H

#include "common/attributes.h"
#include "common/byte_buf.h"
#include "hfkv/hfkv_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REPLY_HEADERS_MAX    24
#define REPLY_BODY_MAX_BYTES (64u << 20)

struct reply_header {
	char *name, *value; /* owned */
};

/* A body made while it is sent. read: at least 1 and at most `max` bytes of the body at `offset` (asked in
 * order), -1 on failure, which cuts the connection. */
struct reply_stream {
	ssize_t (*read)(void *context, uint64_t offset, char *bytes, size_t max);
	void (*free)(void *context);
	void *context;
	uint64_t length;
};

struct reply {
	unsigned status;
	struct reply_header headers[REPLY_HEADERS_MAX];
	size_t header_count;
	struct byte_buf body; /* used when neither file nor stream is set */
	int file_fd;          /* owned; -1: none. The body is file_length bytes of it from file_offset */
	uint64_t file_offset, file_length;
	struct reply_stream stream; /* set when stream.read is */
};

void reply_init(struct reply *reply);
void reply_done(struct reply *reply);
/* Back to an empty reply of that status. */
void reply_reset(struct reply *reply, unsigned status);

uint64_t reply_body_length(const struct reply *reply);
/* Copies body bytes from `offset` on, at most `max`; -1 on failure. For fault switches and streams. */
ssize_t reply_body_read(struct reply *reply, uint64_t offset, char *bytes, size_t max);

/* A header that does not fit or finds no memory is left out. */
void reply_header(struct reply *reply, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);

/* JSON text, with its Content-Type. The text is copied. */
void reply_json_text(struct reply *reply, unsigned status, const char *json);
/* The body was written by a json_writer; `ok` is its verdict, else the reply becomes a 500. */
void reply_json_body(struct reply *reply, unsigned status, bool ok);

/* {"error": text}, with X-Error-Code (NULL: none) and X-Error-Message. */
void reply_error(struct reply *reply, unsigned status, const char *code, const char *format, ...)
    PRINTF_LIKE(4, 5);

struct fault;
/* The answer for a failure inside the server: 500, 503, 507; the text goes into the answer, it holds no secret. */
void reply_fault(struct reply *reply, enum hfkv_status status, const struct fault *fault);

#endif
