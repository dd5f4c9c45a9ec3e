/*
 * One authorized call to the CAS, from first try to final answer: token, sending, one renewal after a 401,
 * retries. Private to backend/cas: cas_client.h has the endpoints.
 *
 * Sending and waiting are apart, so that a caller may do other work while a body goes out. One thread at a time.
 */
#ifndef BACKEND_CAS_CAS_EXCHANGE_H
#define BACKEND_CAS_CAS_EXCHANGE_H

#include "backend/cas/cas_client.h"
#include "backend/http/http_retry.h"
#include "common/work_pool.h"

#include <stdatomic.h>

#define CAS_SESSION_ID_BYTES 37 /* a UUID and the NUL */
#define CAS_PATH_BYTES       128
#define CAS_LABEL_BYTES      80
#define CAS_RANGE_BYTES      64

struct cas_client {
	struct http_client *http; /* borrowed */
	struct cas_token *token;
	struct work_pool *downloads; /* extra threads of reads */
	size_t downloads_per_object;
	char session_id[CAS_SESSION_ID_BYTES];
	atomic_int reconstruction_version; /* 0 until an answer has shown which one the server has */
	atomic_bool shard_is_v1;
};

/* What to ask. Plain value; the body is borrowed. */
struct cas_request {
	enum cas_scope scope;
	const char *method;
	char path[CAS_PATH_BYTES];   /* behind the CAS's address */
	char label[CAS_LABEL_BYTES]; /* for faults */
	char range[CAS_RANGE_BYTES]; /* value of the Range header, "" for none */
	struct http_body body;
	int64_t stall_ms; /* 0: the client's */
};

struct cas_exchange {
	struct cas_client *client;
	struct cas_request request;
	struct cas_call call;
	struct cas_access access;
	struct http_stream *stream;
	struct http_retry retry;
	bool renewed;            /* the token was rejected and replaced once */
	unsigned not_understood; /* answers that were not what the protocol says */
};

/* Reads the body of a 2xx answer to its end. CORRUPT and UNAVAILABLE make the exchange try again, unless the fault
 * has an http_status that says otherwise. `fault` is never NULL. */
typedef enum hfkv_status (*cas_answer_read)(void *context, struct http_stream *stream, struct fault *fault);

/* Sends `request` for the first time. Release with cas_exchange_done whatever the status. */
MUST_CHECK enum hfkv_status cas_exchange_start(struct cas_exchange *exchange, struct cas_client *client,
					       const struct cas_request *request, const struct cas_call *call,
					       struct fault *fault);
/* Waits for a 2xx answer that `read` (NULL: any body will do) accepts, sending again as often as that takes. */
MUST_CHECK enum hfkv_status cas_exchange_finish(struct cas_exchange *exchange, cas_answer_read read, void *context,
						struct fault *fault);
void cas_exchange_done(struct cas_exchange *exchange);

/* Both in one. */
MUST_CHECK enum hfkv_status cas_exchange_run(struct cas_client *client, const struct cas_request *request,
					     const struct cas_call *call, cas_answer_read read, void *context,
					     struct fault *fault);

/* For servers that lack a newer endpoint: 404 or 501. */
bool cas_fault_is_missing_endpoint(enum hfkv_status status, const struct fault *fault);

#endif
