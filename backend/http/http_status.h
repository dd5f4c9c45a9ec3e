/*
 * What an HTTP status means to hfkv: the one place where one becomes an enum hfkv_status.
 *
 * Pure; any thread.
 */
#ifndef BACKEND_HTTP_HTTP_STATUS_H
#define BACKEND_HTTP_HTTP_STATUS_H

#include "backend/http/http_response.h"
#include "common/byte_buf.h"
#include "common/fault.h"

/* 2xx OK; 401 AUTH; 403 FORBIDDEN; 404 and 410 NOT_FOUND; 408 and 429 and 5xx except 501 and 507: TIMEOUT,
 * RATE_LIMITED, UNAVAILABLE; 409 EXISTS; 413 and 507 QUOTA; everything else INVALID (we asked for something the
 * server refuses). */
enum hfkv_status http_status_to_hfkv(int http_status);

/* Whether the same request may succeed later: 408, 429 and 5xx except 501. (507 is retried by nobody.) */
bool http_status_may_pass(int http_status);

/* OK for 2xx. Otherwise the mapped status, and a fault that names label, HTTP status, what the server said
 * (X-Error-Message, else the `error` of a JSON body, cut), request id and asked wait. `body` may be NULL. */
MUST_CHECK enum hfkv_status http_response_check(const struct http_response *response, const struct byte_buf *body,
						const char *label, struct fault *fault);

#endif
