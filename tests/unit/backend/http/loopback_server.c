#include "tests/unit/backend/http/loopback_server.h"

#include "common/cleanup.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX  512
#define HEADER_MAX_BYTES (192 * 1024)

struct loopback_server {
	loopback_handler handler;
	void *context;
	int listen_fd, stop_pipe[2], port;
	pthread_t acceptor;
	pthread_mutex_t mutex;
	pthread_t threads[CONNECTIONS_MAX];
	unsigned n_connections;
	atomic_uint n_requests;
};

struct connection {
	struct loopback_server *server;
	int fd;
	unsigned number;
};

/* Waits for `events` on fd. False: the server stops. */
static bool wait_for(struct loopback_server *server, int fd, short events)
{
	struct pollfd polled[2] = { { .fd = fd, .events = events },
				    { .fd = server->stop_pipe[0], .events = POLLIN } };
	while (poll(polled, 2, -1) < 0 && errno == EINTR)
		;
	return polled[1].revents == 0;
}

bool loopback_send_bytes(struct loopback_exchange *exchange, const void *bytes, size_t length)
{
	const char *at = bytes;
	while (length > 0) {
		if (!wait_for(exchange->server, exchange->fd, POLLOUT))
			return false;
		ssize_t sent = send(exchange->fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EAGAIN)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		length -= (size_t)sent;
	}
	return true;
}

bool loopback_send(struct loopback_exchange *exchange, const char *text)
{
	return loopback_send_bytes(exchange, text, strlen(text));
}

bool loopback_answer(struct loopback_exchange *exchange, const char *status_line, const char *fields,
		     const char *body)
{
	CLEANUP(free_pointer) char *text = NULL;
	bool is_head = strcmp(exchange->method, "HEAD") == 0;
	if (asprintf(&text, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status_line, fields, strlen(body),
		     is_head ? "" : body) < 0)
		return false;
	return loopback_send(exchange, text);
}

bool loopback_stall(struct loopback_exchange *exchange)
{
	wait_for(exchange->server, exchange->fd, POLLRDHUP);
	return false;
}

bool loopback_field(const struct loopback_exchange *exchange, const char *name, char *value, size_t room)
{
	size_t length = strlen(name);
	for (const char *line = exchange->header; line; line = strstr(line, "\r\n")) {
		line += line == exchange->header ? 0 : 2;
		if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
			const char *from = line + length + 1 + strspn(line + length + 1, " ");
			snprintf(value, room, "%.*s", (int)strcspn(from, "\r"), from);
			return true;
		}
	}
	return false;
}

/* Reads until the blank line and the body's end. False: closed or stopped. */
static bool receive(struct connection *connection, char *header, struct loopback_exchange *exchange)
{
	size_t have = 0, need = SIZE_MAX, header_length = 0;
	while (have < need) {
		size_t room = header_length == 0 ? HEADER_MAX_BYTES - have : need - have;
		char *to = header_length == 0 ? header + have : (char *)exchange->body + (have - header_length);
		if (room == 0 || !wait_for(connection->server, connection->fd, POLLIN))
			return false;
		ssize_t got = recv(connection->fd, to, room, 0);
		if (got <= 0)
			return false;
		have += (size_t)got;
		if (header_length > 0)
			continue;
		header[have] = '\0';
		char *end = strstr(header, "\r\n\r\n");
		if (!end)
			continue;
		header_length = (size_t)(end - header) + 4;
		char digits[32] = "0";
		exchange->header = header;
		loopback_field(exchange, "Content-Length", digits, sizeof(digits));
		exchange->body_length = strtoul(digits, NULL, 10);
		exchange->body = calloc(1, exchange->body_length + 1);
		need = header_length + exchange->body_length;
		memcpy(exchange->body, end + 4, have - header_length);
		end[2] = '\0';
	}
	return sscanf(header, "%15s %2047s", exchange->method, exchange->target) == 2;
}

static void *serve_connection(void *context)
{
	struct connection *connection = context;
	CLEANUP(free_pointer) char *header = malloc(HEADER_MAX_BYTES + 1);
	bool go_on = header != NULL;
	while (go_on) {
		struct loopback_exchange exchange = { .server = connection->server,
						      .fd = connection->fd,
						      .connection = connection->number };
		go_on = receive(connection, header, &exchange);
		if (go_on) {
			exchange.number = atomic_fetch_add(&connection->server->n_requests, 1);
			go_on = connection->server->handler(&exchange, connection->server->context);
		}
		free(exchange.body);
	}
	close(connection->fd);
	free(connection);
	return NULL;
}

static void *accept_connections(void *context)
{
	struct loopback_server *server = context;
	while (wait_for(server, server->listen_fd, POLLIN)) {
		int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		SCOPED_LOCK(&server->mutex);
		struct connection *connection = calloc(1, sizeof(*connection));
		*connection = (struct connection){ server, fd, server->n_connections };
		if (server->n_connections == CONNECTIONS_MAX ||
		    pthread_create(&server->threads[server->n_connections], NULL, serve_connection, connection) !=
			0) {
			close(fd);
			free(connection);
		} else {
			server->n_connections++;
		}
	}
	return NULL;
}

struct loopback_server *loopback_server_start(loopback_handler handler, void *context)
{
	struct loopback_server *server = calloc(1, sizeof(*server));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	server->handler = handler;
	server->context = context;
	pthread_mutex_init(&server->mutex, NULL);
	server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->listen_fd < 0 || pipe(server->stop_pipe) != 0 ||
	    bind(server->listen_fd, (struct sockaddr *)&address, length) != 0 ||
	    listen(server->listen_fd, 256) != 0 ||
	    getsockname(server->listen_fd, (struct sockaddr *)&address, &length) != 0 ||
	    pthread_create(&server->acceptor, NULL, accept_connections, server) != 0)
		abort();
	server->port = ntohs(address.sin_port);
	return server;
}

void loopback_server_stop(struct loopback_server *server)
{
	close(server->stop_pipe[1]);
	pthread_join(server->acceptor, NULL);
	for (unsigned i = 0; i < server->n_connections; i++)
		pthread_join(server->threads[i], NULL);
	close(server->stop_pipe[0]);
	close(server->listen_fd);
	pthread_mutex_destroy(&server->mutex);
	free(server);
}

int loopback_server_port(const struct loopback_server *server)
{
	return server->port;
}

unsigned loopback_server_requests(struct loopback_server *server)
{
	return atomic_load(&server->n_requests);
}

unsigned loopback_server_connections(struct loopback_server *server)
{
	SCOPED_LOCK(&server->mutex);
	return server->n_connections;
}

const char *loopback_server_url(const struct loopback_server *server, const char *path)
{
	static _Thread_local char urls[4][2200];
	static _Thread_local unsigned next;
	char *url = urls[next++ % 4];
	snprintf(url, sizeof(urls[0]), "http://127.0.0.1:%d%s", server->port, path);
	return url;
}
