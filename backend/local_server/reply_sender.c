#include "backend/local_server/reply_sender.h"

#include <microhttpd.h>

#include <poll.h>
#include <string.h>

#define STREAM_BLOCK_BYTES (128u << 10)

/* A body that the library asks for piece by piece. Owns the reply's content. */
struct sent_body {
	struct reply reply;
	int64_t stall_at, cut_at, flip_at; /* body offsets, -1: never */
	int stop_fd, connection_fd;
};

/* Silence: until the server stops or the client goes away. */
static void stall(const struct sent_body *sent)
{
	struct pollfd ends[2] = { { .fd = sent->stop_fd, .events = POLLIN },
				  { .fd = sent->connection_fd, .events = POLLRDHUP } };
	int ready = poll(ends, ARRAY_LENGTH(ends), -1);
	(void)ready;
}

/* Lowers `max` so that the piece from `offset` ends where something is to happen. */
static size_t up_to(int64_t mark, uint64_t offset, size_t max)
{
	return mark >= 0 && (uint64_t)mark - offset < max ? (size_t)((uint64_t)mark - offset) : max;
}

static ssize_t read_body(void *context, uint64_t offset, char *bytes, size_t max)
{
	struct sent_body *sent = context;
	if (sent->cut_at >= 0 && offset >= (uint64_t)sent->cut_at)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (sent->stall_at >= 0 && offset >= (uint64_t)sent->stall_at) {
		stall(sent);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	max = up_to(sent->cut_at, offset, up_to(sent->stall_at, offset, max));
	ssize_t got = reply_body_read(&sent->reply, offset, bytes, max);
	if (got <= 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (sent->flip_at >= 0 && (uint64_t)sent->flip_at >= offset &&
	    (uint64_t)sent->flip_at < offset + (uint64_t)got)
		bytes[(uint64_t)sent->flip_at - offset] ^= 0x01;
	return got;
}

static void free_body(void *context)
{
	struct sent_body *sent = context;
	reply_done(&sent->reply);
	free(sent);
}

static struct MHD_Response *response_from_callback(struct request *request, const struct fault_plan *plan,
						   struct reply *reply)
{
	struct sent_body *sent = malloc(sizeof(*sent));
	if (!sent)
		return NULL;
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	*sent = (struct sent_body){ .stall_at = plan->stall_after_bytes,
				    .cut_at = plan->cut_after_bytes,
				    .flip_at = plan->flip_byte_at,
				    .stop_fd = request->shared->stop_fd,
				    .connection_fd = info ? info->connect_fd : -1 };
	reply_init(&sent->reply);
	sent->reply.body = reply->body;
	sent->reply.file_fd = TAKE_FD(reply->file_fd);
	sent->reply.file_offset = reply->file_offset;
	sent->reply.file_length = reply->file_length;
	sent->reply.stream = reply->stream;
	reply->body = BYTE_BUF_INIT(0);
	reply->stream = (struct reply_stream){ 0 };
	struct MHD_Response *response = MHD_create_response_from_callback(
	    reply_body_length(&sent->reply), STREAM_BLOCK_BYTES, read_body, sent, free_body);
	if (!response)
		free_body(sent);
	return response;
}

static struct MHD_Response *response_from_memory(struct reply *reply)
{
	size_t length = reply->body.length;
	char *bytes = byte_buf_detach(&reply->body);
	struct MHD_Response *response =
	    bytes ? MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE) : NULL;
	if (!response)
		free(bytes);
	return response;
}

static struct MHD_Response *make_response(struct request *request, const struct fault_plan *plan,
					  struct reply *reply)
{
	bool disturbed = plan->stall_after_bytes >= 0 || plan->cut_after_bytes >= 0 || plan->flip_byte_at >= 0;
	if (disturbed || reply->stream.read)
		return response_from_callback(request, plan, reply);
	if (reply->file_fd < 0)
		return response_from_memory(reply);
	struct MHD_Response *response =
	    MHD_create_response_from_fd_at_offset64(reply->file_length, reply->file_fd, reply->file_offset);
	if (response)
		reply->file_fd = -1; /* the library closes it */
	return response;
}

bool reply_send(struct request *request, const struct fault_plan *plan, struct reply *reply)
{
	struct MHD_Response *response = make_response(request, plan, reply);
	if (!response)
		return false;
	for (size_t i = 0; i < reply->header_count; i++)
		MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
	MHD_add_response_header(response, "X-Request-Id", request->id);
	bool queued = MHD_queue_response(request->connection, reply->status, response) == MHD_YES;
	MHD_destroy_response(response);
	return queued;
}
