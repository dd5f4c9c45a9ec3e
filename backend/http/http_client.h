/*
 * HTTP/1.1 calls over one libcurl multi loop: many callers' threads, one thread that moves bytes.
 *
 * A call is an http_stream: started without blocking (so that one thread may have several under way), then
 * waited for. The loop thread receives into blocks and stops reading the socket when a stream's blocks are
 * full (back-pressure); whoever owns the stream decodes and hashes on its own thread. http_perform is the
 * short form for small answers.
 *
 * It is not a policy: nothing here retries (http_retry.h), and every complete answer is OK whatever its HTTP
 * status (http_status.h turns one into a status and a fault).
 *
 * Rules kept here for everybody: a bearer token goes only over https or to a loopback host, and never to
 * another origin on a redirect; faults name label and origin, never path, query or token; at most
 * HTTP_REDIRECTS_MAX redirects; sockets are close-on-exec; request bodies always have a Content-Length.
 *
 * Thread rule: http_client from any thread; one http_stream belongs to one thread at a time. The loop thread
 * starts with the first call, so a client may be made before a fork, and used only by the process whose
 * call came first: another gets BUG. Body callbacks run on the loop thread and must be quick.
 */
#ifndef BACKEND_HTTP_HTTP_CLIENT_H
#define BACKEND_HTTP_HTTP_CLIENT_H

#include "backend/http/http_response.h"
#include "common/byte_buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/secret.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define HTTP_REDIRECTS_MAX 5
#define HTTP_BLOCK_BYTES   (256 * 1024) /* what http_stream_next hands over is at most this long */

struct http_client;
struct http_stream;

/* Zero in a number means the default in brackets. Strings are borrowed during http_client_new. */
struct http_client_settings {
	const char *ca_file;         /* NULL: the system's certificates */
	const char *user_agent;      /* NULL: "hfkv/<version>" */
	int64_t connect_timeout_ms;  /* [10000] */
	int64_t stall_ms;            /* [30000] a call fails when no byte moved this long while it could */
	size_t max_calls_per_origin; /* [64] further calls wait their turn; the wait counts against the deadline only */
	size_t max_calls;            /* [128] */
	size_t stream_blocks;        /* [4] received blocks a stream may hold before its socket is left alone */
	size_t total_blocks;         /* [64] beyond these a stream may hold one */
};

/* INVALID: the certificate file cannot be read; NO_MEMORY. */
MUST_CHECK enum hfkv_status http_client_new(const struct http_client_settings *settings,
					    struct http_client **ret_client, struct fault *fault);

/* Ends the loop thread. No stream is open any more and no call is under way. NULL is fine. In a forked child
 * that does not own the loop it only forgets the client. */
void http_client_free(struct http_client *client);
DEFINE_CLEANUP(http_client_free, struct http_client *);

/* Every call under way and every later one fails with CANCELLED, soon. For a shutdown past its limit. Any thread. */
void http_client_abort(struct http_client *client);

/* One reason to give up, shared by any number of calls. Lives until they all returned. */
struct http_cancel {
	atomic_bool fired;
};

/* Calls whose request names `cancel` fail with CANCELLED, soon. Any thread. */
void http_client_cancel(struct http_client *client, struct http_cancel *cancel);

/* Sleeps `ms`, less when the deadline, `cancel` (may be NULL) or http_client_abort comes first.
 * OK: slept whole. TIMEOUT or CANCELLED otherwise. */
MUST_CHECK enum hfkv_status http_client_pause(struct http_client *client, int64_t ms, const struct http_cancel *cancel,
					      struct deadline deadline);

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
	const char *label;      /* what the call is for, in faults: "paths-info of bucket 'a/b'" */
	const char *method;     /* "GET", "HEAD", "POST", "PUT", "DELETE" */
	const char *url;        /* absolute http or https */
	struct secret *bearer;  /* NULL: no Authorization. A reference is taken */
	const struct http_header *headers;
	size_t header_count;
	struct http_body body;
	bool keep_redirects;    /* true: a redirect is the answer. Otherwise GET and HEAD follow all, others 307 and 308 */
	struct deadline deadline; /* for the whole call up to the last body byte */
	int64_t stall_ms;       /* 0: the client's */
	struct http_cancel *cancel; /* NULL: none */
};

/* Sends the request without blocking. INVALID: malformed request, or a token that may not go there.
 * TIMEOUT: the deadline has passed already. CANCELLED: aborted. */
MUST_CHECK enum hfkv_status http_stream_start(struct http_client *client, const struct http_request *request,
					      struct http_stream **ret_stream, struct fault *fault);

/* Blocks for the answer's header (the last one after redirects). *ret_response is borrowed until close. OK for every
 * HTTP status. UNAVAILABLE: transport; TIMEOUT: deadline or stall; CANCELLED; INVALID: a redirect that is refused. */
MUST_CHECK enum hfkv_status http_stream_response(struct http_stream *stream, const struct http_response **ret_response,
						 struct fault *fault);

/* Blocks for the next body bytes, borrowed until the next call on this stream. *ret_length 0: the body is complete.
 * A body that ends before its Content-Length is UNAVAILABLE. After an error every call returns that error. */
MUST_CHECK enum hfkv_status http_stream_next(struct http_stream *stream, const uint8_t **ret_bytes, size_t *ret_length,
					     struct fault *fault);

/* Appends the rest of the body to `body`; CORRUPT when it does not fit. */
MUST_CHECK enum hfkv_status http_stream_read_all(struct http_stream *stream, struct byte_buf *body, struct fault *fault);

/* Replaces `line` with the next line, without its line break (the last may lack one); *ret_more false: no line is left.
 * CORRUPT when one does not fit into `line`. Not to be mixed with http_stream_next. */
MUST_CHECK enum hfkv_status http_stream_read_line(struct http_stream *stream, struct byte_buf *line, bool *ret_more,
						  struct fault *fault);

/* Request body bytes handed to the socket so far, for progress. Any thread. */
uint64_t http_stream_sent_bytes(const struct http_stream *stream);

/* Gives the call up if it is not complete; blocks for the loop to let go of the body (short, no network). NULL is fine. */
void http_stream_close(struct http_stream *stream);
DEFINE_CLEANUP(http_stream_close, struct http_stream *);

/* The whole call: start, response, read_all into `body` (NULL: the body is dropped), close. The caller releases
 * *ret_response with http_response_done, also when the status is not OK (it is empty then). */
MUST_CHECK enum hfkv_status http_perform(struct http_client *client, const struct http_request *request,
					 struct http_response *ret_response, struct byte_buf *body,
					 struct fault *fault);

#endif
