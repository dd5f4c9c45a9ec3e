/* A client and a scripted server, for the tests of backend/http and the layers on it. */
#ifndef TESTS_HTTP_WORLD_H
#define TESTS_HTTP_WORLD_H

#include "tests/unit/cmocka_prelude.h"

#include "backend/http/http_client.h"
#include "tests/unit/backend/http/loopback_server.h"

struct http_world {
	struct loopback_server *server;
	struct http_client *client;
	struct http_response response;
	struct byte_buf body;
	struct fault fault;
};

static inline void http_world_begin(struct http_world *world, loopback_handler handler, void *context)
{
	struct http_client_settings settings = { .stall_ms = 20000 };
	*world = (struct http_world){ .fault = FAULT_NONE, .body = BYTE_BUF_INIT(1 << 20) };
	world->response = HTTP_RESPONSE_INIT;
	world->server = loopback_server_start(handler, context);
	assert_int_equal(http_client_new(&settings, &world->client, NULL), HFKV_OK);
}

static inline void http_world_end(struct http_world *world)
{
	http_client_free(world->client);
	loopback_server_stop(world->server);
	http_response_done(&world->response);
	byte_buf_done(&world->body);
}

static inline struct http_request http_world_get(const struct http_world *world, const char *path)
{
	return (struct http_request){ .label = "a test call",
				      .method = "GET",
				      .url = loopback_server_url(world->server, path),
				      .deadline = deadline_after_ms(20000) };
}

static inline enum hfkv_status http_world_perform(struct http_world *world, const struct http_request *request)
{
	http_response_done(&world->response);
	byte_buf_clear(&world->body);
	world->fault = FAULT_NONE;
	return http_perform(world->client, request, &world->response, &world->body, &world->fault);
}

#endif
