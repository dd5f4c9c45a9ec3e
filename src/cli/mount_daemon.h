/*
 * A mount's life in the process that serves it: store, cache and session put together, signals, control socket, and the
 * end in order: unmount, drain, say what was left.
 *
 * Main thread only.
 */
#ifndef SRC_CLI_MOUNT_DAEMON_H
#define SRC_CLI_MOUNT_DAEMON_H

#include "src/cli/daemonize.h"
#include "src/cli/mount_options.h"

/* Serves until it is unmounted or told to end. The exit code; errors were printed or logged. `start` is told when the mount
 * answers. */
int mount_daemon_run(const struct mount_options *options, struct daemon_start *start);

#endif
