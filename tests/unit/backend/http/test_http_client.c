/* Calls as a whole: answers, deadlines, stalls, cuts, turns, giving up, many callers. */
#include "tests/unit/backend/http/http_world.h"

#include <string.h>
#include <sys/wait.h>

#define SLACK_MS 5000 /* what a loaded machine may add to a bound */

/* ---- answers ---- */

static bool answer_plainly(struct loopback_exchange *exchange, void *context)
{
	(void)context;
	return loopback_answer(exchange, "200 OK", "X-Request-Id: r1\r\nX-Xet-Hash:  abc \r\n", exchange->target);
}

static void test_answer_and_kept_connection(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, answer_plainly, NULL);
	for (int i = 0; i < 3; i++) {
		struct http_request request = http_world_get(&world, "/a%252Fb/./../c?x=1");
		assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
		assert_int_equal(world.response.status, 200);
		assert_string_equal(byte_buf_text(&world.body), "/a%252Fb/./../c?x=1");
		assert_string_equal(http_response_field(&world.response, "x-request-id"), "r1");
		assert_string_equal(http_response_field(&world.response, "X-Xet-Hash"), "abc");
		assert_null(http_response_field(&world.response, "X-Xet"));
	}
	assert_int_equal(loopback_server_connections(world.server), 1);
	struct http_request head = http_world_get(&world, "/");
	head.method = "HEAD";
	assert_int_equal(http_world_perform(&world, &head), HFKV_OK);
	assert_int_equal(world.body.length, 0);
	http_world_end(&world);
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
	struct http_world world;
	http_world_begin(&world, answer_with_long_body, "200 OK");
	byte_buf_done(&world.body);
	world.body = BYTE_BUF_INIT(1000);
	struct http_request request = http_world_get(&world, "/");
	assert_int_equal(http_world_perform(&world, &request), HFKV_CORRUPT);
	http_world_end(&world);

	http_world_begin(&world, answer_with_long_body, "503 No");
	byte_buf_done(&world.body);
	world.body = BYTE_BUF_INIT(1000);
	request = http_world_get(&world, "/");
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK); /* the status is the news */
	assert_int_equal(world.response.status, 503);
	http_world_end(&world);
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
	struct http_world world;
	http_world_begin(&world, answer_with_endless_header, NULL);
	struct http_request request = http_world_get(&world, "/");
	assert_int_equal(http_world_perform(&world, &request), HFKV_CORRUPT);
	http_world_end(&world);
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
	return loopback_send(exchange, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx") &&
	       loopback_stall(exchange);
}

static void test_deadline(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, never_answer, NULL);
	struct http_request request = http_world_get(&world, "/secret-path?signature=topsecret");
	int64_t before_ms = clock_now_ms();
	request.deadline = deadline_after_ms(200);
	assert_int_equal(http_world_perform(&world, &request), HFKV_TIMEOUT);
	int64_t took_ms = clock_now_ms() - before_ms;
	assert_true(took_ms >= 200 && took_ms < 200 + SLACK_MS);
	assert_non_null(strstr(world.fault.text, "a test call"));
	assert_null(strstr(world.fault.text, "secret"));
	unsigned sent = loopback_server_requests(world.server);
	request.deadline = deadline_after_ms(-1);
	assert_int_equal(http_world_perform(&world, &request), HFKV_TIMEOUT);
	assert_int_equal(loopback_server_requests(world.server), sent);
	http_world_end(&world);
}

static void test_stall_limit(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, stall_in_body, NULL);
	struct http_request request = http_world_get(&world, "/");
	request.deadline = DEADLINE_NONE;
	request.stall_ms = 200;
	int64_t before_ms = clock_now_ms();
	assert_int_equal(http_world_perform(&world, &request), HFKV_TIMEOUT);
	int64_t took_ms = clock_now_ms() - before_ms;
	assert_true(took_ms >= 200 && took_ms < 200 + SLACK_MS);
	assert_non_null(strstr(world.fault.text, "stall"));
	http_world_end(&world);
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
		struct http_world world;
		http_world_begin(&world, handlers[i], NULL);
		struct http_request request = http_world_get(&world, "/");
		assert_int_equal(http_world_perform(&world, &request), HFKV_UNAVAILABLE);
		http_world_end(&world);
	}
}

static void test_nobody_listens(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, drop, NULL);
	struct http_request request = http_world_get(&world, "/");
	loopback_server_stop(world.server); /* its port is nobody's now */
	assert_int_equal(http_world_perform(&world, &request), HFKV_UNAVAILABLE);
	http_client_free(world.client);
}

static void test_calls_wait_for_their_turn(void **state)
{
	(void)state;
	struct http_world world;
	struct http_client_settings settings = { .max_calls_per_origin = 2 };
	http_world_begin(&world, never_answer, NULL);
	http_client_free(world.client);
	assert_int_equal(http_client_new(&settings, &world.client, NULL), HFKV_OK);
	struct http_stream *held[2];
	struct http_request request = http_world_get(&world, "/");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(http_stream_start(world.client, &request, &held[i], NULL), HFKV_OK);
	request.deadline = deadline_after_ms(150);
	assert_int_equal(http_world_perform(&world, &request), HFKV_TIMEOUT);
	assert_non_null(strstr(world.fault.text, "no free connection"));
	for (size_t i = 0; i < 2; i++)
		http_stream_close(held[i]);
	http_world_end(&world);
}

#define STALLED 20

static bool stall_some(struct loopback_exchange *exchange, void *context)
{
	return strcmp(exchange->target, "/stalls") == 0 ? stall_in_body(exchange, context)
							: answer_plainly(exchange, context);
}

/* Calls that stall hold up nobody, and end at their deadline. */
static void test_stalled_calls_hold_up_nobody(void **state)
{
	(void)state;
	struct http_world world;
	struct http_stream *stalled[STALLED];
	http_world_begin(&world, stall_some, NULL);
	struct http_request stalls = http_world_get(&world, "/stalls");
	stalls.deadline = deadline_after_ms(3000);
	for (size_t i = 0; i < STALLED; i++)
		assert_int_equal(http_stream_start(world.client, &stalls, &stalled[i], NULL), HFKV_OK);
	for (size_t i = 0; i < STALLED; i++) {
		const struct http_response *response;
		assert_int_equal(http_stream_response(stalled[i], &response, NULL), HFKV_OK);
	}
	struct http_request good = http_world_get(&world, "/good");
	assert_int_equal(http_world_perform(&world, &good), HFKV_OK);
	assert_false(deadline_passed(stalls.deadline));
	for (size_t i = 0; i < STALLED; i++) {
		byte_buf_clear(&world.body);
		assert_int_equal(http_stream_read_all(stalled[i], &world.body, NULL), HFKV_TIMEOUT);
		http_stream_close(stalled[i]);
	}
	assert_int_equal(http_world_perform(&world, &good), HFKV_OK);
	http_world_end(&world);
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
		struct http_world world;
		http_world_begin(&world, never_answer, NULL);
		struct http_cancel cancel = { 0 };
		struct giver_up giver = { world.client, round == 0 ? &cancel : NULL, world.server };
		struct http_request request = http_world_get(&world, "/");
		request.cancel = &cancel;
		request.deadline = DEADLINE_NONE;
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, give_up, &giver), 0);
		assert_int_equal(http_world_perform(&world, &request), HFKV_CANCELLED);
		pthread_join(thread, NULL);
		assert_int_equal(http_world_perform(&world, &request), HFKV_CANCELLED); /* later ones too */
		assert_int_equal(http_client_pause(world.client, 60000, &cancel, DEADLINE_NONE), HFKV_CANCELLED);
		http_world_end(&world);
	}
}

static void test_forked_child_is_refused(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, answer_plainly, NULL);
	struct http_request request = http_world_get(&world, "/");
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	pid_t child = fork();
	if (child == 0) {
		enum hfkv_status status = http_world_perform(&world, &request);
		http_client_free(world.client);
		_exit(status == HFKV_BUG ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	http_world_end(&world);
}

/* ---- many at once ---- */

#define CALLERS          16
#define CALLS_PER_CALLER 40

static void *call_many(void *context)
{
	struct http_client *client = ((struct http_world *)context)->client;
	uintptr_t wrong = 0;
	for (int i = 0; i < CALLS_PER_CALLER; i++) {
		struct http_world own = { .client = client,
					  .server = ((struct http_world *)context)->server,
					  .body = BYTE_BUF_INIT(1000) };
		char path[64];
		snprintf(path, sizeof(path), "/%lx/%d", (unsigned long)pthread_self(), i);
		struct http_request request = http_world_get(&own, path);
		if (http_world_perform(&own, &request) != HFKV_OK || strcmp(byte_buf_text(&own.body), path) != 0)
			wrong++;
		http_response_done(&own.response);
		byte_buf_done(&own.body);
	}
	return (void *)wrong;
}

static void test_many_callers(void **state)
{
	(void)state;
	struct http_world world;
	http_world_begin(&world, answer_plainly, NULL);
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
	http_world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer_and_kept_connection),
		cmocka_unit_test(test_body_limit),
		cmocka_unit_test(test_header_limit),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_stall_limit),
		cmocka_unit_test(test_broken_answers),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_calls_wait_for_their_turn),
		cmocka_unit_test(test_stalled_calls_hold_up_nobody),
		cmocka_unit_test(test_cancel_and_abort),
		cmocka_unit_test(test_forked_child_is_refused),
		cmocka_unit_test(test_many_callers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
