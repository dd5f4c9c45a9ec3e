/* One call at a time: answers, deadlines, stalls, cuts, bodies, back-pressure, cancelling. */
#include "tests/unit/cmocka_prelude.h"

#include "backend/http/http_client.h"
#include "backend/http/http_loop.h"
#include "tests/unit/backend/http/loopback_server.h"

#include <string.h>
#include <sys/wait.h>

#define SLACK_MS 5000 /* what a loaded machine may add to a bound */

struct world {
	struct loopback_server *server;
	struct http_client *client;
	struct http_response response;
	struct byte_buf body;
	struct fault fault;
};

static void world_begin(struct world *world, loopback_handler handler, void *context)
{
	struct http_client_settings settings = { .stall_ms = 20000 };
	*world = (struct world){ .fault = FAULT_NONE, .body = BYTE_BUF_INIT(1 << 20) };
	world->server = loopback_server_start(handler, context);
	assert_int_equal(http_client_new(&settings, &world->client, NULL), HFKV_OK);
}

static void world_end(struct world *world)
{
	http_client_free(world->client);
	loopback_server_stop(world->server);
	http_response_done(&world->response);
	byte_buf_done(&world->body);
}

static struct http_request get(struct world *world, const char *path)
{
	return (struct http_request){ .label = "a test call",
				      .method = "GET",
				      .url = loopback_server_url(world->server, path),
				      .deadline = deadline_after_ms(20000) };
}

static enum hfkv_status perform(struct world *world, const struct http_request *request)
{
	http_response_done(&world->response);
	byte_buf_clear(&world->body);
	world->fault = FAULT_NONE;
	return http_perform(world->client, request, &world->response, &world->body, &world->fault);
}

/* ---- answers ---- */

static bool answer_plainly(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	return loopback_answer(exchange, "200 OK", "X-Request-Id: r1\r\nX-Xet-Hash:  abc \r\n", exchange->target);
}

static void test_answer_and_kept_connection(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, answer_plainly, NULL);
	for (int i = 0; i < 3; i++) {
		struct http_request request = get(&world, "/a%252Fb/./../c?x=1");
		assert_int_equal(perform(&world, &request), HFKV_OK);
		assert_int_equal(world.response.status, 200);
		assert_string_equal(byte_buf_text(&world.body), "/a%252Fb/./../c?x=1");
		assert_string_equal(http_response_field(&world.response, "x-request-id"), "r1");
		assert_string_equal(http_response_field(&world.response, "X-Xet-Hash"), "abc");
		assert_null(http_response_field(&world.response, "X-Xet"));
	}
	assert_int_equal(loopback_server_connections(world.server), 1);
	struct http_request head = get(&world, "/");
	head.method = "HEAD";
	assert_int_equal(perform(&world, &head), HFKV_OK);
	assert_int_equal(world.body.length, 0);
	world_end(&world);
}

static bool answer_with_long_body(struct loopback_exchange *exchange, void *context)
{
	char body[2000];
	memset(body, 'x', sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	return loopback_answer(exchange, context, "", body);
}

static void test_body_limit(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, answer_with_long_body, "200 OK");
	byte_buf_done(&world.body);
	world.body = BYTE_BUF_INIT(1000);
	struct http_request request = get(&world, "/");
	assert_int_equal(perform(&world, &request), HFKV_CORRUPT);
	world_end(&world);

	world_begin(&world, answer_with_long_body, "503 No");
	byte_buf_done(&world.body);
	world.body = BYTE_BUF_INIT(1000);
	request = get(&world, "/");
	assert_int_equal(perform(&world, &request), HFKV_OK); /* the status is the news */
	assert_int_equal(world.response.status, 503);
	world_end(&world);
}

static bool answer_with_endless_header(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	bool fine = loopback_send(exchange, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 200 && fine; i++) {
		char line[1100];
		memset(line, 'y', sizeof(line));
		memcpy(line, "X-Long: ", 8);
		memcpy(line + sizeof(line) - 3, "\r\n", 3);
		fine = loopback_send(exchange, line);
	}
	return fine && loopback_send(exchange, "Content-Length: 0\r\n\r\n");
}

static void test_header_limit(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, answer_with_endless_header, NULL);
	struct http_request request = get(&world, "/");
	assert_int_equal(perform(&world, &request), HFKV_CORRUPT);
	world_end(&world);
}

/* ---- time ---- */

static bool never_answer(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	return loopback_stall(exchange);
}

static bool stall_in_body(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	return loopback_send(exchange, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx") && loopback_stall(exchange);
}

static void test_deadline(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, never_answer, NULL);
	struct http_request request = get(&world, "/secret-path?signature=topsecret");
	int64_t before_ms = clock_now_ms();
	request.deadline = deadline_after_ms(200);
	assert_int_equal(perform(&world, &request), HFKV_TIMEOUT);
	int64_t took_ms = clock_now_ms() - before_ms;
	assert_true(took_ms >= 200 && took_ms < 200 + SLACK_MS);
	assert_non_null(strstr(world.fault.text, "a test call"));
	assert_null(strstr(world.fault.text, "secret"));
	world_end(&world);
}

static void test_stall_limit(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, stall_in_body, NULL);
	struct http_request request = get(&world, "/");
	request.deadline = DEADLINE_NONE;
	request.stall_ms = 200;
	int64_t before_ms = clock_now_ms();
	assert_int_equal(perform(&world, &request), HFKV_TIMEOUT);
	int64_t took_ms = clock_now_ms() - before_ms;
	assert_true(took_ms >= 200 && took_ms < 200 + SLACK_MS);
	assert_non_null(strstr(world.fault.text, "stall"));
	world_end(&world);
}

static bool cut_body(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	loopback_send(exchange, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxxxxx");
	return false;
}

static bool drop(struct loopback_exchange *exchange, void *context)
{
	(void)exchange;
	(void)context;
	return false;
}

static void test_broken_answers(void **state)
{
	(void)state;
	loopback_handler handlers[] = { cut_body, drop };
	for (size_t i = 0; i < ARRAY_LENGTH(handlers); i++) {
		struct world world;
		world_begin(&world, handlers[i], NULL);
		struct http_request request = get(&world, "/");
		assert_int_equal(perform(&world, &request), HFKV_UNAVAILABLE);
		world_end(&world);
	}
}

static void test_nobody_listens(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, drop, NULL);
	char url[64];
	snprintf(url, sizeof(url), "%s", loopback_server_url(world.server, "/"));
	loopback_server_stop(world.server);
	struct http_request request = get(&world, "/");
	request.url = url;
	assert_int_equal(perform(&world, &request), HFKV_UNAVAILABLE);
	http_client_free(world.client);
}

static void test_calls_wait_for_their_turn(void **state)
{
	(void)state;
	struct world world;
	struct http_client_settings settings = { .max_calls_per_origin = 2 };
	world_begin(&world, never_answer, NULL);
	http_client_free(world.client);
	assert_int_equal(http_client_new(&settings, &world.client, NULL), HFKV_OK);
	struct http_stream *held[2];
	struct http_request request = get(&world, "/");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(http_stream_start(world.client, &request, &held[i], NULL), HFKV_OK);
	request.deadline = deadline_after_ms(150);
	assert_int_equal(perform(&world, &request), HFKV_TIMEOUT);
	assert_non_null(strstr(world.fault.text, "no free connection"));
	for (size_t i = 0; i < 2; i++)
		http_stream_close(held[i]);
	world_end(&world);
}

/* ---- bodies ---- */

static bool echo(struct loopback_exchange *exchange, void *context)
{
	char fields[128], expect[64] = "none", type[64] = "none";
	unsigned *drops = context;
	if (drops && exchange->number == *drops)
		return false;
	loopback_field(exchange, "Expect", expect, sizeof(expect));
	loopback_field(exchange, "Content-Type", type, sizeof(type));
	snprintf(fields, sizeof(fields), "X-Expect: %s\r\nX-Type: %s\r\n", expect, type);
	char line[256];
	snprintf(line, sizeof(line), "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n", fields, exchange->body_length);
	return loopback_send(exchange, line) && loopback_send_bytes(exchange, exchange->body, exchange->body_length);
}

static void test_segments(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, echo, NULL);
	struct iovec segments[] = { { "hello", 5 }, { "", 0 }, { ", ", 2 }, { "world", 5 } };
	struct http_header type = { "Content-Type", "application/x-ndjson" };
	struct http_request request = get(&world, "/");
	request.method = "POST";
	request.body = (struct http_body){ .length_bytes = 12, .segments = segments, .segment_count = 4 };
	assert_int_equal(perform(&world, &request), HFKV_OK);
	assert_string_equal(byte_buf_text(&world.body), "hello, world");
	assert_string_equal(http_response_field(&world.response, "X-Expect"), "none");
	assert_string_equal(http_response_field(&world.response, "X-Type"), "none");
	request.headers = &type;
	request.header_count = 1;
	assert_int_equal(perform(&world, &request), HFKV_OK);
	assert_string_equal(http_response_field(&world.response, "X-Type"), "application/x-ndjson");
	request.body = (struct http_body){ 0 };
	assert_int_equal(perform(&world, &request), HFKV_OK);
	assert_int_equal(world.body.length, 0);
	request.method = "PUT";
	request.body = (struct http_body){ .length_bytes = 12, .segments = segments, .segment_count = 4 };
	assert_int_equal(perform(&world, &request), HFKV_OK);
	assert_string_equal(byte_buf_text(&world.body), "hello, world");
	world_end(&world);
}

/* Byte k of a generated body. */
static uint8_t pattern(uint64_t k)
{
	return (uint8_t)(k * 31 + (k >> 9));
}

static size_t generate(void *context, uint64_t offset, void *buffer, size_t room)
{
	const uint64_t *fail_at = context;
	if (fail_at && offset >= *fail_at)
		return 0;
	uint8_t *to = buffer;
	room = room > 1000 ? 1000 : room; /* shorter than asked is fine */
	for (size_t i = 0; i < room; i++)
		to[i] = pattern(offset + i);
	return room;
}

static void expect_pattern(const struct byte_buf *body, size_t length)
{
	assert_int_equal(body->length, length);
	for (size_t i = 0; i < length; i++)
		assert_int_equal((uint8_t)body->data[i], pattern(i));
}

/* The second request's connection dies without an answer: libcurl sends it anew, from byte 0. */
static void test_pulled_body_is_sent_anew(void **state)
{
	(void)state;
	struct world world;
	unsigned drops = 1;
	world_begin(&world, echo, &drops);
	struct http_request request = get(&world, "/");
	request.method = "POST";
	request.body = (struct http_body){ .length_bytes = 600000, .read = generate };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perform(&world, &request), HFKV_OK);
		expect_pattern(&world.body, 600000);
	}
	assert_int_equal(loopback_server_requests(world.server), 3);
	uint64_t fail_at = 5000;
	request.body.read_context = &fail_at;
	assert_int_equal(perform(&world, &request), HFKV_IO);
	world_end(&world);
}

/* ---- streams ---- */

#define LONG_BODY_BYTES (24u << 20)

static bool send_long_body(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	enum { PIECE = 1 << 16 };
	uint8_t piece[PIECE];
	char header[96];
	snprintf(header, sizeof(header), "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", LONG_BODY_BYTES);
	bool fine = loopback_send(exchange, header);
	for (uint64_t at = 0; at < LONG_BODY_BYTES && fine; at += PIECE) {
		for (size_t i = 0; i < PIECE; i++)
			piece[i] = pattern(at + i);
		fine = loopback_send_bytes(exchange, piece, PIECE);
	}
	return fine;
}

static size_t blocks_in_use(struct http_client *client)
{
	SCOPED_LOCK(&client->blocks.mutex);
	return client->blocks.n_used;
}

static void test_back_pressure(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, send_long_body, NULL);
	struct http_request request = get(&world, "/");
	request.stall_ms = 300; /* a reader that takes its time is no stall of the server */
	CLEANUP(http_stream_closep) struct http_stream *stream = NULL;
	assert_int_equal(http_stream_start(world.client, &request, &stream, NULL), HFKV_OK);
	uint64_t total = 0;
	bool paused_once = false;
	for (;;) {
		const uint8_t *bytes;
		size_t length;
		if (total == 0 || (total > LONG_BODY_BYTES / 2 && !paused_once)) {
			struct http_response const *response;
			assert_int_equal(http_stream_response(stream, &response, NULL), HFKV_OK);
			paused_once = total > 0;
			assert_int_equal(http_client_pause(world.client, 600, NULL, DEADLINE_NONE), HFKV_OK);
			assert_true(blocks_in_use(world.client) <= 5);
		}
		assert_int_equal(http_stream_next(stream, &bytes, &length, &world.fault), HFKV_OK);
		if (length == 0)
			break;
		assert_true(length <= HTTP_BLOCK_BYTES);
		assert_true(blocks_in_use(world.client) <= 5);
		for (size_t i = 0; i < length; i++)
			if (bytes[i] != pattern(total + i))
				fail_msg("wrong byte at %lu", (unsigned long)(total + i));
		total += length;
	}
	assert_int_equal(total, LONG_BODY_BYTES);
	http_stream_close(TAKE_PTR(stream));
	assert_int_equal(blocks_in_use(world.client), 0);
	world_end(&world);
}

static void test_close_midway(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, send_long_body, NULL);
	for (int i = 0; i < 4; i++) {
		struct http_request request = get(&world, "/");
		struct http_stream *stream;
		const uint8_t *bytes;
		size_t length;
		assert_int_equal(http_stream_start(world.client, &request, &stream, NULL), HFKV_OK);
		if (i > 0)
			assert_int_equal(http_stream_next(stream, &bytes, &length, NULL), HFKV_OK);
		http_stream_close(stream);
	}
	assert_int_equal(blocks_in_use(world.client), 0);
	world_end(&world);
}

static bool send_lines(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	const char *pieces[] = { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "4\r\none\n\r\n", "3\r\ntw",
				 "o\r\n", "5\r\n\r\n\nla\r\n", "2\r\nst\r\n", "0\r\n\r\n" };
	for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++)
		if (!loopback_send(exchange, pieces[i]))
			return false;
	return true;
}

static void test_lines(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, send_lines, NULL);
	struct http_request request = get(&world, "/");
	struct http_stream *stream;
	assert_int_equal(http_stream_start(world.client, &request, &stream, NULL), HFKV_OK);
	const char *expected[] = { "one", "two", "", "last" };
	bool more;
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		assert_int_equal(http_stream_read_line(stream, &world.body, &more, NULL), HFKV_OK);
		assert_true(more);
		assert_string_equal(byte_buf_text(&world.body), expected[i]);
	}
	assert_int_equal(http_stream_read_line(stream, &world.body, &more, NULL), HFKV_OK);
	assert_false(more);
	http_stream_close(stream);

	assert_int_equal(http_stream_start(world.client, &request, &stream, NULL), HFKV_OK);
	struct byte_buf small = BYTE_BUF_INIT(2);
	assert_int_equal(http_stream_read_line(stream, &small, &more, NULL), HFKV_CORRUPT);
	byte_buf_done(&small);
	http_stream_close(stream);
	world_end(&world);
}

/* ---- giving up ---- */

struct giver_up {
	struct http_client *client;
	struct http_cancel *cancel; /* NULL: abort */
	struct loopback_server *server;
};

/* Waits until the request has reached the server, then gives it up. */
static void *give_up(void *context)
{
	struct giver_up *giver = context;
	while (loopback_server_requests(giver->server) == 0)
		sched_yield();
	if (giver->cancel)
		http_client_cancel(giver->client, giver->cancel);
	else
		http_client_abort(giver->client);
	return NULL;
}

static void test_cancel_and_abort(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		struct world world;
		world_begin(&world, never_answer, NULL);
		struct http_cancel cancel = { 0 };
		struct giver_up giver = { world.client, round == 0 ? &cancel : NULL, world.server };
		struct http_request request = get(&world, "/");
		request.cancel = &cancel;
		request.deadline = DEADLINE_NONE;
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, give_up, &giver), 0);
		assert_int_equal(perform(&world, &request), HFKV_CANCELLED);
		pthread_join(thread, NULL);
		assert_int_equal(perform(&world, &request), HFKV_CANCELLED); /* later ones too */
		assert_int_equal(http_client_pause(world.client, 60000, &cancel, DEADLINE_NONE), HFKV_CANCELLED);
		world_end(&world);
	}
}

static void test_forked_child_is_refused(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, answer_plainly, NULL);
	struct http_request request = get(&world, "/");
	assert_int_equal(perform(&world, &request), HFKV_OK);
	pid_t child = fork();
	if (child == 0) {
		enum hfkv_status status = perform(&world, &request);
		http_client_free(world.client);
		_exit(status == HFKV_BUG ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(perform(&world, &request), HFKV_OK);
	world_end(&world);
}

/* ---- many at once ---- */

#define CALLERS          16
#define CALLS_PER_CALLER 40

static void *call_many(void *context)
{
	struct http_client *client = ((struct world *)context)->client;
	uintptr_t wrong = 0;
	for (int i = 0; i < CALLS_PER_CALLER; i++) {
		struct world own = { .client = client, .server = ((struct world *)context)->server,
				     .body = BYTE_BUF_INIT(1000) };
		char path[64];
		snprintf(path, sizeof(path), "/%lx/%d", (unsigned long)pthread_self(), i);
		struct http_request request = get(&own, path);
		if (perform(&own, &request) != HFKV_OK || strcmp(byte_buf_text(&own.body), path) != 0)
			wrong++;
		http_response_done(&own.response);
		byte_buf_done(&own.body);
	}
	return (void *)wrong;
}

static void test_many_callers(void **state)
{
	(void)state;
	struct world world;
	world_begin(&world, answer_plainly, NULL);
	pthread_t threads[CALLERS];
	for (size_t i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_many, &world), 0);
	for (size_t i = 0; i < CALLERS; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(loopback_server_requests(world.server), CALLERS * CALLS_PER_CALLER);
	assert_true(loopback_server_connections(world.server) <= CALLERS);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer_and_kept_connection), cmocka_unit_test(test_body_limit),
		cmocka_unit_test(test_header_limit), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_stall_limit), cmocka_unit_test(test_broken_answers),
		cmocka_unit_test(test_nobody_listens), cmocka_unit_test(test_calls_wait_for_their_turn),
		cmocka_unit_test(test_segments), cmocka_unit_test(test_pulled_body_is_sent_anew),
		cmocka_unit_test(test_back_pressure), cmocka_unit_test(test_close_midway),
		cmocka_unit_test(test_lines), cmocka_unit_test(test_cancel_and_abort),
		cmocka_unit_test(test_forked_child_is_refused), cmocka_unit_test(test_many_callers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
