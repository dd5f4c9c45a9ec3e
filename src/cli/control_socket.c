#include "src/cli/control_socket.h"

#include "common/byte_buf.h"
#include "common/work_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define REQUEST_MAX_BYTES 256
#define ANSWER_MAX_BYTES  ((size_t)1024 * 1024)
#define REQUEST_WAIT_MS   5000
#define ANSWERS_AT_ONCE   8

struct control_server {
	int listen_fd, stop_fd;
	pthread_t thread;
	bool thread_runs;
	struct work_pool *pool;
	control_answer answer;
	void *context;
	char *path;
};

struct conversation {
	struct work_item item; /* first: the pool hands it back */
	struct control_server *server;
	int fd;
};

/* ---- addresses ---- */

/* sockaddr_un holds 107 bytes: a longer path is reached through its directory's descriptor. */
static enum hfkv_status fill_address(const char *path, struct sockaddr_un *address, int *ret_directory_fd,
				     struct fault *fault)
{
	address->sun_family = AF_UNIX;
	*ret_directory_fd = -1;
	if (strlen(path) < sizeof(address->sun_path)) {
		strcpy(address->sun_path, path);
		return HFKV_OK;
	}
	const char *slash = strrchr(path, '/');
	CLEANUP(free_pointer) char *directory = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	CLEANUP(close_fd) int fd = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int length = fd < 0 ? -1 :
			      snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s", fd, slash);
	if (length < 0 || (size_t)length >= sizeof(address->sun_path))
		return fault_set(fault, HFKV_INVALID, "'%s' cannot name a socket", path);
	*ret_directory_fd = TAKE_FD(fd);
	return HFKV_OK;
}

/* ---- the server ---- */

static bool peer_is_allowed(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static bool read_line(int fd, char *line, size_t bytes, struct deadline deadline)
{
	size_t length = 0;
	while (length + 1 < bytes) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		if (poll(&ready, 1, (int)deadline_left_ms(deadline)) <= 0)
			return false;
		ssize_t got = read(fd, line + length, bytes - 1 - length);
		if (got <= 0)
			return false;
		length += (size_t)got;
		line[length] = '\0';
		char *end = strchr(line, '\n');
		if (end) {
			*end = '\0';
			return true;
		}
	}
	return false;
}

static void send_answer(int fd, json_t *answer)
{
	CLEANUP(free_pointer) char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	const char *rest = text ? text : "{\"error\":\"the daemon has no answer\"}";
	size_t left = strlen(rest);
	while (left > 0) {
		ssize_t sent = send(fd, rest, left, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
		rest += sent;
		left -= (size_t)sent;
	}
}

static void end_conversation(struct work_item *item)
{
	struct conversation *conversation = (struct conversation *)item;
	close(conversation->fd);
	free(conversation);
}

static void converse(struct work_item *item)
{
	struct conversation *conversation = (struct conversation *)item;
	char line[REQUEST_MAX_BYTES];
	if (read_line(conversation->fd, line, sizeof(line), deadline_after_ms(REQUEST_WAIT_MS))) {
		json_t *answer = conversation->server->answer(conversation->server->context, line);
		send_answer(conversation->fd, answer);
		json_decref(answer);
	}
	end_conversation(item);
}

static void accept_one(struct control_server *server)
{
	CLEANUP(close_fd) int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || !peer_is_allowed(fd))
		return;
	/* A peer that reads nothing must not hold an answering thread for ever. */
	struct timeval limit = { .tv_sec = REQUEST_WAIT_MS / 1000 };
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	struct conversation *conversation = calloc(1, sizeof(*conversation));
	if (!conversation)
		return;
	*conversation = (struct conversation){ { .run = converse, .cancel = end_conversation }, server, TAKE_FD(fd) };
	if (work_pool_submit(server->pool, &conversation->item) != HFKV_OK)
		end_conversation(&conversation->item);
}

static void *serve(void *argument)
{
	struct control_server *server = argument;
	struct pollfd ready[] = { { .fd = server->listen_fd, .events = POLLIN }, { .fd = server->stop_fd, .events = POLLIN } };
	pthread_setname_np(pthread_self(), "control");
	while (poll(ready, ARRAY_LENGTH(ready), -1) > 0 || errno == EINTR) {
		if (ready[1].revents)
			break;
		if (ready[0].revents)
			accept_one(server);
	}
	return NULL;
}

static enum hfkv_status listen_at(const char *path, int *ret_fd, struct fault *fault)
{
	struct sockaddr_un address = { 0 };
	CLEANUP(close_fd) int directory_fd = -1;
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fault_set_errno(fault, errno, "socket");
	enum hfkv_status status = fill_address(path, &address, &directory_fd, fault);
	if (status != HFKV_OK)
		return status;
	unlink(path);
	fchmod(fd, 0600); /* bind gives the file this mode */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, ANSWERS_AT_ONCE) != 0)
		return fault_set_errno(fault, errno, "cannot listen at '%s'", path);
	*ret_fd = TAKE_FD(fd);
	return HFKV_OK;
}

enum hfkv_status control_server_new(const char *path, control_answer answer, void *context,
				    struct control_server **ret_server, struct fault *fault)
{
	CLEANUP(control_server_freep) struct control_server *server = calloc(1, sizeof(*server));
	if (!server)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for the control socket");
	server->listen_fd = -1;
	server->answer = answer;
	server->context = context;
	server->stop_fd = eventfd(0, EFD_CLOEXEC);
	server->path = strdup(path);
	struct work_pool_settings settings = { .name = "control", .max_threads = ANSWERS_AT_ONCE,
					       .max_queued = ANSWERS_AT_ONCE, .idle_ms = 1000 };
	if (server->stop_fd < 0 || !server->path || work_pool_new(&settings, &server->pool) != HFKV_OK)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for the control socket");
	enum hfkv_status status = listen_at(path, &server->listen_fd, fault);
	if (status != HFKV_OK)
		return status;
	int error = pthread_create(&server->thread, NULL, serve, server);
	if (error)
		return fault_set_errno(fault, error, "cannot start a thread");
	server->thread_runs = true;
	*ret_server = TAKE_PTR(server);
	return HFKV_OK;
}

void control_server_free(struct control_server *server)
{
	if (!server)
		return;
	if (server->thread_runs) {
		eventfd_write(server->stop_fd, 1);
		pthread_join(server->thread, NULL);
	}
	work_pool_free(server->pool);
	if (server->listen_fd >= 0) {
		close(server->listen_fd);
		unlink(server->path);
	}
	if (server->stop_fd >= 0)
		close(server->stop_fd);
	free(server->path);
	free(server);
}

/* ---- the client ---- */

static enum hfkv_status connect_to(const char *path, int *ret_fd, pid_t *ret_pid, struct fault *fault)
{
	struct sockaddr_un address = { 0 };
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	CLEANUP(close_fd) int directory_fd = -1;
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	enum hfkv_status status = fill_address(path, &address, &directory_fd, fault);
	if (status != HFKV_OK)
		return status;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return fault_set(fault, HFKV_UNAVAILABLE, "no daemon answers at '%s': %s", path, strerrordesc_np(errno));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || (peer.uid != geteuid() && geteuid() != 0))
		return fault_set(fault, HFKV_FORBIDDEN, "'%s' belongs to another user's process", path);
	if (ret_pid)
		*ret_pid = peer.pid;
	*ret_fd = TAKE_FD(fd);
	return HFKV_OK;
}

static enum hfkv_status read_answer(int fd, const char *path, struct byte_buf *text, struct deadline deadline,
				    struct fault *fault)
{
	for (;;) {
		char *room = byte_buf_reserve(text, 4096);
		if (!room)
			return fault_set(fault, HFKV_CORRUPT, "the daemon's answer at '%s' is too long", path);
		int64_t left_ms = deadline_left_ms(deadline);
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int answered = poll(&ready, 1, left_ms > INT32_MAX ? -1 : (int)left_ms);
		if (answered < 0 && errno == EINTR)
			continue;
		if (answered <= 0)
			return fault_set(fault, HFKV_TIMEOUT, "the daemon at '%s' did not answer in time", path);
		ssize_t got = read(fd, room, 4096);
		if (got < 0)
			return fault_set_errno(fault, errno, "the daemon at '%s' did not answer", path);
		if (got == 0)
			return HFKV_OK;
		text->length += (size_t)got;
	}
}

enum hfkv_status control_ask(const char *path, const char *request, struct deadline deadline, json_t **ret_answer,
			     pid_t *ret_pid, struct fault *fault)
{
	CLEANUP(byte_buf_done) struct byte_buf text = BYTE_BUF_INIT(ANSWER_MAX_BYTES);
	CLEANUP(close_fd) int fd = -1;
	char line[REQUEST_MAX_BYTES];
	int length = snprintf(line, sizeof(line), "%s\n", request);
	enum hfkv_status status = connect_to(path, &fd, ret_pid, fault);
	if (status != HFKV_OK)
		return status;
	if (length < 0 || (size_t)length >= sizeof(line) || send(fd, line, (size_t)length, MSG_NOSIGNAL) != length)
		return fault_set(fault, HFKV_UNAVAILABLE, "the daemon at '%s' takes no request", path);
	status = read_answer(fd, path, &text, deadline, fault);
	if (status != HFKV_OK)
		return status;
	json_t *answer = json_loadb(text.data ? text.data : "", text.length, 0, NULL);
	if (!answer)
		return fault_set(fault, HFKV_UNAVAILABLE, "the daemon at '%s' went away without an answer", path);
	*ret_answer = answer;
	return HFKV_OK;
}
