/* Signed data URLs: byte ranges of stored xorbs (Xet protocol, download-protocol). */
#include "backend/local_server/byte_ranges.h"
#include "backend/local_server/request_uri.h"
#include "backend/local_server/routes.h"

#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RANGES_MAX 256
#define PART_BYTES 200
#define BOUNDARY   "hfkv-xorb-part"

struct data_request {
	struct content_hash xorb;
	struct byte_range asked[RANGES_MAX];
	size_t asked_count;
};

/* Whether each asked range is one of those the URL was signed for. */
static bool all_signed(const struct data_request *data, const char *ranges)
{
	struct byte_range allowed[RANGES_MAX];
	size_t count = byte_ranges_parse_list(ranges, allowed, RANGES_MAX);
	for (size_t i = 0; i < data->asked_count; i++) {
		bool found = false;
		for (size_t j = 0; j < count && !found; j++)
			found = allowed[j].start == data->asked[i].start && allowed[j].end == data->asked[i].end;
		if (!found)
			return false;
	}
	return true;
}

/* Checks signature, end and ranges. False, and the reply filled, when the URL does not allow this. */
static bool check_url(struct request *request, struct data_request *data, struct reply *reply)
{
	CLEANUP(free_pointer) char *ranges = uri_query_value(request->query, "ranges");
	CLEANUP(free_pointer) char *expires = uri_query_value(request->query, "expires");
	CLEANUP(free_pointer) char *signature = uri_query_value(request->query, "signature");
	const char *range = request_header(request, "Range");
	int64_t expires_at_s = expires ? strtoll(expires, NULL, 10) : 0;
	if (!content_hash_parse(request->captures[0], &data->xorb) || !ranges || !signature ||
	    !server_keys_check_url(request->shared->keys, &data->xorb, ranges, expires_at_s, signature)) {
		reply_error(reply, 403, NULL, "the URL is not signed by this server");
		return false;
	}
	if (expires_at_s <= clock_wall_ms() / 1000) {
		reply_error(reply, 403, NULL, "the URL has expired: ask for the reconstruction again");
		return false;
	}
	if (range && strncmp(range, "bytes=", 6) == 0)
		data->asked_count = byte_ranges_parse_list(range + 6, data->asked, RANGES_MAX);
	if (data->asked_count == 0 || !all_signed(data, ranges)) {
		reply_error(reply, 403, NULL,
			    "the URL is signed for other byte ranges than the Range header asks");
		return false;
	}
	return true;
}

static void answer_single(const struct data_request *data, struct blob_reader *blob, struct reply *reply)
{
	struct byte_range range = data->asked[0];
	reply->file_fd = blob_reader_dup_fd(blob);
	reply->file_offset = range.start;
	reply->file_length = range.end - range.start;
	if (reply->file_fd < 0) {
		reply_error(reply, 503, NULL, "too many open files");
		return;
	}
	reply->status = 206;
	reply_header(reply, "Content-Type", "application/octet-stream");
	reply_header(reply, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range.start, range.end - 1,
		     blob_reader_bytes(blob));
}

/* ---- several ranges: multipart/byteranges, made while it is sent ---- */

struct part {
	char head[PART_BYTES];
	size_t head_bytes;
	struct byte_range range;
};

struct multipart {
	struct blob_reader *blob;
	size_t part_count;
	struct part *parts; /* one more than the ranges: the last has the end mark as its head and no range */
};

static void multipart_free(void *context)
{
	struct multipart *multipart = context;
	blob_reader_free(multipart->blob);
	free(multipart->parts);
	free(multipart);
}

static ssize_t multipart_read(void *context, uint64_t offset, char *bytes, size_t max)
{
	struct multipart *multipart = context;
	for (size_t i = 0; i < multipart->part_count; i++) {
		struct part *part = &multipart->parts[i];
		if (offset < part->head_bytes) {
			size_t length = part->head_bytes - offset < max ? part->head_bytes - offset : max;
			memcpy(bytes, part->head + offset, length);
			return (ssize_t)length;
		}
		offset -= part->head_bytes;
		uint64_t range_bytes = part->range.end - part->range.start;
		if (offset < range_bytes) {
			size_t length = range_bytes - offset < max ? (size_t)(range_bytes - offset) : max;
			enum hfkv_status status =
			    blob_reader_read(multipart->blob, part->range.start + offset, bytes, length, NULL);
			return status == HFKV_OK ? (ssize_t)length : -1;
		}
		offset -= range_bytes;
	}
	return -1;
}

static void fill_parts(struct multipart *multipart, const struct data_request *data, bool reversed)
{
	size_t count = data->asked_count;
	uint64_t total = blob_reader_bytes(multipart->blob);
	for (size_t i = 0; i < count; i++) {
		struct part *part = &multipart->parts[i];
		part->range = data->asked[reversed ? count - 1 - i : i];
		part->head_bytes =
		    (size_t)snprintf(part->head, PART_BYTES,
				     "%s--" BOUNDARY "\r\nContent-Type: application/octet-stream\r\n"
				     "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
				     i ? "\r\n" : "", part->range.start, part->range.end - 1, total);
	}
	struct part *last = &multipart->parts[count];
	last->head_bytes = (size_t)snprintf(last->head, PART_BYTES, "\r\n--" BOUNDARY "--\r\n");
	multipart->part_count = count + 1;
}

static void answer_multipart(const struct request *request, const struct data_request *data,
			     struct blob_reader **blob, struct reply *reply)
{
	struct multipart *multipart = calloc(1, sizeof(*multipart));
	struct part *parts = multipart ? calloc(data->asked_count + 1, sizeof(*parts)) : NULL;
	if (!parts) {
		free(multipart);
		reply_error(reply, 503, NULL, "no memory for the answer");
		return;
	}
	multipart->parts = parts;
	multipart->blob = TAKE_PTR(*blob);
	fill_parts(multipart, data, request->reverse_order);
	reply->stream =
	    (struct reply_stream){ .read = multipart_read, .free = multipart_free, .context = multipart };
	for (size_t i = 0; i < multipart->part_count; i++)
		reply->stream.length += parts[i].head_bytes + (parts[i].range.end - parts[i].range.start);
	reply->status = 206;
	reply_header(reply, "Content-Type", "multipart/byteranges; boundary=" BOUNDARY);
}

void cas_xorb_data(struct request *request, struct reply *reply)
{
	struct data_request data = { .asked_count = 0 };
	if (!check_url(request, &data, reply))
		return;
	struct fault fault = FAULT_NONE;
	CLEANUP(blob_reader_freep) struct blob_reader *blob = NULL;
	enum hfkv_status status = blob_reader_open(request->shared->blobs, &data.xorb, &blob, &fault);
	if (status != HFKV_OK) {
		reply_error(reply, status == HFKV_NOT_FOUND ? 404 : 500, NULL, "%s", fault_text(&fault, status));
		return;
	}
	for (size_t i = 0; i < data.asked_count; i++) {
		if (data.asked[i].end > blob_reader_bytes(blob)) {
			reply_error(reply, 500, NULL, "the stored xorb is shorter than the catalog says");
			return;
		}
	}
	if (data.asked_count == 1)
		answer_single(&data, blob, reply);
	else
		answer_multipart(request, &data, &blob, reply);
}
