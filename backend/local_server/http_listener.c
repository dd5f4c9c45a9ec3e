#include "backend/local_server/http_listener.h"

#include "backend/local_server/reply_sender.h"
#include "backend/local_server/request_journal.h"
#include "backend/local_server/routes.h"
#include "backend/local_server/server_faults.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* 0.9.71 and later return an enum where older ones returned int. */
#if MHD_VERSION >= 0x00097002
typedef enum MHD_Result mhd_result;
#else
typedef int mhd_result;
#endif

#define CONNECTIONS_MAX    1024
#define IDLE_SECONDS       300
#define THREAD_STACK_BYTES (512u << 10)
#define CONNECTION_BYTES   (256u << 10) /* read buffer of a connection; pages are touched as they are used */
#define BUFFER_STEP_BYTES  (64u << 10)
#define HEADERS_LEFT_BYTES (16u << 20) /* how much of a body that is refused anyway is read before the answer */

struct http_listener {
	struct server_shared *shared;
	struct MHD_Daemon *daemon;
};

/* ---- one request ---- */

static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
	struct http_listener *listener = context;
	return request_new(listener->shared, connection, target);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode code)
{
	(void)context, (void)connection, (void)code;
	request_free(*request);
	*request = NULL;
}

/* The targets are decoded by request_uri, once: the library must not. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context, (void)connection;
	return strlen(text);
}

/* Waits `ms`, but not past the server's stop. */
static void delay(const struct server_shared *shared, int64_t ms)
{
	struct pollfd stop = { .fd = shared->stop_fd, .events = POLLIN };
	int waited = poll(&stop, 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
	(void)waited;
}

static struct fault_plan make_plan(struct request *request)
{
	struct server_shared *shared = request->shared;
	struct fault_plan plan = { .delay_ms = -1,
				   .stall_after_bytes = -1,
				   .cut_after_bytes = -1,
				   .flip_byte_at = -1,
				   .apply_first = -1 };
	if (!shared->faults || strcmp(request->route->name, "control") == 0)
		return plan;
	request_journal_count(shared->journal, request->route->name);
	bool body_too = request->route->handle == hub_batch || request->route->handle == hub_paths_info;
	plan = server_faults_plan(shared->faults, request->route->name, request->target,
				  body_too ? &request->body : NULL);
	request->reverse_order = plan.reverse_order;
	request->expire_given_tokens = plan.expire_tokens;
	request->expire_given_urls = plan.expire_urls;
	request->apply_first = plan.apply_first;
	return plan;
}

static void answer_status(const struct fault_plan *plan, struct reply *reply)
{
	const char *name, *value;
	reply_reset(reply, (unsigned)plan->status);
	if (!byte_buf_append_text(&reply->body, fault_plan_body(plan)))
		return;
	for (size_t i = 0; fault_plan_header(plan, i, &name, &value); i++)
		reply_header(reply, name, "%s", value);
}

/* True when the plan itself refuses the request. */
static bool answer_expired(const struct request *request, const struct fault_plan *plan, struct reply *reply)
{
	enum route_access access = request->route->access;
	if (plan->expire_tokens && (access == ACCESS_CAS_READ || access == ACCESS_CAS_WRITE))
		reply_error(reply, 401, NULL, "the CAS token has expired: ask the Hub for a new one");
	else if (plan->expire_urls && request->route->handle == cas_xorb_data)
		reply_error(reply, 403, NULL, "the URL has expired: ask for the reconstruction again");
	else
		return false;
	return true;
}

/* Does the work, or what the plan says instead. False: close without an answer. */
static bool make_reply(struct request *request, const struct fault_plan *plan, struct reply *reply)
{
	if (plan->delay_ms > 0)
		delay(request->shared, plan->delay_ms);
	if (plan->drop == DROP_BEFORE_WORK)
		return false;
	bool partly = plan->apply_first >= 0;
	if (answer_expired(request, plan, reply))
		return true;
	if (!plan->status || partly || plan->drop == DROP_AFTER_WORK)
		request_answer(request, reply);
	if (plan->drop == DROP_AFTER_WORK)
		return false;
	if (plan->status)
		answer_status(plan, reply);
	else if (partly)
		reply_error(reply, 500, NULL, "the batch was applied in part");
	return true;
}

static void write_journal(const struct request *request, unsigned status)
{
	struct request_journal *journal = request->shared->journal;
	if (!journal || strcmp(request->route->name, "control") == 0)
		return;
	char *query = request->route->handle == cas_xorb_data ? strchr(request->target, '?') : NULL;
	if (query)
		*query = '\0'; /* signatures are not written down */
	request_journal_add(journal, request->route->name, request->method, request->target,
			    request_header(request, "Range"), status);
	if (query)
		*query = '?';
}

static mhd_result answer(struct request *request)
{
	struct reply reply;
	reply_init(&reply);
	struct fault_plan plan = make_plan(request);
	bool answered = make_reply(request, &plan, &reply);
	write_journal(request, answered ? reply.status : 0);
	mhd_result result = MHD_NO;
	if (answered && reply_send(request, &plan, &reply))
		result = MHD_YES;
	reply_done(&reply);
	fault_plan_done(&plan);
	request->handed_over = true;
	return result;
}

/* A body that nobody wants and that is too long to read for politeness' sake: answer now, and close. */
static bool answers_before_body(const struct request *request)
{
	const char *text = request_header(request, "Content-Length");
	uint64_t length = text ? strtoull(text, NULL, 10) : 0;
	uint64_t wanted = request->refusal.status ? 0 : request->route->body_max_bytes;
	bool asks_first = request->refusal.status && request_header(request, "Expect") != NULL;
	return asks_first || length > wanted + HEADERS_LEFT_BYTES;
}

static mhd_result on_access(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			    const char *version, const char *bytes, size_t *length, void **state)
{
	(void)context, (void)connection, (void)url, (void)version;
	struct request *request = *state;
	if (!request)
		return MHD_NO; /* no memory */
	if (request->handed_over)
		return MHD_YES;
	if (!request->route) {
		request_begin(request, method);
		if (!answers_before_body(request))
			return MHD_YES;
		request->body_too_long = true;
		return answer(request);
	}
	if (*length > 0) {
		request_take_body(request, bytes, *length);
		*length = 0;
		return MHD_YES;
	}
	return answer(request);
}

/* ---- the daemon ---- */

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	(void)context, (void)state;
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int on = 1;
	if (info)
		setsockopt(info->connect_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Starts the library on `listen_fd`, which is its own from then on. */
static struct MHD_Daemon *start_daemon(struct http_listener *listener, int listen_fd)
{
	unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;
	return MHD_start_daemon(flags, 0, NULL, NULL, on_access, listener, MHD_OPTION_LISTEN_SOCKET, listen_fd,
				MHD_OPTION_URI_LOG_CALLBACK, on_target, listener, MHD_OPTION_UNESCAPE_CALLBACK,
				keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, listener,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL, MHD_OPTION_CONNECTION_LIMIT,
				(unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
				MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)BUFFER_STEP_BYTES,
				MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK_BYTES, MHD_OPTION_END);
}

enum hfkv_status http_listener_start(struct server_shared *shared, int listen_fd,
				     struct http_listener **ret_listener, struct fault *fault)
{
	struct http_listener *listener = calloc(1, sizeof(*listener));
	if (!listener)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for the HTTP server");
	listener->shared = shared;
	listener->daemon = start_daemon(listener, listen_fd);
	if (!listener->daemon) {
		free(listener);
		return fault_set(fault, HFKV_IO, "the HTTP library cannot start: threads or memory may be short");
	}
	*ret_listener = listener;
	return HFKV_OK;
}

void http_listener_stop(struct http_listener *listener)
{
	if (!listener)
		return;
	MHD_stop_daemon(listener->daemon);
	free(listener);
}
