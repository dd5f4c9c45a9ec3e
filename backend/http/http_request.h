/*
 * What is asked of a server: one request, its body, and the reason for which it may be given up.
 *
 * Open values that the caller fills; what is copied and what is borrowed stands at each.
 */
#ifndef BACKEND_HTTP_HTTP_REQUEST_H
#define BACKEND_HTTP_HTTP_REQUEST_H

#include "common/clock.h"
#include "common/secret.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* One reason to give up, shared by any number of calls. Lives until they all returned. */
struct http_cancel {
	atomic_bool fired;
};

/* Copies up to `room` body bytes that begin at `offset` into `buffer` and returns their number; 0 fails the call
 * (IO). `offset` is where the last call ended, or 0 again when the body is sent anew (a dead kept connection, a
 * redirect). On the loop thread: memory copies and reads of local files only. */
typedef size_t (*http_body_read)(void *context, uint64_t offset, void *buffer, size_t room);

/* A request body: none (all zero), segments in memory, or pulled. Everything is borrowed and unchanged until the
 * stream is closed. */
struct http_body {
	uint64_t length_bytes;
	const struct iovec *segments; /* whose lengths add up to length_bytes */
	size_t segment_count;
	http_body_read read; /* used when not NULL */
	void *read_context;
};

struct http_header {
	const char *name, *value; /* no line breaks; INVALID otherwise */
};

/* All but body and cancel is copied by http_stream_start. */
struct http_request {
	const char *label;     /* what the call is for, in faults: "paths-info of bucket 'a/b'" */
	const char *method;    /* "GET", "HEAD", "POST", "PUT", "DELETE" */
	const char *url;       /* absolute http or https */
	struct secret *bearer; /* NULL: no Authorization. A reference is taken */
	const struct http_header *headers;
	size_t header_count;
	struct http_body body;
	bool keep_redirects;        /* a redirect is the answer; else GET and HEAD follow all, others 307, 308 */
	struct deadline deadline;   /* for the whole call up to the last body byte */
	int64_t stall_ms;           /* 0: the client's */
	struct http_cancel *cancel; /* NULL: none */
};

#endif
