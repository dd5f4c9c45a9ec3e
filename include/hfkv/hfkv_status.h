/*
 * The one list of outcomes that every fallible function of hfkv returns.
 *
 * A status says what kind of thing happened, for code to branch on; `struct hfkv_error`
 * (hfkv_settings.h; `struct fault` inside the library) carries the words for a person. NOT_FOUND and
 * PARTIAL_KV_CHUNK are ordinary outcomes of a cache, not faults.
 */
#ifndef HFKV_STATUS_H
#define HFKV_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum hfkv_status {
	HFKV_OK = 0,
	HFKV_NOT_FOUND,        /* no such object, bucket or key */
	HFKV_PARTIAL_KV_CHUNK, /* a KV chunk whose size is not the full size */
	HFKV_OVERSIZE,         /* more bytes than the full size or a name limit allows */
	HFKV_AUTH,             /* no token, or one the Hub does not accept (401) */
	HFKV_FORBIDDEN,        /* a valid token without the right (403), or a local permission */
	HFKV_RATE_LIMITED,     /* 429 until the deadline */
	HFKV_QUOTA,            /* the remote store is full (413, 507) */
	HFKV_NO_SPACE,         /* staging or a local disk is full */
	HFKV_CHANGED,          /* the object changed under the caller */
	HFKV_CORRUPT,          /* bytes or an answer that fail verification */
	HFKV_UNAVAILABLE,      /* transport error or 5xx until the deadline */
	HFKV_TIMEOUT,          /* the deadline passed */
	HFKV_CANCELLED,        /* the caller or a shutdown gave it up */
	HFKV_BUSY,             /* locked or in use */
	HFKV_INVALID,          /* an argument, setting or name that cannot be right */
	HFKV_EXISTS,           /* there already, and replacing it was not allowed */
	HFKV_NO_MEMORY,
	HFKV_IO,               /* a local input/output error */
	HFKV_BUG,              /* hfkv broke its own rule */
	HFKV_STATUS_COUNT
};

/* A short lower-case English name, such as "not found". Never NULL; static storage. Any thread. */
const char *hfkv_status_name(enum hfkv_status status);

#ifdef __cplusplus
}
#endif

#endif
