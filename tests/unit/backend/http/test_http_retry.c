/* What is tried again, when, and what is left of it in the fault. */
#include "tests/unit/backend/http/http_world.h"

#include "backend/http/http_retry.h"
#include "backend/http/http_status.h"

#include <string.h>

/* The first `count` requests get `line` and `fields` (NULL: no answer at all), later ones 200. */
struct script {
	const char *line, *fields;
	unsigned count;
};

static bool follow_script(struct loopback_exchange *exchange, void *context)
{
	const struct script *script = context;
	if (exchange->number >= script->count)
		return loopback_answer(exchange, "200 OK", "", "good");
	if (!script->line)
		return false;
	return loopback_answer(exchange, script->line, script->fields, "{\"error\": \"so it is\"}");
}

static enum hfkv_status retry(struct http_world *world, int64_t within_ms)
{
	struct http_request request = http_world_get(world, "/");
	request.deadline = within_ms > 0 ? deadline_after_ms(within_ms) : DEADLINE_NONE;
	struct http_retry again = http_retry_begin(world->client, request.deadline, NULL);
	enum hfkv_status status;
	do {
		http_response_done(&world->response);
		byte_buf_clear(&world->body);
		world->fault = FAULT_NONE;
		status = http_perform(world->client, &request, &world->response, &world->body, &world->fault);
		if (status == HFKV_OK)
			status = http_response_check(&world->response, &world->body, request.label, &world->fault);
	} while (http_retry_again(&again, status, &world->fault));
	return status;
}

static void test_passing_failures(void **state)
{
	(void)state;
	struct script scripts[] = { { "503 Service Unavailable", "", 2 },
				    { "500 Oops", "", 1 },
				    { "408 Request Timeout", "", 1 },
				    { "429 Too Many", "", 1 },
				    { NULL, NULL, 2 } };
	for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
		struct http_world world;
		http_world_begin(&world, follow_script, &scripts[i]);
		assert_int_equal(retry(&world, 20000), HFKV_OK);
		assert_string_equal(byte_buf_text(&world.body), "good");
		assert_int_equal(world.response.status, 200);
		assert_true(loopback_server_requests(world.server) >= scripts[i].count + 1);
		http_world_end(&world);
	}
}

static void test_lasting_failures(void **state)
{
	(void)state;
	const struct {
		const char *line;
		enum hfkv_status status;
	} expected[] = { { "400 Bad", HFKV_INVALID },   { "401 No", HFKV_AUTH },
			 { "403 No", HFKV_FORBIDDEN },  { "404 None", HFKV_NOT_FOUND },
			 { "409 Twice", HFKV_EXISTS },  { "413 Full", HFKV_QUOTA },
			 { "416 Range", HFKV_INVALID }, { "501 Never", HFKV_INVALID },
			 { "507 Full", HFKV_QUOTA } };
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		struct script script = { expected[i].line, "X-Request-Id: rq7\r\n", 1000 };
		struct http_world world;
		http_world_begin(&world, follow_script, &script);
		assert_int_equal(retry(&world, 20000), expected[i].status);
		assert_int_equal(loopback_server_requests(world.server), 1);
		assert_int_equal(world.fault.http_status, atoi(expected[i].line));
		assert_string_equal(world.fault.request_id, "rq7");
		assert_non_null(strstr(world.fault.text, "so it is"));
		assert_non_null(strstr(world.fault.text, "rq7"));
		http_world_end(&world);
	}
}

/* The server's word counts more than our back-off. */
static void test_asked_wait(void **state)
{
	(void)state;
	const char *const fields[] = { "RateLimit: \"api\";r=0;t=1\r\n", "Retry-After: 1\r\n" };
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
		struct script script = { "429 Too Many", fields[i], 1 };
		struct http_world world;
		http_world_begin(&world, follow_script, &script);
		int64_t before_ms = clock_now_ms();
		assert_int_equal(retry(&world, 20000), HFKV_OK);
		assert_true(clock_now_ms() - before_ms >= 1000);
		assert_int_equal(loopback_server_requests(world.server), 2);
		http_world_end(&world);
	}
}

static void test_wait_past_deadline_is_not_begun(void **state)
{
	(void)state;
	struct script script = { "429 Too Many", "RateLimit: \"api\";r=0;t=60\r\n", 1000 };
	struct http_world world;
	http_world_begin(&world, follow_script, &script);
	int64_t before_ms = clock_now_ms();
	assert_int_equal(retry(&world, 20000), HFKV_RATE_LIMITED);
	assert_true(clock_now_ms() - before_ms < 15000);
	assert_int_equal(loopback_server_requests(world.server), 1);
	assert_int_equal(world.fault.retry_after_ms, 60000);
	http_world_end(&world);
}

static void test_deadline_ends_tries(void **state)
{
	(void)state;
	struct script script = { "503 Service Unavailable", "", 1000 };
	struct http_world world;
	http_world_begin(&world, follow_script, &script);
	int64_t before_ms = clock_now_ms();
	assert_int_equal(retry(&world, 1500), HFKV_UNAVAILABLE);
	assert_true(clock_now_ms() - before_ms < 1500 + 5000);
	assert_true(loopback_server_requests(world.server) >= 2);
	http_world_end(&world);
}

/* Such a try could only say that the deadline has passed, and hide why the last one failed. */
static void test_no_try_begins_at_the_deadline(void **state)
{
	(void)state;
	struct script script = { "503 Service Unavailable", "", 1000 };
	struct http_world world;
	http_world_begin(&world, follow_script, &script);
	const struct fault fault = FAULT_NONE;
	struct http_retry retry = http_retry_begin(world.client, deadline_after_ms(10), NULL);
	retry.base_ms = retry.cap_ms = 1;
	assert_false(http_retry_again(&retry, HFKV_UNAVAILABLE, &fault));
	retry.deadline = deadline_after_ms(20000);
	assert_true(http_retry_again(&retry, HFKV_UNAVAILABLE, &fault));
	assert_true(http_retry_again(&retry, HFKV_TIMEOUT, &fault)); /* a stall with time left */
	http_world_end(&world);
}

/* Without a deadline the number of tries ends it. Waits are made short through the retry's own fields. */
static void test_tries_end_without_deadline(void **state)
{
	(void)state;
	struct script none = { NULL, NULL, 0 };
	struct http_world world;
	http_world_begin(&world, follow_script, &none);
	struct http_retry tries = http_retry_begin(world.client, DEADLINE_NONE, NULL);
	struct fault fault = FAULT_NONE;
	tries.base_ms = tries.cap_ms = 1;
	unsigned count = 1;
	while (http_retry_again(&tries, HFKV_UNAVAILABLE, &fault))
		count++;
	assert_int_equal(count, 6);
	tries = http_retry_begin(world.client, DEADLINE_NONE, NULL);
	assert_false(http_retry_again(&tries, HFKV_OK, &fault));
	assert_false(http_retry_again(&tries, HFKV_CORRUPT, &fault));
	assert_false(http_retry_again(&tries, HFKV_TIMEOUT, &fault)); /* a stall: the server hangs */
	struct http_cancel cancel = { 0 };
	atomic_store(&cancel.fired, true);
	tries = http_retry_begin(world.client, DEADLINE_NONE, &cancel);
	assert_false(http_retry_again(&tries, HFKV_UNAVAILABLE, &fault));
	http_world_end(&world);
}

static void test_every_status_has_a_meaning(void **state)
{
	(void)state;
	for (int status = 100; status < 600; status++)
		assert_int_equal(http_status_to_hfkv(status) == HFKV_OK, status >= 200 && status <= 299);
	assert_true(http_status_may_pass(504) && !http_status_may_pass(501) && !http_status_may_pass(507) &&
		    !http_status_may_pass(404));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passing_failures),
		cmocka_unit_test(test_lasting_failures),
		cmocka_unit_test(test_asked_wait),
		cmocka_unit_test(test_wait_past_deadline_is_not_begun),
		cmocka_unit_test(test_deadline_ends_tries),
		cmocka_unit_test(test_no_try_begins_at_the_deadline),
		cmocka_unit_test(test_tries_end_without_deadline),
		cmocka_unit_test(test_every_status_has_a_meaning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
