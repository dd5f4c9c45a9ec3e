/*
 * When and how long to wait before the same call is made again.
 *
 * Retried: transport errors, stalls, 408, 429 and 5xx except 501 and 507. An answer cut short or not parseable is
 * the caller's choice (it passes UNAVAILABLE). Waits are exponential with jitter, or what the server asked for
 * (RateLimit, Retry-After), and never reach past the deadline: then the last failure stands, with what the server
 * said. Without a deadline the number of tries is bounded, and a stall is the last: a server that hangs costs its
 * caller one stall limit.
 *
 * Use, for calls that are idempotent:
 *
 *     struct http_retry retry = http_retry_begin(client, deadline, cancel);
 *     do {
 *             status = try_once(..., fault);
 *     } while (http_retry_again(&retry, status, fault));
 *
 * Owner thread only; http_retry_again sleeps.
 */
#ifndef BACKEND_HTTP_HTTP_RETRY_H
#define BACKEND_HTTP_HTTP_RETRY_H

#include "backend/http/http_client.h"

struct http_retry {
	struct http_client *client;
	struct http_cancel *cancel;
	struct deadline deadline;
	unsigned tries;     /* made so far */
	unsigned max_tries; /* 0: until the deadline. Set after begin to have fewer */
	int64_t base_ms, cap_ms;
};

struct http_retry http_retry_begin(struct http_client *client, struct deadline deadline,
				   struct http_cancel *cancel);

/* False when `status` is OK, not worth a retry, or there is no time or try left; `fault` stays as it is.
 * Otherwise waits and returns true. `fault` must be the one that try filled (it carries HTTP status and asked
 * wait). */
bool http_retry_again(struct http_retry *retry, enum hfkv_status status, const struct fault *fault);

#endif
