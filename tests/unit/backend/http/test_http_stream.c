/* Bodies in both directions: segments and pulled bodies, back-pressure, lines. */
#include "tests/unit/backend/http/http_world.h"

#include "backend/http/http_loop.h"

#include <string.h>

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
	snprintf(line, sizeof(line), "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n", fields,
		 exchange->body_length);
	return loopback_send(exchange, line) &&
	       loopback_send_bytes(exchange, exchange->body, exchange->body_length);
}

static void test_segments(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, echo, NULL);
	struct iovec segments[] = { { "hello", 5 }, { "", 0 }, { ", ", 2 }, { "world", 5 } };
	struct http_header type = { "Content-Type", "application/x-ndjson" };
	struct http_request request = http_world_get(&world, "/");
	request.method = "POST";
	request.body = (struct http_body){ .length_bytes = 12, .segments = segments, .segment_count = 4 };
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_string_equal(byte_buf_text(&world.body), "hello, world");
	assert_string_equal(http_response_field(&world.response, "X-Expect"), "none");
	assert_string_equal(http_response_field(&world.response, "X-Type"), "none");
	request.headers = &type;
	request.header_count = 1;
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_string_equal(http_response_field(&world.response, "X-Type"), "application/x-ndjson");
	request.body = (struct http_body){ 0 };
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_int_equal(world.body.length, 0);
	request.method = "PUT";
	request.body = (struct http_body){ .length_bytes = 12, .segments = segments, .segment_count = 4 };
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_string_equal(byte_buf_text(&world.body), "hello, world");
	http_world_end(&world);
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
	struct http_world world;
	unsigned drops = 1;
	http_world_begin(&world, echo, &drops);
	struct http_request request = http_world_get(&world, "/");
	request.method = "POST";
	request.body = (struct http_body){ .length_bytes = 600000, .read = generate };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
		expect_pattern(&world.body, 600000);
	}
	assert_int_equal(loopback_server_requests(world.server), 3);
	uint64_t fail_at = 5000;
	request.body.read_context = &fail_at;
	assert_int_equal(http_world_perform(&world, &request), HFKV_IO);
	http_world_end(&world);
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
	struct http_world world;
	http_world_begin(&world, send_long_body, NULL);
	struct http_request request = http_world_get(&world, "/");
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
	http_world_end(&world);
}

static void test_close_midway(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, send_long_body, NULL);
	for (int i = 0; i < 4; i++) {
		struct http_request request = http_world_get(&world, "/");
		struct http_stream *stream;
		const uint8_t *bytes;
		size_t length;
		assert_int_equal(http_stream_start(world.client, &request, &stream, NULL), HFKV_OK);
		if (i > 0)
			assert_int_equal(http_stream_next(stream, &bytes, &length, NULL), HFKV_OK);
		http_stream_close(stream);
	}
	assert_int_equal(blocks_in_use(world.client), 0);
	http_world_end(&world);
}

static bool send_lines(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	const char *pieces[] = { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
				 "4\r\none\n\r\n",
				 "3\r\ntw",
				 "o\r\n",
				 "5\r\n\r\n\nla\r\n",
				 "2\r\nst\r\n",
				 "0\r\n\r\n" };
	for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++)
		if (!loopback_send(exchange, pieces[i]))
			return false;
	return true;
}

static void test_lines(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, send_lines, NULL);
	struct http_request request = http_world_get(&world, "/");
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
	http_world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments),      cmocka_unit_test(test_pulled_body_is_sent_anew),
		cmocka_unit_test(test_back_pressure), cmocka_unit_test(test_close_midway),
		cmocka_unit_test(test_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
