#include "backend/local_server/request.h"

#include "backend/local_server/request_access.h"
#include "backend/local_server/request_uri.h"
#include "backend/local_server/routes.h"
#include "backend/local_server/xorb_intake.h"

#include <microhttpd.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* All request bodies together, in memory: beyond it callers are told to come back. */
#define BODIES_MAX_BYTES (512u << 20)

struct request *request_new(struct server_shared *shared, struct MHD_Connection *connection, const char *target)
{
	struct request *request = calloc(1, sizeof(*request));
	char *copy = request ? strdup(target) : NULL;
	if (!copy) {
		free(request);
		return NULL;
	}
	request->shared = shared;
	request->connection = connection;
	request->target = copy;
	request->path_length = strcspn(copy, "?");
	request->query = copy[request->path_length] == '?' ? copy + request->path_length + 1 : NULL;
	request->apply_first = -1;
	reply_init(&request->refusal);
	request->refusal.status = 0;
	snprintf(request->id, sizeof(request->id), "%016llx",
		 (unsigned long long)(shared->request_id_base + atomic_fetch_add(&shared->next_request, 1)));
	return request;
}

void request_free(struct request *request)
{
	if (!request)
		return;
	atomic_fetch_sub(&request->shared->body_bytes, request->body.length);
	for (size_t i = 0; i < REQUEST_CAPTURES; i++)
		free(request->captures[i]);
	byte_buf_done(&request->body);
	reply_done(&request->refusal);
	xorb_intake_free(request->xorb_intake);
	free(request->target);
	free(request);
}

const char *request_header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void request_origin(const struct request *request, char ret_origin[REQUEST_ORIGIN_BYTES])
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:[]_-";
	const char *host = request_header(request, "Host");
	/* What a client sends goes into URLs: only what can be an authority does. */
	if (!host || !host[0] || strlen(host) > 255 || strspn(host, allowed) != strlen(host))
		host = request->shared->authority;
	snprintf(ret_origin, REQUEST_ORIGIN_BYTES, "http://%s", host);
}

const char *request_bearer(const struct request *request)
{
	const char *value = request_header(request, "Authorization");
	if (!value || strncasecmp(value, "Bearer ", 7) != 0)
		return NULL;
	value += 7;
	return value + strspn(value, " ");
}

void request_begin(struct request *request, const char *method)
{
	request->method = method;
	request->route = route_find(request, method, &request->refusal);
	if (request->refusal.status == 0)
		request_check_access(request, &request->refusal);
	request->body = BYTE_BUF_INIT(request->route->body_max_bytes);
}

static void keep_body(struct request *request, const char *bytes, size_t length)
{
	uint64_t held = atomic_fetch_add(&request->shared->body_bytes, length) + length;
	if (held <= BODIES_MAX_BYTES && byte_buf_append(&request->body, bytes, length))
		return;
	atomic_fetch_sub(&request->shared->body_bytes, length);
	if (held > BODIES_MAX_BYTES || request->body_seen_bytes <= request->route->body_max_bytes)
		reply_error(&request->refusal, 503, NULL, "too many large requests at once: try again");
	else
		request->body_too_long = true;
}

void request_take_body(struct request *request, const char *bytes, size_t length)
{
	request->body_seen_bytes += length;
	if (request->refusal.status != 0 || request->body_too_long)
		return;
	if (request->route->take_body)
		request->route->take_body(request, bytes, length);
	else if (request->route->body_max_bytes > 0)
		keep_body(request, bytes, length);
}

void request_answer(struct request *request, struct reply *reply)
{
	if (request->refusal.status != 0) {
		reply_done(reply);
		*reply = request->refusal;
		reply_init(&request->refusal);
		return;
	}
	if (request->body_too_long) {
		reply_error(reply, 400, NULL, "the body is larger than the %zu bytes this call takes",
			    request->route->body_max_bytes);
		return;
	}
	request->route->handle(request, reply);
}
