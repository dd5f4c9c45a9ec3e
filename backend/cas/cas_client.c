#include "backend/cas/cas_client.h"

#include "backend/cas/cas_exchange.h"
#include "backend/http/http_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define DOWNLOADS_PER_OBJECT 4
#define EXTRA_DOWNLOADS      12
#define DOWNLOAD_IDLE_MS     2000

/* A v7 UUID: time, then random bits. Only a name for this process in the server's logs. */
static void make_session_id(char text[CAS_SESSION_ID_BYTES])
{
	uint8_t random[10] = { 0 };
	uint64_t now_ms = (uint64_t)clock_wall_ms();
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random[0] = (uint8_t)getpid();
	snprintf(text, CAS_SESSION_ID_BYTES, "%08" PRIx32 "-%04x-7%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 (uint32_t)(now_ms >> 16), (unsigned)(now_ms & 0xffff), random[0] & 0xf, random[1],
		 (random[2] & 0x3f) | 0x80, random[3], random[4], random[5], random[6], random[7], random[8],
		 random[9]);
}

enum hfkv_status cas_client_new(const struct cas_client_settings *settings, struct cas_client **ret_client,
				struct fault *fault)
{
	CLEANUP(cas_client_freep) struct cas_client *client = calloc(1, sizeof(*client));
	if (!client)
		return fault_set(fault, HFKV_NO_MEMORY, "CAS client: no memory");
	size_t extra = settings->extra_downloads ? settings->extra_downloads : EXTRA_DOWNLOADS;
	const struct work_pool_settings pool = {
		.name = "xetread",
		.max_threads = extra,
		.max_queued = extra,
		.idle_ms = DOWNLOAD_IDLE_MS,
	};
	client->http = settings->http;
	client->downloads_per_object =
	    settings->downloads_per_object ? settings->downloads_per_object : DOWNLOADS_PER_OBJECT;
	make_session_id(client->session_id);
	enum hfkv_status status = work_pool_new(&pool, &client->downloads);
	if (status != HFKV_OK)
		return fault_set(fault, status, "CAS client: %s", hfkv_status_name(status));
	status = cas_token_new(settings->fetch_access, settings->fetch_context, &client->token, fault);
	if (status == HFKV_OK)
		*ret_client = TAKE_PTR(client);
	return status;
}

void cas_client_free(struct cas_client *client)
{
	if (!client)
		return;
	work_pool_free(client->downloads);
	cas_token_free(client->token);
	free(client);
}

/* ---- reconstruction ---- */

struct plan_reading {
	enum reconstruction_version version;
	struct reconstruction *plan;
};

static enum hfkv_status read_plan(void *context, struct http_stream *stream, struct fault *fault)
{
	struct plan_reading *reading = context;
	CLEANUP(byte_buf_done) struct byte_buf body = BYTE_BUF_INIT(RECONSTRUCTION_MAX_JSON_BYTES);
	enum hfkv_status status = http_stream_read_all(stream, &body, fault);
	if (status != HFKV_OK)
		return status;
	return reconstruction_parse(reading->version, byte_buf_text(&body), body.length, &reading->plan, fault);
}

static enum hfkv_status ask_plan(struct cas_client *client, enum reconstruction_version version,
				 const struct cas_file_range *range, const struct cas_call *call,
				 struct reconstruction **ret_plan, struct fault *fault)
{
	struct plan_reading reading = { .version = version };
	struct cas_request request = { .scope = CAS_SCOPE_READ, .method = "GET" };
	char text[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(range->file, text);
	snprintf(request.path, sizeof(request.path), "/v%d/reconstructions/%s", version, text);
	snprintf(request.label, sizeof(request.label), "reconstruction of file %.16s", text);
	snprintf(request.range, sizeof(request.range), "bytes=%" PRIu64 "-%" PRIu64, range->first, range->last);
	enum hfkv_status status = cas_exchange_run(client, &request, call, read_plan, &reading, fault);
	if (status == HFKV_OK)
		*ret_plan = reading.plan;
	return status;
}

enum hfkv_status cas_get_reconstruction(struct cas_client *client, const struct cas_file_range *range,
					const struct cas_call *call, struct reconstruction **ret_plan,
					struct fault *fault)
{
	struct fault own = FAULT_NONE;
	int known = atomic_load(&client->reconstruction_version);
	enum reconstruction_version version = known == RECONSTRUCTION_V1 ? RECONSTRUCTION_V1 : RECONSTRUCTION_V2;
	enum hfkv_status status = ask_plan(client, version, range, call, ret_plan, &own);
	/* 404 may mean that there is no such endpoint, or no such file: only v1 working proves the former. */
	if (known == 0 && cas_fault_is_missing_endpoint(status, &own)) {
		version = RECONSTRUCTION_V1;
		own = FAULT_NONE;
		status = ask_plan(client, version, range, call, ret_plan, &own);
	}
	if (status == HFKV_OK)
		atomic_store(&client->reconstruction_version, version);
	else if (fault)
		*fault = own;
	return status;
}

/* ---- ranges of xorbs ---- */

/* Whether the answer is exactly the asked range, as far as its header tells. */
static enum hfkv_status check_range(const struct http_response *response, const struct reconstruction_fetch *fetch,
				    const char *label, struct fault *fault)
{
	uint64_t first, last, total;
	const char *length = http_response_field(response, "Content-Length");
	uint64_t wanted = fetch->last_byte - fetch->first_byte + 1;
	if (response->status != 206 &&
	    !(response->status == 200 && length && strtoull(length, NULL, 10) == wanted))
		return fault_set(fault, HFKV_UNAVAILABLE,
				 "%s: the server answered %d instead of the range asked for", label,
				 response->status);
	if (http_response_field(response, "Content-Range") &&
	    (!http_response_content_range(response, &first, &last, &total) || first != fetch->first_byte ||
	     last != fetch->last_byte))
		return fault_set(fault, HFKV_UNAVAILABLE, "%s: the server answered another range than asked for",
				 label);
	return HFKV_OK;
}

enum hfkv_status cas_open_fetch(struct cas_client *client, const struct reconstruction_fetch *fetch,
				const struct cas_call *call, struct http_stream **ret_stream, struct fault *fault)
{
	CLEANUP(http_stream_closep) struct http_stream *stream = NULL;
	char text[CONTENT_HASH_TEXT_BYTES], range[CAS_RANGE_BYTES], label[CAS_LABEL_BYTES];
	const struct http_response *response;
	content_hash_format(&fetch->xorb, text);
	snprintf(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, fetch->first_byte, fetch->last_byte);
	snprintf(label, sizeof(label), "chunks %u to %u of xorb %.16s", fetch->chunk_start, fetch->chunk_end,
		 text);
	const struct http_header headers[] = { { "X-Xet-Session-Id", client->session_id }, { "Range", range } };
	const struct http_request request = {
		.label = label,
		.method = "GET",
		.url = fetch->url,
		.headers = headers,
		.header_count = 2,
		.deadline = call->deadline,
		.cancel = call->cancel,
	};
	enum hfkv_status status = http_stream_start(client->http, &request, &stream, fault);
	if (status == HFKV_OK)
		status = http_stream_response(stream, &response, fault);
	if (status == HFKV_OK)
		status = http_response_check(response, NULL, label, fault);
	if (status == HFKV_OK)
		status = check_range(response, fetch, label, fault);
	if (status == HFKV_OK)
		*ret_stream = TAKE_PTR(stream);
	return status;
}
