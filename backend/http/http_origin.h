/*
 * The origin of a URL (scheme, host, port), and what may be sent to it.
 *
 * Plain value; pure; any thread.
 */
#ifndef BACKEND_HTTP_HTTP_ORIGIN_H
#define BACKEND_HTTP_HTTP_ORIGIN_H

#include "common/fault.h"

#include <stdbool.h>

struct http_origin {
	char text[320]; /* "https://host:port", lower case; fit for faults */
	bool https;
	bool loopback; /* localhost, 127.0.0.0/8 or ::1 by name: nothing is resolved */
};

/* INVALID for anything but an absolute http or https URL without user and password. `label` goes into the fault;
 * the URL does not, as its query may be a signature. */
MUST_CHECK enum hfkv_status http_origin_parse(const char *url, const char *label, struct http_origin *ret_origin,
					      struct fault *fault);

bool http_origin_equal(const struct http_origin *a, const struct http_origin *b);

/* INVALID when a token would travel in the clear to another machine. */
MUST_CHECK enum hfkv_status http_origin_check_token(const struct http_origin *origin, const char *label,
						    struct fault *fault);

/* `location` against `base`, as an absolute URL that the caller frees. NULL: not a URL, or no memory. */
char *http_url_resolve(const char *base, const char *location);

#endif
