/*
 * A bucket server on one machine: the Hub's bucket API and the Xet content store (CAS) over HTTP, kept in
 * one directory. It is the far end of the wire: it shares the Xet codec with the clients and nothing else.
 * It is not a proxy, and it never collects xorbs that no object names any more.
 *
 * DIR holds the catalog (names, chunk lists), the xorbs, a write token, a read token and a signing key
 * (0600, made at the first open). One process owns a DIR at a time.
 *
 * Durability: whatever was acknowledged survives a killed process. With `fsync` (the default) it survives a
 * power loss too, as far as the disk keeps its word: a xorb is synced, renamed and its directory synced
 * before its row is committed, and the catalog commits with synchronous=FULL. Without `fsync` a power loss
 * may lose or tear what was acknowledged shortly before; a killed process still loses nothing.
 *
 * Threads: open, start, stop and free are for the owner; the server runs its own threads, one for each
 * connection. The process must ignore SIGPIPE (sendfile raises it where no flag can stop it).
 */
#ifndef BACKEND_LOCAL_SERVER_LOCAL_BUCKET_SERVER_H
#define BACKEND_LOCAL_SERVER_LOCAL_BUCKET_SERVER_H

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/secret.h"

#include <stdbool.h>
#include <stdint.h>

struct local_bucket_server;

struct local_bucket_server_settings {
	const char *data_directory; /* made (0700) when missing; borrowed during open */
	const char *listen; /* "ADDRESS:PORT", IPv6 as "[ADDRESS]:PORT"; port 0 picks one; NULL: 127.0.0.1:0 */
	bool without_fsync; /* see "Durability" */
	bool test_controls; /* serve /_control/...: request counts, and faults on demand. For tests only */
	int token_seconds;  /* life of a CAS token; 0: 3600 */
	int url_seconds;    /* life of a data URL; 0: 3600 */
};

/* Opens DIR and reads or makes its tokens. INVALID: a setting that cannot be right. BUSY: another process
 * serves DIR. IO, NO_SPACE, FORBIDDEN, CORRUPT: DIR cannot be used. May block on the disk. */
MUST_CHECK enum hfkv_status local_bucket_server_open(const struct local_bucket_server_settings *settings,
						     struct local_bucket_server **ret_server, struct fault *fault);

/* Binds and serves; returns once connections are accepted. BUSY: the address is taken. */
MUST_CHECK enum hfkv_status local_bucket_server_start(struct local_bucket_server *server, struct fault *fault);

/* "http://ADDRESS:PORT" for a client on this machine (a wildcard address shows as loopback). Borrowed until
 * free; "" before start. */
const char *local_bucket_server_endpoint(const struct local_bucket_server *server);

/* The token that may write. Borrowed until free. */
const struct secret *local_bucket_server_write_token(const struct local_bucket_server *server);

/* Closes every connection, waits for requests that are running, and stops. No-op when not started. */
void local_bucket_server_stop(struct local_bucket_server *server);

/* Stops and frees. NULL is fine. */
void local_bucket_server_free(struct local_bucket_server *server);
DEFINE_CLEANUP(local_bucket_server_free, struct local_bucket_server *);

#endif
