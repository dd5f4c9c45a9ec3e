/*
 * One call under way: started without blocking, so that one thread may have several, then waited for.
 *
 * The loop thread receives into blocks and leaves the socket alone when a stream's blocks are full
 * (back-pressure); the owner decodes and hashes on its own thread. Nothing here retries, and every complete answer
 * is OK whatever its HTTP status. Rules for redirects and tokens: http_client.h.
 *
 * Thread rule: a stream belongs to one thread at a time.
 */
#ifndef BACKEND_HTTP_HTTP_STREAM_H
#define BACKEND_HTTP_HTTP_STREAM_H

#include "backend/http/http_request.h"
#include "backend/http/http_response.h"
#include "common/cleanup.h"
#include "common/fault.h"

#define HTTP_REDIRECTS_MAX 5
#define HTTP_BLOCK_BYTES   (256 * 1024) /* what http_stream_next hands over is at most this long */

struct http_client;
struct http_stream;

/* Sends the request without blocking. INVALID: malformed request, or a token that may not go there.
 * TIMEOUT: the deadline has passed already. CANCELLED: aborted. */
MUST_CHECK enum hfkv_status http_stream_start(struct http_client *client, const struct http_request *request,
					      struct http_stream **ret_stream, struct fault *fault);

/* Blocks for the answer's header (the last one after redirects). *ret_response is borrowed until close. OK for
 * every HTTP status. UNAVAILABLE: transport; TIMEOUT: deadline or stall; CANCELLED; INVALID: a redirect that is
 * refused. */
MUST_CHECK enum hfkv_status http_stream_response(struct http_stream *stream,
						 const struct http_response **ret_response, struct fault *fault);

/* Blocks for the next body bytes, borrowed until the next call on this stream. *ret_length 0: the body is
 * complete. A body that ends before its Content-Length is UNAVAILABLE. After an error every call returns that
 * error. */
MUST_CHECK enum hfkv_status http_stream_next(struct http_stream *stream, const uint8_t **ret_bytes,
					     size_t *ret_length, struct fault *fault);

/* Appends the rest of the body to `body`; CORRUPT when it does not fit. */
MUST_CHECK enum hfkv_status http_stream_read_all(struct http_stream *stream, struct byte_buf *body,
						 struct fault *fault);

/* Replaces `line` with the next line, without its line break (the last may lack one); *ret_more false: no line is
 * left. CORRUPT when one does not fit into `line`. Not to be mixed with http_stream_next. */
MUST_CHECK enum hfkv_status http_stream_read_line(struct http_stream *stream, struct byte_buf *line,
						  bool *ret_more, struct fault *fault);

/* Gives the call up if it is not complete; blocks for the loop to let go of the body (short, no network). NULL is
 * fine. */
void http_stream_close(struct http_stream *stream);
DEFINE_CLEANUP(http_stream_close, struct http_stream *);

#endif
