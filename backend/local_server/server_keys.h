/*
 * Who may do what: the write and read tokens of a data directory, and what the server signs with its own key
 * (CAS tokens, data URLs). Signed things need no table, survive a restart, and die with the key file.
 *
 * Immutable after open; any thread. Nothing here blocks but open.
 */
#ifndef BACKEND_LOCAL_SERVER_SERVER_KEYS_H
#define BACKEND_LOCAL_SERVER_SERVER_KEYS_H

#include "common/cleanup.h"
#include "common/content_hash.h"
#include "common/fault.h"
#include "common/secret.h"

#include <stdbool.h>
#include <stdint.h>

struct server_keys;

/* Ordered: each right includes those before it. */
enum server_right { RIGHT_NONE, RIGHT_READ, RIGHT_WRITE };

/* Reads DIRECTORY/{write-token,read-token,signing-key}; makes what is missing (0600). */
MUST_CHECK enum hfkv_status server_keys_open(const char *directory, struct server_keys **ret_keys,
					     struct fault *fault);
void server_keys_free(struct server_keys *keys);
DEFINE_CLEANUP(server_keys_free, struct server_keys *);

/* Borrowed until free. */
const struct secret *server_keys_write_token(const struct server_keys *keys);

/* What a Hub token may; RIGHT_NONE: unknown. */
enum server_right server_keys_hub_right(const struct server_keys *keys, const char *token);

/* ---- CAS tokens: bound to a bucket, a right and an end ---- */

#define CAS_TOKEN_BYTES 160
struct cas_grant {
	int64_t bucket;
	enum server_right right;
	int64_t expires_at_s;
};
void server_keys_make_cas_token(const struct server_keys *keys, const struct cas_grant *grant,
				char ret_token[CAS_TOKEN_BYTES]);
/* False: not one of ours, or altered. Whether it has ended is for the caller. */
bool server_keys_read_cas_token(const struct server_keys *keys, const char *token, struct cas_grant *ret_grant);

/* ---- data URLs: the signature covers xorb, byte ranges and end ---- */

#define URL_SIGNATURE_BYTES 65
#define URL_RANGES_BYTES    4096 /* longest text of byte ranges in one URL, and the NUL */

/* `ranges` as in a Range header, "0-99,200-299". False when it is too long. */
MUST_CHECK bool server_keys_sign_url(const struct server_keys *keys, const struct content_hash *xorb,
				     const char *ranges, int64_t expires_at_s,
				     char ret_signature[URL_SIGNATURE_BYTES]);
/* False for any signature but the one that server_keys_sign_url makes of the same. Expiry is for the caller. */
bool server_keys_check_url(const struct server_keys *keys, const struct content_hash *xorb, const char *ranges,
			   int64_t expires_at_s, const char *signature);

#endif
