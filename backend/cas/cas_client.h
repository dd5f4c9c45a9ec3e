/*
 * The endpoints of a CAS, one function each: xorbs and shards in, reconstructions and xorb ranges out.
 *
 * Source: Xet protocol, auth and api. It keeps tokens fresh (once more after a 401), falls back from v2 to v1
 * where the server lacks v2 and remembers that, and retries by http_retry.h. It holds no plan and no file. Any
 * thread; calls block until `deadline`.
 */
#ifndef BACKEND_CAS_CAS_CLIENT_H
#define BACKEND_CAS_CAS_CLIENT_H

#include "backend/cas/cas_token.h"
#include "backend/cas/reconstruction.h"
#include "backend/http/http_client.h"

struct cas_client;

struct cas_client_settings {
	struct http_client *http; /* borrowed for the client's life */
	cas_access_fetch fetch_access;
	void *fetch_context;         /* borrowed for the client's life */
	size_t downloads_per_object; /* connections that one read may use; 0: 4 */
	size_t extra_downloads;      /* threads that reads share beyond their callers' own; 0: 12 */
};

/* NO_MEMORY. Uses no network. */
MUST_CHECK enum hfkv_status cas_client_new(const struct cas_client_settings *settings,
					   struct cas_client **ret_client, struct fault *fault);
/* No call is under way. NULL is fine. */
void cas_client_free(struct cas_client *client);
DEFINE_CLEANUP(cas_client_free, struct cas_client *);

/* What every call below carries. */
struct cas_call {
	struct deadline deadline;
	struct http_cancel *cancel; /* NULL: none */
};

/* ---- xorb upload, so that several are under way while the caller prepares the next ---- */

struct cas_xorb_put;

/* Starts sending; does not wait for the answer (it may wait for a token). `body` is borrowed until free. */
MUST_CHECK enum hfkv_status cas_xorb_put_start(struct cas_client *client, const struct content_hash *xorb,
					       const struct http_body *body, const struct cas_call *call,
					       struct cas_xorb_put **ret_put, struct fault *fault);
/* Waits until the CAS has the xorb, sending it again as often as that takes. CORRUPT with http_status 400: the
 * body does not match the hash. */
MUST_CHECK enum hfkv_status cas_xorb_put_wait(struct cas_xorb_put *put, struct fault *fault);
/* Gives it up when it is not complete. */
void cas_xorb_put_free(struct cas_xorb_put *put);
DEFINE_CLEANUP(cas_xorb_put_free, struct cas_xorb_put *);

/* ---- whole calls ---- */

/* Registers a shard; OK only after the server's final word. */
MUST_CHECK enum hfkv_status cas_put_shard(struct cas_client *client, const void *bytes, size_t length,
					  const struct cas_call *call, struct fault *fault);

/* Bytes of a file, both ends included; `last` may lie past its end. */
struct cas_file_range {
	const struct content_hash *file;
	uint64_t first, last;
};

/* The plan for a range of a file. NOT_FOUND: no such file. CORRUPT with http_status 416: `first` is at or past the
 * end. */
MUST_CHECK enum hfkv_status cas_get_reconstruction(struct cas_client *client, const struct cas_file_range *range,
						   const struct cas_call *call, struct reconstruction **ret_plan,
						   struct fault *fault);

/* One try at a fetch of a plan: on OK the stream's answer is the right range and its body comes next. No token
 * goes along. FORBIDDEN: the URL has expired. The caller closes *ret_stream. */
MUST_CHECK enum hfkv_status cas_open_fetch(struct cas_client *client, const struct reconstruction_fetch *fetch,
					   const struct cas_call *call, struct http_stream **ret_stream,
					   struct fault *fault);

#endif
