/*
 * The directory a mount goes on: whether it can, whether something is there already, and taking a mount away.
 *
 * Main thread only.
 */
#ifndef SRC_CLI_MOUNTPOINT_H
#define SRC_CLI_MOUNTPOINT_H

#include "common/fault.h"

#include <stdbool.h>

/* The absolute path without symbolic links, malloc'd. Works on a dead FUSE mount too. INVALID: not a directory; NOT_FOUND. */
MUST_CHECK enum hfkv_status mountpoint_resolve(const char *path, char **ret_path, struct fault *fault);

/* Whether the topmost mount at exactly `path` (resolved) is of type fuse.hfkv. */
bool mountpoint_has_mount(const char *path);

/* Whether the mount at `path` has lost its daemon ("Transport endpoint is not connected"). */
bool mountpoint_is_dead(const char *path);

/* Unmounts: by the kernel as root, by fusermount3 as a user. `lazily`: also when in use, or dead. BUSY when in use. */
MUST_CHECK enum hfkv_status mountpoint_unmount(const char *path, bool lazily, struct fault *fault);

#endif
