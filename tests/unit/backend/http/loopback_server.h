/*
 * A tiny HTTP server on 127.0.0.1 inside a test: each request is handed to the test's own function, which answers
 * with raw bytes, stalls, cuts or drops as it likes. One thread per connection.
 *
 * Not a server for anything else: requests need a Content-Length or no body.
 */
#ifndef TESTS_LOOPBACK_SERVER_H
#define TESTS_LOOPBACK_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loopback_server;

/* One request. Strings live until the handler returns. */
struct loopback_exchange {
	struct loopback_server *server;
	int fd;
	unsigned number;     /* of the request, from 0, over all connections */
	unsigned connection; /* number of the connection, from 0 */
	char method[16], target[2048];
	char *header; /* request line and fields */
	uint8_t *body;
	size_t body_length;
};

/* Answers one request. False: close the connection. */
typedef bool (*loopback_handler)(struct loopback_exchange *exchange, void *context);

struct loopback_server *loopback_server_start(loopback_handler handler, void *context);
/* Ends stalled handlers, closes every connection, joins every thread. */
void loopback_server_stop(struct loopback_server *server);

int loopback_server_port(const struct loopback_server *server);
unsigned loopback_server_requests(struct loopback_server *server);
unsigned loopback_server_connections(struct loopback_server *server);
/* "http://127.0.0.1:<port><path>", valid until the next call on this thread's four buffers. */
const char *loopback_server_url(const struct loopback_server *server, const char *path);

/* For handlers. All return true while the connection is fine. */
bool loopback_send(struct loopback_exchange *exchange, const char *text);
bool loopback_send_bytes(struct loopback_exchange *exchange, const void *bytes, size_t length);
/* A whole answer; `fields` are lines ending in CRLF, or "". */
bool loopback_answer(struct loopback_exchange *exchange, const char *status_line, const char *fields,
		     const char *body);
/* Waits until the client hangs up or the server stops; returns false. */
bool loopback_stall(struct loopback_exchange *exchange);
/* The value of a request field into a buffer; false when absent. */
bool loopback_field(const struct loopback_exchange *exchange, const char *name, char *value, size_t room);

#endif
