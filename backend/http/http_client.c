#include "backend/http/http_client.h"

#include "backend/http/http_loop.h"

#include <string.h>

#define DEFAULT_CONNECT_TIMEOUT_MS 10000
#define DEFAULT_STALL_MS           30000
#define DEFAULT_CALLS_PER_ORIGIN   64
#define DEFAULT_CALLS              128
#define DEFAULT_STREAM_BLOCKS      4
#define DEFAULT_TOTAL_BLOCKS       64

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

/* Never undone: in a library the host may use libcurl too. */
static void init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

#define OR_DEFAULT(value, fallback) ((value) > 0 ? (value) : (fallback))

static struct http_client_settings with_defaults(const struct http_client_settings *given)
{
	struct http_client_settings settings = *given;
	settings.connect_timeout_ms = OR_DEFAULT(given->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS);
	settings.stall_ms = OR_DEFAULT(given->stall_ms, DEFAULT_STALL_MS);
	settings.max_calls_per_origin = OR_DEFAULT(given->max_calls_per_origin, DEFAULT_CALLS_PER_ORIGIN);
	settings.max_calls = OR_DEFAULT(given->max_calls, DEFAULT_CALLS);
	settings.stream_blocks = OR_DEFAULT(given->stream_blocks, DEFAULT_STREAM_BLOCKS);
	settings.total_blocks = OR_DEFAULT(given->total_blocks, DEFAULT_TOTAL_BLOCKS);
	return settings;
}

enum hfkv_status http_client_new(const struct http_client_settings *settings, struct http_client **ret_client,
				 struct fault *fault)
{
	pthread_once(&curl_once, init_curl);
	if (settings->ca_file && access(settings->ca_file, R_OK) != 0)
		return fault_set(fault, HFKV_INVALID, "certificate file '%s': %s", settings->ca_file,
				 strerrordesc_np(errno));
	struct http_client *client = calloc(1, sizeof(*client));
	if (!client)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for an HTTP client");
	pthread_mutex_init(&client->mutex, NULL);
	condition_init(&client->gave_up);
	client->settings = with_defaults(settings);
	http_block_pool_init(&client->blocks, client->settings.total_blocks);
	client->epoll_fd = client->wake_fd = -1;
	client->ca_file = settings->ca_file ? strdup(settings->ca_file) : NULL;
	client->user_agent = strdup(settings->user_agent ? settings->user_agent : "hfkv/" HFKV_VERSION);
	client->settings.ca_file = client->ca_file;
	client->settings.user_agent = client->user_agent;
	if ((settings->ca_file && !client->ca_file) || !client->user_agent) {
		http_client_free(client);
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for an HTTP client");
	}
	*ret_client = client;
	return HFKV_OK;
}

void http_client_free(struct http_client *client)
{
	if (!client || !http_loop_stop(client))
		return;
	http_block_pool_done(&client->blocks);
	pthread_cond_destroy(&client->gave_up);
	pthread_mutex_destroy(&client->mutex);
	free(client->ca_file);
	free(client->user_agent);
	free(client);
}

static void tell_everybody(struct http_client *client, bool abort)
{
	bool started;
	{
		SCOPED_LOCK(&client->mutex);
		client->aborted = client->aborted || abort;
		started = client->started;
		pthread_cond_broadcast(&client->gave_up);
	}
	if (started)
		http_loop_attend(client);
}

void http_client_abort(struct http_client *client)
{
	tell_everybody(client, true);
}

void http_client_cancel(struct http_client *client, struct http_cancel *cancel)
{
	atomic_store(&cancel->fired, true);
	tell_everybody(client, false);
}

enum hfkv_status http_client_pause(struct http_client *client, int64_t ms, const struct http_cancel *cancel,
				   struct deadline deadline)
{
	struct deadline end = deadline_after_ms(ms);
	struct deadline until = deadline_earlier(end, deadline);
	SCOPED_LOCK(&client->mutex);
	while (!client->aborted && !(cancel && atomic_load(&cancel->fired)) && !deadline_passed(until))
		deadline_wait(&client->gave_up, &client->mutex, until);
	if (client->aborted || (cancel && atomic_load(&cancel->fired)))
		return HFKV_CANCELLED;
	return deadline_passed(end) ? HFKV_OK : HFKV_TIMEOUT;
}

/* ---- whole calls ---- */

static enum hfkv_status drop_all(struct http_stream *stream, struct fault *fault)
{
	const uint8_t *bytes;
	size_t length;
	enum hfkv_status status;
	do
		status = http_stream_next(stream, &bytes, &length, fault);
	while (status == HFKV_OK && length > 0);
	return status;
}

/* An error page that is too long or cut is kept as far as it came: its status is the news. */
static enum hfkv_status read_body(struct http_stream *stream, int http_status, struct byte_buf *body,
				  struct fault *fault)
{
	struct fault own = FAULT_NONE;
	enum hfkv_status status = body ? http_stream_read_all(stream, body, &own) : drop_all(stream, &own);
	bool is_error = http_status < 200 || http_status > 299;
	if (status == HFKV_OK || (is_error && (status == HFKV_CORRUPT || status == HFKV_UNAVAILABLE)))
		return HFKV_OK;
	if (fault)
		*fault = own;
	return status;
}

enum hfkv_status http_perform(struct http_client *client, const struct http_request *request,
			      struct http_response *ret_response, struct byte_buf *body, struct fault *fault)
{
	*ret_response = HTTP_RESPONSE_INIT;
	CLEANUP(http_stream_closep) struct http_stream *stream = NULL;
	const struct http_response *response;
	enum hfkv_status status = http_stream_start(client, request, &stream, fault);
	if (status == HFKV_OK)
		status = http_stream_response(stream, &response, fault);
	if (status == HFKV_OK)
		status = read_body(stream, response->status, body, fault);
	if (status == HFKV_OK && !http_response_copy(ret_response, response))
		status = fault_set(fault, HFKV_NO_MEMORY, "%s: no memory", request->label);
	return status;
}
