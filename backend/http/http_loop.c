/*
 * The loop thread: takes streams in, admits as many as the limits allow, drives libcurl with epoll, and ends
 * calls whose deadline, stall limit, cancel flag or client-wide abort says so.
 */
#include "backend/http/http_loop.h"

#include "common/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define EVENTS_AT_ONCE 64

static void list_append(struct http_list *list, struct http_stream *stream)
{
	stream->previous = list->last;
	stream->next = NULL;
	if (list->last)
		list->last->next = stream;
	else
		list->first = stream;
	list->last = stream;
	list->count++;
}

static void list_remove(struct http_list *list, struct http_stream *stream)
{
	if (stream->previous)
		stream->previous->next = stream->next;
	else
		list->first = stream->next;
	if (stream->next)
		stream->next->previous = stream->previous;
	else
		list->last = stream->previous;
	stream->previous = stream->next = NULL;
	list->count--;
}

static void wake(struct http_client *client)
{
	uint64_t one = 1;
	/* A full counter means that a wake-up is pending already. */
	MAYBE_UNUSED ssize_t written = write(client->wake_fd, &one, sizeof(one));
}

void http_loop_attend(struct http_client *client)
{
	atomic_store(&client->attention, true);
	wake(client);
}

/* ---- origins ---- */

/* The origin's slot, or any unused one, or slot 0 when all are taken (it then shares that one's limit). */
static size_t origin_slot_find(struct http_client *client, const char *text)
{
	size_t unused = 0;
	for (size_t i = HTTP_ORIGINS_MAX; i-- > 0;) {
		struct http_origin_slot *slot = &client->origins[i];
		if (slot->holders > 0 && strcmp(slot->text, text) == 0)
			return i;
		if (slot->holders == 0)
			unused = i;
	}
	struct http_origin_slot *slot = &client->origins[unused];
	if (slot->holders == 0)
		memcpy(slot->text, text, strlen(text) + 1);
	return unused;
}

/* ---- ends ---- */

static void forget_dirty(struct http_client *client, struct http_stream *stream)
{
	for (struct http_stream **at = &client->dirty; *at; at = &(*at)->next_dirty) {
		if (*at == stream) {
			*at = stream->next_dirty;
			return;
		}
	}
}

/* Takes an active stream off libcurl; its easy handle is kept for the next one. */
static void detach(struct http_client *client, struct http_stream *stream)
{
	curl_multi_remove_handle(client->multi, stream->easy);
	list_remove(&client->active, stream);
	if (stream->is_dirty)
		forget_dirty(client, stream);
	client->origins[stream->origin_slot].active--;
	client->origins[stream->origin_slot].holders--;
	if (client->n_spare < HTTP_SPARE_EASIES) {
		curl_easy_reset(stream->easy);
		client->spare[client->n_spare++] = stream->easy;
	} else {
		curl_easy_cleanup(stream->easy);
	}
	stream->easy = NULL;
}

static void give_up_waiting(struct http_client *client, struct http_stream *stream, enum hfkv_status status,
			    const char *reason)
{
	list_remove(&client->waiting, stream);
	client->origins[stream->origin_slot].holders--;
	http_transfer_fail(stream, status, reason);
}

static void collect_finished(struct http_client *client)
{
	CURLMsg *message;
	int left;
	while ((message = curl_multi_info_read(client->multi, &left))) {
		struct http_stream *stream = NULL;
		CURLcode code = message->data.result;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&stream);
		detach(client, stream);
		http_transfer_end(stream, code);
	}
}

/* ---- beginnings ---- */

static void take_incoming(struct http_client *client)
{
	struct http_list taken;
	{
		SCOPED_LOCK(&client->mutex);
		taken = client->incoming;
		client->incoming = (struct http_list){ 0 };
	}
	for (struct http_stream *stream = taken.first, *next; stream; stream = next) {
		next = stream->next;
		stream->origin_slot = origin_slot_find(client, stream->origin.text);
		client->origins[stream->origin_slot].holders++;
		if (stream->deadline.at_ms < client->next_check_ms)
			client->next_check_ms = stream->deadline.at_ms;
		list_append(&client->waiting, stream);
		atomic_store(&client->attention, true); /* it may have been given up before we knew it */
	}
}

static void admit(struct http_client *client, struct http_stream *stream)
{
	list_remove(&client->waiting, stream);
	stream->easy = client->n_spare > 0 ? client->spare[--client->n_spare] : curl_easy_init();
	if (!stream->easy || !http_transfer_begin(stream) ||
	    curl_multi_add_handle(client->multi, stream->easy) != CURLM_OK) {
		if (stream->easy)
			curl_easy_cleanup(stream->easy);
		stream->easy = NULL;
		client->origins[stream->origin_slot].holders--;
		http_transfer_fail(stream, HFKV_NO_MEMORY, "no memory");
		return;
	}
	list_append(&client->active, stream);
	client->origins[stream->origin_slot].active++;
	stream->progress_at_ms = clock_now_ms();
	if (stream->progress_at_ms + stream->stall_ms < client->next_check_ms)
		client->next_check_ms = stream->progress_at_ms + stream->stall_ms;
}

static void admit_waiting(struct http_client *client)
{
	for (struct http_stream *stream = client->waiting.first, *next; stream; stream = next) {
		next = stream->next;
		if (client->active.count >= client->settings.max_calls)
			return;
		if (client->origins[stream->origin_slot].active < client->settings.max_calls_per_origin)
			admit(client, stream);
	}
}

/* ---- asked and due ---- */

static enum hfkv_status asked_to_end(struct http_client *client, struct http_stream *stream)
{
	SCOPED_LOCK(&client->mutex);
	bool ended = client->aborted || atomic_load(&stream->abort_asked) ||
		     (stream->cancel && atomic_load(&stream->cancel->fired));
	return ended ? HFKV_CANCELLED : HFKV_OK;
}

static void attend(struct http_client *client)
{
	if (!atomic_exchange(&client->attention, false))
		return;
	for (struct http_stream *stream = client->waiting.first, *next; stream; stream = next) {
		next = stream->next;
		if (asked_to_end(client, stream) != HFKV_OK)
			give_up_waiting(client, stream, HFKV_CANCELLED, "given up");
	}
	for (struct http_stream *stream = client->active.first, *next; stream; stream = next) {
		next = stream->next;
		if (asked_to_end(client, stream) != HFKV_OK) {
			detach(client, stream);
			http_transfer_fail(stream, HFKV_CANCELLED, "given up");
		} else if (atomic_exchange(&stream->resume_asked, false)) {
			stream->progress_at_ms = clock_now_ms();
			client->next_check_ms = stream->progress_at_ms; /* its stall limit counts again */
			CURLcode code = curl_easy_pause(stream->easy, CURLPAUSE_CONT);
			if (code != CURLE_OK) {
				detach(client, stream);
				http_transfer_end(stream, code);
			}
		}
	}
}

/* When this active stream has to be looked at: its deadline or its stall limit. */
static int64_t stall_at_ms(struct http_stream *stream)
{
	SCOPED_LOCK(&stream->mutex);
	int64_t at_ms;
	if (stream->paused || __builtin_add_overflow(stream->progress_at_ms, stream->stall_ms, &at_ms))
		return INT64_MAX;
	return at_ms;
}

static void end_due(struct http_client *client)
{
	int64_t now_ms = clock_now_ms();
	if (now_ms < client->next_check_ms)
		return;
	int64_t next_ms = INT64_MAX;
	for (struct http_stream *stream = client->waiting.first, *next; stream; stream = next) {
		next = stream->next;
		if (stream->deadline.at_ms <= now_ms)
			give_up_waiting(client, stream, HFKV_TIMEOUT, "no free connection before the deadline");
		else if (stream->deadline.at_ms < next_ms)
			next_ms = stream->deadline.at_ms;
	}
	for (struct http_stream *stream = client->active.first, *next; stream; stream = next) {
		next = stream->next;
		int64_t stall_ms = stall_at_ms(stream);
		int64_t due_ms = stall_ms < stream->deadline.at_ms ? stall_ms : stream->deadline.at_ms;
		if (due_ms <= now_ms) {
			bool late = stream->deadline.at_ms <= now_ms;
			detach(client, stream);
			http_transfer_fail(stream, HFKV_TIMEOUT,
					   late ? "no complete answer before the deadline"
						: "no byte moved within the stall limit");
		} else if (due_ms < next_ms) {
			next_ms = due_ms;
		}
	}
	client->next_check_ms = next_ms;
}

static void flush_dirty(struct http_client *client)
{
	while (client->dirty) {
		struct http_stream *stream = client->dirty;
		client->dirty = stream->next_dirty;
		stream->is_dirty = false;
		http_transfer_flush(stream);
	}
}

/* ---- libcurl's sockets and timer ---- */

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context)
{
	struct http_client *client = context;
	(void)easy;
	struct epoll_event event = { .data.fd = socket };
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, socket, NULL);
		curl_multi_assign(client->multi, socket, NULL);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	if (epoll_ctl(client->epoll_fd, socket_context ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) != 0 &&
	    errno == (socket_context ? ENOENT : EEXIST))
		epoll_ctl(client->epoll_fd, socket_context ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
	curl_multi_assign(client->multi, socket, client); /* "known to epoll" */
	return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
	struct http_client *client = context;
	(void)multi;
	client->curl_due_ms = timeout_ms < 0 ? INT64_MAX : clock_now_ms() + timeout_ms;
	return 0;
}

static int wait_ms(const struct http_client *client)
{
	int64_t due_ms = client->curl_due_ms < client->next_check_ms ? client->curl_due_ms : client->next_check_ms;
	if (due_ms == INT64_MAX)
		return -1;
	int64_t left_ms = due_ms - clock_now_ms();
	if (left_ms < 0)
		return 0;
	return left_ms > 60000 ? 60000 : (int)left_ms;
}

static void move_bytes(struct http_client *client)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int running, count = epoll_wait(client->epoll_fd, events, EVENTS_AT_ONCE, wait_ms(client));
	for (int i = 0; i < count; i++) {
		uint32_t seen = events[i].events;
		if (events[i].data.fd == client->wake_fd) {
			uint64_t wakes;
			MAYBE_UNUSED ssize_t taken = read(client->wake_fd, &wakes, sizeof(wakes));
			continue;
		}
		int what = (seen & EPOLLIN ? CURL_CSELECT_IN : 0) | (seen & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (seen & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
		curl_multi_socket_action(client->multi, events[i].data.fd, what, &running);
	}
	if (clock_now_ms() >= client->curl_due_ms) {
		client->curl_due_ms = INT64_MAX;
		curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

static bool is_stopping(struct http_client *client)
{
	SCOPED_LOCK(&client->mutex);
	return client->stopping;
}

static void *loop_run(void *context)
{
	struct http_client *client = context;
	pthread_setname_np(pthread_self(), "hfkv-http");
	while (!is_stopping(client)) {
		take_incoming(client);
		attend(client);
		admit_waiting(client);
		move_bytes(client);
		collect_finished(client);
		flush_dirty(client);
		end_due(client);
	}
	return NULL;
}

/* ---- start and stop ---- */

static bool loop_prepare(struct http_client *client)
{
	client->multi = curl_multi_init();
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!client->multi || client->epoll_fd < 0 || client->wake_fd < 0)
		return false;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = client->wake_fd };
	if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->wake_fd, &event) != 0)
		return false;
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 32L); /* kept open when idle */
	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	client->curl_due_ms = client->next_check_ms = INT64_MAX;
	return true;
}

static void loop_release(struct http_client *client)
{
	while (client->n_spare > 0)
		curl_easy_cleanup(client->spare[--client->n_spare]);
	if (client->multi)
		curl_multi_cleanup(client->multi);
	client->multi = NULL;
	close_fd(&client->epoll_fd);
	close_fd(&client->wake_fd);
	client->epoll_fd = client->wake_fd = -1;
}

/* Signals are for the program's own threads. */
static int create_thread(struct http_client *client)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&client->thread, NULL, loop_run, client);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

/* client->mutex is held. */
static enum hfkv_status start_once(struct http_client *client, struct fault *fault)
{
	if (client->started)
		return client->owner_pid == getpid()
			   ? HFKV_OK
			   : fault_set(fault, HFKV_BUG,
				       "an HTTP client is used in a process that forked from its owner");
	int failed = loop_prepare(client) ? create_thread(client) : errno;
	if (failed) {
		loop_release(client);
		return fault_set_errno(fault, failed, "starting the HTTP thread");
	}
	client->owner_pid = getpid();
	client->started = true;
	return HFKV_OK;
}

enum hfkv_status http_loop_submit(struct http_client *client, struct http_stream *stream, struct fault *fault)
{
	{
		SCOPED_LOCK(&client->mutex);
		if (client->aborted)
			return fault_set(fault, HFKV_CANCELLED, "%s: given up, as the program is ending",
					 stream->label);
		enum hfkv_status status = start_once(client, fault);
		if (status != HFKV_OK)
			return status;
		list_append(&client->incoming, stream);
	}
	wake(client);
	return HFKV_OK;
}

bool http_loop_stop(struct http_client *client)
{
	{
		SCOPED_LOCK(&client->mutex);
		if (!client->started)
			return true;
		if (client->owner_pid != getpid())
			return false;
		client->stopping = true;
	}
	wake(client);
	pthread_join(client->thread, NULL);
	loop_release(client);
	return true;
}
