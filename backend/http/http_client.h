/*
 * HTTP/1.1 calls over one libcurl multi loop: many callers' threads, one thread that moves bytes.
 *
 * A call is an http_stream (http_stream.h), made from an http_request (http_request.h); http_perform is the short
 * form for small answers.
 *
 * It is not a policy: nothing here retries (http_retry.h), and every complete answer is OK whatever its HTTP
 * status (http_status.h turns one into a status and a fault).
 *
 * Rules kept here for everybody: a bearer token goes only over https or to a loopback host, and never to
 * another origin on a redirect; faults name label and origin, never path, query or token; at most
 * HTTP_REDIRECTS_MAX redirects; sockets are close-on-exec; request bodies always have a Content-Length.
 *
 * Thread rule: any thread. The loop thread starts with the first call, so a client may be made before a fork, and
 * used only by the process whose call came first: another gets BUG.
 */
#ifndef BACKEND_HTTP_HTTP_CLIENT_H
#define BACKEND_HTTP_HTTP_CLIENT_H

#include "backend/http/http_request.h"
#include "backend/http/http_stream.h"

struct http_client;

/* Zero in a number means the default in brackets. Strings are borrowed during http_client_new. */
struct http_client_settings {
	const char *ca_file;         /* NULL: the system's certificates */
	const char *user_agent;      /* NULL: "hfkv/<version>" */
	int64_t connect_timeout_ms;  /* [10000] */
	int64_t stall_ms;            /* [30000] a call fails when no byte moved this long while it could */
	size_t max_calls_per_origin; /* [64] further calls wait; that counts against their deadline only */
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

/* Every call under way and every later one fails with CANCELLED, soon. For a shutdown past its limit. */
void http_client_abort(struct http_client *client);

/* Calls whose request names `cancel` fail with CANCELLED, soon. */
void http_client_cancel(struct http_client *client, struct http_cancel *cancel);

/* Sleeps `ms`, less when the deadline, `cancel` (may be NULL) or http_client_abort comes first.
 * OK: slept whole. TIMEOUT or CANCELLED otherwise. */
MUST_CHECK enum hfkv_status http_client_pause(struct http_client *client, int64_t ms,
					      const struct http_cancel *cancel, struct deadline deadline);

/* The whole call: start, response, the rest into `body` (NULL: the body is dropped), close. The caller releases
 * *ret_response with http_response_done, also when the status is not OK (it is empty then). */
MUST_CHECK enum hfkv_status http_perform(struct http_client *client, const struct http_request *request,
					 struct http_response *ret_response, struct byte_buf *body,
					 struct fault *fault);

#endif
