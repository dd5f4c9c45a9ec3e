/*
 * The HTTP side of the server: accepts connections, turns requests into struct request, sends replies, and
 * carries out what test controls ask for. The only file that knows how libmicrohttpd is driven; it works with
 * 0.9.75 and 1.0.
 *
 * One thread for each connection: a handler may block on the disk (or in a test's delay) without slowing
 * another connection.
 */
#ifndef BACKEND_LOCAL_SERVER_HTTP_LISTENER_H
#define BACKEND_LOCAL_SERVER_HTTP_LISTENER_H

#include "backend/local_server/request.h"

struct http_listener;

/* Serves on the listening socket `listen_fd`, which it owns when it returns OK. `shared` is borrowed until stop
 * has returned. */
MUST_CHECK enum hfkv_status http_listener_start(struct server_shared *shared, int listen_fd,
						struct http_listener **ret_listener, struct fault *fault);
/* Closes all connections and waits for their handlers. The caller has made shared->stop_fd readable. NULL is fine.
 */
void http_listener_stop(struct http_listener *listener);

#endif
