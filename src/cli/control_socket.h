/*
 * How other commands talk to a mount's daemon: one request line, one answer line, over a socket of the registry (0600, and
 * the peer's user is checked).
 *
 *     status            {"mountpoint": ..., ...}            see mount_status.h
 *     drain SECONDS     {"drained": true} or {"error": "..."}   everything published is in the bucket
 */
#ifndef SRC_CLI_CONTROL_SOCKET_H
#define SRC_CLI_CONTROL_SOCKET_H

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fault.h"

#include <jansson.h>
#include <sys/types.h>

struct control_server;

/* The answer to one request line, a new reference; NULL is answered as an error. Called from threads of the server, several
 * at once; may block. */
typedef json_t *(*control_answer)(void *context, const char *request);

/* Listens at `path` (a left-over is replaced) and answers from threads of its own. */
MUST_CHECK enum hfkv_status control_server_new(const char *path, control_answer answer, void *context,
					       struct control_server **ret_server, struct fault *fault);

/* Stops listening, waits for the answers under way. NULL is fine. */
void control_server_free(struct control_server *server);
DEFINE_CLEANUP(control_server_free, struct control_server *);

/* Asks the daemon behind `path`. *ret_pid (may be NULL) is its process as the kernel tells it. UNAVAILABLE: nobody answers.
 * The caller decrefs *ret_answer. */
MUST_CHECK enum hfkv_status control_ask(const char *path, const char *request, struct deadline deadline,
					json_t **ret_answer, pid_t *ret_pid, struct fault *fault);

#endif
