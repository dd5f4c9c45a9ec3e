/*
 * The header of an HTTP answer: its status and a bounded set of fields.
 *
 * Open value, owned by whoever holds it. Reading is for any thread, changing for the owner.
 */
#ifndef BACKEND_HTTP_HTTP_RESPONSE_H
#define BACKEND_HTTP_HTTP_RESPONSE_H

#include "common/byte_buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_FIELDS_MAX_BYTES (128 * 1024) /* room for a 64,000-character X-Xet-Access-Token */

struct http_response {
	int status;             /* 100 to 599; 0 while there is none */
	struct byte_buf fields; /* name NUL value NUL, in order of arrival */
};

#define HTTP_RESPONSE_INIT ((struct http_response){ .fields = { .max_bytes = HTTP_FIELDS_MAX_BYTES } })

void http_response_done(struct http_response *response);

/* Adds one field. False: no memory or too many bytes. */
MUST_CHECK bool http_response_add_field(struct http_response *response, const char *name, size_t name_length,
					const char *value, size_t value_length);

/* Replaces *into by a copy of `from`. False: no memory. */
MUST_CHECK bool http_response_copy(struct http_response *into, const struct http_response *from);

/* The value of the first field of that name (any case), or NULL. Borrowed. */
const char *http_response_field(const struct http_response *response, const char *name);

/* The target of the first Link with that relation (`next`), into `ret_url`. False: none, or it does not fit. */
bool http_response_link(const struct http_response *response, const char *relation, struct byte_buf *ret_url);

/* How long the server asks to wait: from RateLimit (`"api";r=0;t=3`, when nothing remains), else Retry-After
 * (seconds or a date). -1 when it does not say; at most a day. */
int64_t http_response_wait_ms(const struct http_response *response);

/* Content-Range `bytes first-last/total`; *ret_total is UINT64_MAX for `*`. False: absent, malformed, or last <
 * first. */
bool http_response_content_range(const struct http_response *response, uint64_t *ret_first, uint64_t *ret_last,
				 uint64_t *ret_total);

#endif
