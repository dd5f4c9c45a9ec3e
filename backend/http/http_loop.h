/*
 * Inside backend/http only: the structures that the loop thread and the callers share.
 *
 * Who may touch what is written at each member. Lock order: client->mutex before stream->mutex; the block pool's
 * mutex last. No libcurl function is called with a lock held.
 *
 * Life of a stream: the owner fills the request and hands it to the loop (http_loop_submit). From then until
 * `done` is set under its mutex the loop may use it; setting `done` is the loop's last touch. An owner who wants
 * out earlier sets abort_asked, wakes the loop and waits for `done`.
 */
#ifndef BACKEND_HTTP_HTTP_LOOP_H
#define BACKEND_HTTP_HTTP_LOOP_H

#include "backend/http/http_block_pool.h"
#include "backend/http/http_client.h"
#include "backend/http/http_origin.h"

#include <curl/curl.h>
#include <sys/types.h>

#define HTTP_ORIGINS_MAX  32
#define HTTP_SPARE_EASIES 16

struct http_stream {
	struct http_client *client;

	/* The request: the owner's; unchanged while the loop has the stream. */
	char *label, *method, *url;
	struct http_origin origin;
	struct secret *bearer;
	struct curl_slist *headers; /* ours only; Authorization is made per leg and wiped after it */
	struct http_body body;
	struct deadline deadline;
	int64_t stall_ms;
	struct http_cancel *cancel;
	bool keep_redirects;
	unsigned redirects;

	/* The loop's. */
	CURL *easy;
	struct curl_slist *sent_headers;
	struct http_stream *previous, *next; /* in waiting or active */
	struct http_stream *next_dirty;
	bool is_dirty, no_body_expected;
	size_t origin_slot;
	uint64_t body_offset;
	int64_t progress_at_ms;
	enum hfkv_status local_status; /* why one of our callbacks stopped libcurl; OK: none did */
	const char *local_reason;
	char error_text[CURL_ERROR_SIZE];

	/* Asked by the owner, served by the loop. */
	atomic_bool resume_asked, abort_asked;

	/* Under mutex. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct http_response response; /* the loop's until header_ready */
	struct http_block *first, *last;
	size_t n_blocks;
	bool header_ready, paused, owner_waits, done;
	enum hfkv_status status; /* with done */
	struct fault fault;

	/* The owner's. */
	struct http_block *current;
	size_t line_offset;
};

/* Calls of one origin that are active; `waiting` counts too towards keeping the slot. */
struct http_origin_slot {
	char text[sizeof(((struct http_origin *)0)->text)];
	size_t active, holders;
};

struct http_list {
	struct http_stream *first, *last;
	size_t count;
};

struct http_client {
	/* Unchanged after http_client_new. */
	struct http_client_settings settings; /* defaults filled in; strings owned below */
	char *ca_file, *user_agent;
	struct http_block_pool blocks;

	/* Under mutex. */
	pthread_mutex_t mutex;
	pthread_cond_t gave_up; /* abort or a cancel: for http_client_pause */
	struct http_list incoming;
	bool started, stopping, aborted;
	pid_t owner_pid;
	pthread_t thread;

	int wake_fd;           /* eventfd */
	atomic_bool attention; /* a stream has something asked */

	/* The loop's. */
	CURLM *multi;
	int epoll_fd;
	int64_t curl_due_ms; /* INT64_MAX: none */
	int64_t next_check_ms;
	struct http_list waiting, active;
	struct http_stream *dirty;
	struct http_origin_slot origins[HTTP_ORIGINS_MAX];
	CURL *spare[HTTP_SPARE_EASIES];
	size_t n_spare;
};

/* ---- http_loop.c ---- */

/* Starts the thread if need be and queues the stream. BUG in a forked child; CANCELLED after an abort. */
MUST_CHECK enum hfkv_status http_loop_submit(struct http_client *client, struct http_stream *stream,
					     struct fault *fault);
/* Makes the loop look at resume_asked, abort_asked and cancel flags. */
void http_loop_attend(struct http_client *client);
/* Ends the thread and frees what the loop owns. False in a forked child: the loop and its sockets are the
 * parent's, a lock may be held by a thread that is not there, and so everything is left alone. */
bool http_loop_stop(struct http_client *client);

/* ---- http_transfer.c: one stream on its easy handle; loop thread ---- */

/* Prepares stream->easy for the request. False: no memory. */
bool http_transfer_begin(struct http_stream *stream);
/* Takes a finished transfer's result (or `status` other than OK with `reason`), releases the request's copies, and
 * sets done: the stream may be gone when this returns. */
void http_transfer_end(struct http_stream *stream, CURLcode code);
void http_transfer_fail(struct http_stream *stream, enum hfkv_status status, const char *reason);
/* Tells a waiting owner about bytes that arrived. */
void http_transfer_flush(struct http_stream *stream);

#endif
