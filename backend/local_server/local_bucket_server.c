#include "backend/local_server/local_bucket_server.h"

#include "backend/local_server/http_listener.h"
#include "backend/local_server/request_journal.h"
#include "backend/local_server/server_faults.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>

#define DEFAULT_LISTEN    "127.0.0.1:0"
#define DEFAULT_LIFE_S    3600
#define LISTEN_TEXT_BYTES 64
#define LISTEN_BACKLOG    512

struct local_bucket_server {
	struct server_shared shared;
	struct sockaddr_storage address;
	socklen_t address_bytes;
	struct http_listener *listener;
	int lock_fd;
	char host[LISTEN_TEXT_BYTES]; /* for the endpoint: loopback in place of a wildcard */
	char endpoint[128];
};

/* ---- the address ---- */

/* Splits "HOST:PORT" or "[HOST]:PORT"; the port must be a number up to 65535. */
static bool split_listen(const char *listen, char host[LISTEN_TEXT_BYTES], const char **ret_port)
{
	const char *colon = strrchr(listen, ':');
	if (!colon || strlen(listen) >= LISTEN_TEXT_BYTES)
		return false;
	size_t length = (size_t)(colon - listen), digits = strspn(colon + 1, "0123456789");
	if (digits == 0 || digits > 5 || colon[1 + digits] || strtoul(colon + 1, NULL, 10) > UINT16_MAX)
		return false;
	if (length >= 2 && listen[0] == '[' && listen[length - 1] == ']') {
		listen++;
		length -= 2;
	}
	memcpy(host, listen, length);
	host[length] = '\0';
	*ret_port = colon + 1;
	return length > 0;
}

static bool is_wildcard(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static enum hfkv_status parse_listen(struct local_bucket_server *server, const char *listen, struct fault *fault)
{
	char host[LISTEN_TEXT_BYTES];
	const char *port;
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	if (!split_listen(listen, host, &port))
		return fault_set(fault, HFKV_INVALID,
				 "listen address '%s': write ADDRESS:PORT, such as 127.0.0.1:8000", listen);
	const char *address = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
	if (getaddrinfo(address, port, &hints, &found) != 0)
		return fault_set(fault, HFKV_INVALID, "listen address '%s': '%s' is no IP address of this machine",
				 listen, host);
	memcpy(&server->address, found->ai_addr, found->ai_addrlen);
	server->address_bytes = found->ai_addrlen;
	bool ipv6 = found->ai_family == AF_INET6;
	freeaddrinfo(found);
	if (is_wildcard((const struct sockaddr *)&server->address))
		snprintf(server->host, sizeof(server->host), "%s", ipv6 ? "[::1]" : "127.0.0.1");
	else if (snprintf(server->host, sizeof(server->host), ipv6 ? "[%s]" : "%s", host) >= LISTEN_TEXT_BYTES)
		return fault_set(fault, HFKV_INVALID, "listen address '%s' is too long", listen);
	return HFKV_OK;
}

/* ---- the directory ---- */

static enum hfkv_status lock_directory(struct local_bucket_server *server, const char *directory,
				       struct fault *fault)
{
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fault_set_errno(fault, errno, "cannot make the data directory '%s'", directory);
	CLEANUP(free_pointer) char *file = NULL;
	if (asprintf(&file, "%s/lock", directory) < 0)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory");
	server->lock_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (server->lock_fd < 0)
		return fault_set_errno(fault, errno, "cannot open '%s'", file);
	if (flock(server->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return HFKV_OK;
	if (errno == EWOULDBLOCK)
		return fault_set(
		    fault, HFKV_BUSY,
		    "the data directory '%s' is served by another hfkv serve: stop it, or use another directory",
		    directory);
	return fault_set_errno(fault, errno, "cannot lock '%s'", file);
}

static enum hfkv_status open_controls(struct server_shared *shared, struct fault *fault)
{
	shared->journal = request_journal_new();
	if (!shared->journal)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for test controls");
	return server_faults_new(&shared->faults, fault);
}

static enum hfkv_status open_stores(struct local_bucket_server *server,
				    const struct local_bucket_server_settings *settings, struct fault *fault)
{
	struct server_shared *shared = &server->shared;
	const char *directory = settings->data_directory;
	enum hfkv_status status = lock_directory(server, directory, fault);
	if (status == HFKV_OK)
		status = server_keys_open(directory, &shared->keys, fault);
	if (status == HFKV_OK)
		status = catalog_open(directory, !settings->without_fsync, &shared->catalog, fault);
	if (status == HFKV_OK)
		status = blob_store_open(directory, !settings->without_fsync, &shared->blobs, fault);
	if (status == HFKV_OK && settings->test_controls)
		status = open_controls(shared, fault);
	return status;
}

static enum hfkv_status open_shared(struct server_shared *shared,
				    const struct local_bucket_server_settings *settings, struct fault *fault)
{
	shared->token_seconds = settings->token_seconds ? settings->token_seconds : DEFAULT_LIFE_S;
	shared->url_seconds = settings->url_seconds ? settings->url_seconds : DEFAULT_LIFE_S;
	shared->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shared->stop_fd < 0)
		return fault_set_errno(fault, errno, "cannot make an event descriptor");
	if (RAND_bytes((unsigned char *)&shared->request_id_base, sizeof(shared->request_id_base)) != 1)
		return fault_set(fault, HFKV_IO, "no random numbers from the system");
	return HFKV_OK;
}

enum hfkv_status local_bucket_server_open(const struct local_bucket_server_settings *settings,
					  struct local_bucket_server **ret_server, struct fault *fault)
{
	CLEANUP(local_bucket_server_freep) struct local_bucket_server *server = calloc(1, sizeof(*server));
	if (!server)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for the server");
	server->lock_fd = server->shared.stop_fd = -1;
	if (!settings->data_directory || !settings->data_directory[0])
		return fault_set(fault, HFKV_INVALID, "a data directory is needed");
	enum hfkv_status status =
	    parse_listen(server, settings->listen ? settings->listen : DEFAULT_LISTEN, fault);
	if (status == HFKV_OK)
		status = open_shared(&server->shared, settings, fault);
	if (status == HFKV_OK)
		status = open_stores(server, settings, fault);
	if (status == HFKV_OK)
		*ret_server = TAKE_PTR(server);
	return status;
}

/* ---- life ---- */

/* The port that the bound socket has. */
static uint16_t bound_port(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);
	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return 0;
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

static enum hfkv_status listen_on(const struct local_bucket_server *server, int *ret_fd, struct fault *fault)
{
	CLEANUP(close_fd) int fd = socket(server->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;
	if (fd < 0)
		return fault_set_errno(fault, errno, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&server->address, server->address_bytes) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0) {
		if (errno == EADDRINUSE)
			return fault_set(fault, HFKV_BUSY,
					 "cannot listen on %s: the port is in use; port 0 picks a free one",
					 server->host);
		return fault_set_errno(fault, errno, "cannot listen on %s", server->host);
	}
	*ret_fd = TAKE_FD(fd);
	return HFKV_OK;
}

enum hfkv_status local_bucket_server_start(struct local_bucket_server *server, struct fault *fault)
{
	CLEANUP(close_fd) int fd = -1;
	enum hfkv_status status = listen_on(server, &fd, fault);
	if (status != HFKV_OK)
		return status;
	snprintf(server->shared.authority, sizeof(server->shared.authority), "%s:%u", server->host,
		 bound_port(fd));
	snprintf(server->endpoint, sizeof(server->endpoint), "http://%s", server->shared.authority);
	status = http_listener_start(&server->shared, fd, &server->listener, fault);
	if (status == HFKV_OK)
		fd = -1; /* the listener's now */
	return status;
}

const char *local_bucket_server_endpoint(const struct local_bucket_server *server)
{
	return server->endpoint;
}

const struct secret *local_bucket_server_write_token(const struct local_bucket_server *server)
{
	return server_keys_write_token(server->shared.keys);
}

void local_bucket_server_stop(struct local_bucket_server *server)
{
	eventfd_write(server->shared.stop_fd, 1);
	http_listener_stop(TAKE_PTR(server->listener));
}

void local_bucket_server_free(struct local_bucket_server *server)
{
	if (!server)
		return;
	local_bucket_server_stop(server);
	server_faults_free(server->shared.faults);
	request_journal_free(server->shared.journal);
	blob_store_close(server->shared.blobs);
	catalog_close(server->shared.catalog);
	server_keys_free(server->shared.keys);
	close_fd(&server->shared.stop_fd);
	close_fd(&server->lock_fd);
	free(server);
}
