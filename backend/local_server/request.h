/*
 * One request on its way through the server: the parsed target, who asks, the body, and where it leads.
 * Handlers (routes.h) read it and fill a reply. It belongs to its connection's thread.
 */
#ifndef BACKEND_LOCAL_SERVER_REQUEST_H
#define BACKEND_LOCAL_SERVER_REQUEST_H

#include "backend/local_server/blob_store.h"
#include "backend/local_server/catalog.h"
#include "backend/local_server/reply.h"
#include "backend/local_server/server_keys.h"
#include "common/byte_buf.h"

#include <stdatomic.h>

struct MHD_Connection;
struct request;
struct request_journal;
struct server_faults;
struct xorb_intake;

/* What all requests share. Set before the first request and unchanged but for the counters. */
struct server_shared {
	struct catalog *catalog;
	struct blob_store *blobs;
	struct server_keys *keys;
	struct server_faults *faults;    /* NULL without test controls */
	struct request_journal *journal; /* NULL without test controls */
	int token_seconds, url_seconds;
	int stop_fd;                   /* an eventfd, readable once the server stops: ends waits */
	char authority[96];            /* for answers to requests without a Host header */
	_Atomic uint64_t body_bytes;   /* held in memory by request bodies */
	_Atomic uint64_t next_request; /* for X-Request-Id */
	uint64_t request_id_base;
};

/* What a route asks of the caller. PUBLIC: nothing. HUB_*: a Hub token (reading a public bucket needs none).
 * CAS_*: a CAS token of that right. */
enum route_access { ACCESS_PUBLIC, ACCESS_HUB_READ, ACCESS_HUB_WRITE, ACCESS_CAS_READ, ACCESS_CAS_WRITE };

#define REQUEST_CAPTURES 3

struct route {
	const char *method;  /* "GET" also serves HEAD */
	const char *pattern; /* "*" captures one segment, a last "**" the rest (maybe empty) */
	const char *name;    /* as test controls name it */
	enum route_access access;
	bool has_bucket; /* captures 0 and 1 name a bucket that must exist */
	size_t body_max_bytes;
	void (*handle)(struct request *request, struct reply *reply);
	/* Takes the body as it comes, instead of memory; NULL: body_max_bytes in memory, 0 to drop it. Anything
	 * that is wrong is kept until `handle`. */
	void (*take_body)(struct request *request, const char *bytes, size_t length);
};

struct request {
	struct server_shared *shared;
	struct MHD_Connection *connection;
	char *target;      /* raw, as received */
	const char *query; /* inside `target`, after the '?'; NULL: none */
	size_t path_length;
	const char *method;
	const struct route *route;
	char *captures[REQUEST_CAPTURES]; /* decoded once; owned */
	struct catalog_bucket bucket;     /* when route->has_bucket */
	struct byte_buf body;
	uint64_t body_seen_bytes;
	bool body_too_long;
	struct xorb_intake *xorb_intake; /* owned; the xorb-put route's */
	struct reply refusal;            /* status not 0: decided at the headers, given once the body was read */
	char id[24];
	/* what test controls ask of this request's handler (server_faults.h) */
	bool reverse_order, expire_given_tokens, expire_given_urls;
	int64_t apply_first; /* -1: all */
	bool handed_over;    /* a reply was queued */
};

/* NULL: no memory. `target` is copied. */
struct request *request_new(struct server_shared *shared, struct MHD_Connection *connection, const char *target);
void request_free(struct request *request);

/* A request header, NULL when absent. Borrowed. */
const char *request_header(const struct request *request, const char *name);
/* The "http://host:port" the client used. "" is never returned. Borrowed from `ret_origin`. */
#define REQUEST_ORIGIN_BYTES 300
void request_origin(const struct request *request, char ret_origin[REQUEST_ORIGIN_BYTES]);
/* The bearer token of the request; NULL: none. Borrowed. */
const char *request_bearer(const struct request *request);

/* Decides at the headers: finds the route, checks the caller, finds the bucket. Fills refusal or leaves its status
 * 0. */
void request_begin(struct request *request, const char *method);
/* The next bytes of the body. */
void request_take_body(struct request *request, const char *bytes, size_t length);
/* Answers a request whose body has ended. */
void request_answer(struct request *request, struct reply *reply);

#endif
