/*
 * Going to the background so that the caller learns how the start went.
 *
 * The first process waits until the daemon says that it is ready, or ended; the daemon keeps stderr until then, so
 * that it can say in its own words what is wrong. Before any thread starts.
 */
#ifndef SRC_CLI_DAEMONIZE_H
#define SRC_CLI_DAEMONIZE_H

#include "common/fault.h"

struct daemon_start {
	int ready_fd; /* to the waiting process; -1 in the foreground or once told */
};

/* Forks. In the daemon: returns OK. In the first process: does not return; it exits 0 when the daemon is ready, else with the
 * daemon's own exit code. */
MUST_CHECK enum hfkv_status daemonize(struct daemon_start *ret_start, struct fault *fault);

/* The daemon works: lets the first process go, and leaves terminal and working directory. `log_file` receives stderr
 * (opened before); -1: /dev/null. Any thread, once. A no-op in the foreground. */
void daemonize_ready(struct daemon_start *start, int log_fd);

#endif
