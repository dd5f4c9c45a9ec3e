/*
 * What every call to the Hub about one bucket shares: endpoint, bucket, token, quoting, retries, the words of
 * failures.
 *
 * The endpoints themselves are hub_bucket, hub_paths_info, hub_tree, hub_batch and hub_xet_access, one idea each.
 * No policy beyond http_retry.h. Source of all of it: the note on the Hub's bucket API. Any thread; calls block
 * until `deadline`.
 */
#ifndef BACKEND_HUB_HUB_CLIENT_H
#define BACKEND_HUB_HUB_CLIENT_H

#include "backend/http/http_client.h"
#include "backend/hub/hub_auth.h"

#define HUB_DEFAULT_ENDPOINT "https://huggingface.co"

struct hub_client;

struct hub_client_settings {
	struct http_client *http; /* borrowed for the client's life */
	struct hub_auth *auth;    /* borrowed for the client's life */
	const char *endpoint;     /* NULL: HF_ENDPOINT, then HUB_DEFAULT_ENDPOINT. Copied */
	const char *bucket;       /* "<namespace>/<bucket>". Copied */
};

/* INVALID: the endpoint is no http(s) URL, or the bucket not of that form. Uses no network. */
MUST_CHECK enum hfkv_status hub_client_new(const struct hub_client_settings *settings,
					   struct hub_client **ret_client, struct fault *fault);
void hub_client_free(struct hub_client *client);
DEFINE_CLEANUP(hub_client_free, struct hub_client *);

const char *hub_client_bucket(const struct hub_client *client);
struct http_client *hub_client_http(const struct hub_client *client);
/* Scheme, host and port of the endpoint equal those of `url`. */
bool hub_client_is_same_origin(const struct hub_client *client, const char *url);

/* One call. All borrowed until return. */
struct hub_call {
	const char *what; /* "paths-info": begins the label in faults */
	const char *method;
	const char *url;          /* from hub_client_url, or a link of the Hub's own */
	const char *content_type; /* of the body; NULL: none */
	struct http_body body;
	struct deadline deadline;
};

/* "<endpoint>/api/buckets/<namespace>/<bucket><rest>" in `url`, replacing what it held; `rest` is quoted already.
 * False: no memory. */
MUST_CHECK bool hub_client_url(const struct hub_client *client, struct byte_buf *url, const char *rest);
/* "<endpoint><path>". */
MUST_CHECK bool hub_client_endpoint_url(const struct hub_client *client, struct byte_buf *url, const char *path);
/* Appends `text` with every byte outside A-Z a-z 0-9 - . _ ~ as %XX: `/` too, as huggingface_hub sends it. */
MUST_CHECK bool hub_quote(struct byte_buf *url, const char *text);

/* Sends, retries, and reads the answer into `body` (its maximum bounds the answer). OK only for 2xx. Otherwise the
 * status of http_status_to_hfkv, and a fault that has the HTTP status and a remedy where one is known. `response`
 * (NULL: not wanted; else initialised) is replaced by the answer's header, if there is one, whatever the status.
 */
MUST_CHECK enum hfkv_status hub_client_perform(struct hub_client *client, const struct hub_call *call,
					       struct http_response *response, struct byte_buf *body,
					       struct fault *fault);
/* The same, sent once: for calls whose repetition is the caller's decision. */
MUST_CHECK enum hfkv_status hub_client_perform_once(struct hub_client *client, const struct hub_call *call,
						    struct http_response *response, struct byte_buf *body,
						    struct fault *fault);
/* hub_client_perform_once in two steps, so that several calls can be under way: start does not wait. The caller closes the
 * stream. */
MUST_CHECK enum hfkv_status hub_client_start(struct hub_client *client, const struct hub_call *call,
					     struct http_stream **ret_stream, struct fault *fault);
MUST_CHECK enum hfkv_status hub_client_finish(struct hub_client *client, struct http_stream *stream,
					      const struct hub_call *call, struct http_response *response,
					      struct byte_buf *body, struct fault *fault);

#endif
