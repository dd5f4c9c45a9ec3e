/*
 * The raw request target, taken apart and percent-decoded exactly once.
 *
 * libmicrohttpd decodes by itself and cuts at %00, so the server reads the raw target only. A name that holds a
 * literal "%2F" arrives as "%252F" and must come out as "%2F". '+' means itself, in queries too: the clients
 * encode a space as %20. Pure; any thread.
 */
#ifndef BACKEND_LOCAL_SERVER_REQUEST_URI_H
#define BACKEND_LOCAL_SERVER_REQUEST_URI_H

#include "common/attributes.h"

#include <stdbool.h>
#include <stddef.h>

/* Decodes text[0..length) into malloc'd memory. NULL: a malformed escape, %00, or no memory. */
MUST_CHECK char *uri_decode(const char *text, size_t length);

/* Encodes every byte outside A-Z a-z 0-9 _ . - ~ and the extra ones in `keep`; malloc'd, NULL: no memory. */
MUST_CHECK char *uri_encode(const char *text, const char *keep);

/* The value of `name` in a raw query ("a=1&b=2", NULL for none), decoded; malloc'd. NULL: not there or malformed.
 */
MUST_CHECK char *uri_query_value(const char *query, const char *name);

#endif
