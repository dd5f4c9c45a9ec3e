/* Where a call may be sent on to, and where a token may go. */
#include "tests/unit/backend/http/http_world.h"

#include "backend/http/http_origin.h"

#include <string.h>

/* Sends every path but /end and /elsewhere/... on; answers with what Authorization came along. */
struct hops {
	const char *status_line;
	const char *location; /* NULL: "/end" */
	unsigned count;       /* so many requests are sent on */
};

static bool send_on(struct loopback_exchange *exchange, void *context)
{
	const struct hops *hops = context;
	char fields[512], authorization[128] = "none";
	loopback_field(exchange, "Authorization", authorization, sizeof(authorization));
	if (exchange->number >= hops->count) {
		snprintf(fields, sizeof(fields), "X-Method: %s\r\nX-Body: %zu\r\n", exchange->method,
			 exchange->body_length);
		return loopback_answer(exchange, "200 OK", fields, authorization);
	}
	snprintf(fields, sizeof(fields), "Location: %s\r\n", hops->location ? hops->location : "/end?x=1");
	return loopback_answer(exchange, hops->status_line, fields, "moved");
}

static struct http_request with_token(struct http_world *world, struct secret *token)
{
	struct http_request request = http_world_get(world, "/begin");
	request.bearer = token;
	return request;
}

static void test_token_stays_on_its_origin(void **state)
{
	(void)state;
	CLEANUP(secret_unrefp) struct secret *token = secret_new("hf_abc", 6);
	struct hops same = { "302 Found", NULL, 2 }, none = { .count = 0 };
	struct http_world world, other;
	http_world_begin(&world, send_on, &same);
	struct http_request request = with_token(&world, token);
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_string_equal(byte_buf_text(&world.body), "Bearer hf_abc");
	assert_int_equal(loopback_server_connections(world.server), 1);
	http_world_end(&world);

	http_world_begin(&other, send_on, &none);
	char target[64];
	snprintf(target, sizeof(target), "%s", loopback_server_url(other.server, "/there"));
	struct hops away = { "307 Temporary Redirect", target, 1 };
	http_world_begin(&world, send_on, &away);
	request = with_token(&world, token);
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_int_equal(loopback_server_requests(other.server), 1);
	assert_string_equal(byte_buf_text(&world.body), "none");
	http_world_end(&world);
	http_world_end(&other);
}

static void test_redirects_are_bounded(void **state)
{
	(void)state;
	struct hops endless = { "302 Found", NULL, 1000 };
	struct http_world world;
	http_world_begin(&world, send_on, &endless);
	struct http_request request = http_world_get(&world, "/begin");
	assert_int_equal(http_world_perform(&world, &request), HFKV_INVALID);
	assert_int_equal(loopback_server_requests(world.server), HTTP_REDIRECTS_MAX + 1);
	request.keep_redirects = true;
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_int_equal(world.response.status, 302);
	assert_string_equal(http_response_field(&world.response, "location"), "/end?x=1");
	http_world_end(&world);
}

static void test_posts(void **state)
{
	(void)state;
	struct iovec segment = { "body", 4 };
	struct hops temporary = { "307 Temporary Redirect", NULL, 1 }, found = { "302 Found", NULL, 1 };
	struct http_world world;
	http_world_begin(&world, send_on, &temporary);
	struct http_request request = http_world_get(&world, "/begin");
	request.method = "POST";
	request.body = (struct http_body){ .length_bytes = 4, .segments = &segment, .segment_count = 1 };
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_string_equal(http_response_field(&world.response, "X-Method"), "POST");
	assert_string_equal(http_response_field(&world.response, "X-Body"), "4");
	http_world_end(&world);

	http_world_begin(&world, send_on, &found);
	request.url = loopback_server_url(world.server, "/begin");
	assert_int_equal(http_world_perform(&world, &request), HFKV_OK);
	assert_int_equal(world.response.status, 302); /* not followed: it would become a GET */
	http_world_end(&world);
}

static void test_bad_targets(void **state)
{
	(void)state;
	const char *const bad[] = { "ftp://127.0.0.1/x", "http://user:pw@127.0.0.1/x", "file:///etc/passwd" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct hops hops = { "302 Found", bad[i], 1 };
		struct http_world world;
		http_world_begin(&world, send_on, &hops);
		struct http_request request = http_world_get(&world, "/begin");
		assert_int_equal(http_world_perform(&world, &request), HFKV_INVALID);
		assert_null(strstr(world.fault.text, "pw"));
		http_world_end(&world);
	}
}

static void test_token_needs_https_or_loopback(void **state)
{
	(void)state;
	CLEANUP(secret_unrefp) struct secret *token = secret_new("hf_secret", 9);
	struct hops none = { .count = 0 };
	struct http_world world;
	http_world_begin(&world, send_on, &none);
	const char *const refused[] = { "http://example.com/x?sig=topsecret",
					"http://127.0.0.1.example.com/",
					"http://10.0.0.1/",
					"http://[2001:db8::1]/",
					"ftp://localhost/",
					"not a url",
					"https://u:p@localhost/" };
	for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
		struct http_request request = with_token(&world, token);
		request.url = refused[i];
		assert_int_equal(http_world_perform(&world, &request), HFKV_INVALID);
		assert_null(strstr(world.fault.text, "secret"));
	}
	CLEANUP(secret_unrefp) struct secret *split = secret_new("hf\r\nX: y", 8);
	struct http_request request = with_token(&world, split);
	assert_int_equal(http_world_perform(&world, &request), HFKV_INVALID);
	struct http_header injected = { "X-A", "b\r\nX-C: d" };
	request = http_world_get(&world, "/");
	request.headers = &injected;
	request.header_count = 1;
	assert_int_equal(http_world_perform(&world, &request), HFKV_INVALID);
	assert_int_equal(loopback_server_requests(world.server), 0);
	http_world_end(&world);
}

static void test_origins(void **state)
{
	(void)state;
	struct http_origin a, b;
	assert_int_equal(http_origin_parse("https://Hub.example/x?y", "t", &a, NULL), HFKV_OK);
	assert_int_equal(http_origin_parse("https://hub.example:443/z", "t", &b, NULL), HFKV_OK);
	assert_true(http_origin_equal(&a, &b) && a.https && !a.loopback);
	assert_int_equal(http_origin_parse("http://hub.example/", "t", &b, NULL), HFKV_OK);
	assert_false(http_origin_equal(&a, &b));
	const char *const loopbacks[] = { "http://localhost:1/", "http://127.0.0.1/", "http://127.9.9.9/",
					  "http://[::1]:8/" };
	for (size_t i = 0; i < ARRAY_LENGTH(loopbacks); i++) {
		assert_int_equal(http_origin_parse(loopbacks[i], "t", &a, NULL), HFKV_OK);
		assert_true(a.loopback);
		assert_int_equal(http_origin_check_token(&a, "t", NULL), HFKV_OK);
	}
	CLEANUP(free_pointer) char *url = http_url_resolve("http://h:1/a/b?c", "../d?e=f");
	assert_string_equal(url, "http://h:1/d?e=f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token_stays_on_its_origin),
		cmocka_unit_test(test_redirects_are_bounded),
		cmocka_unit_test(test_posts),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_token_needs_https_or_loopback),
		cmocka_unit_test(test_origins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
