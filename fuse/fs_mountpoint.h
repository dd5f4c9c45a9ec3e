/*
 * The place a session is mounted on: is it fit, and is a dead mount of ours in the way.
 */
#ifndef FUSE_FS_MOUNTPOINT_H
#define FUSE_FS_MOUNTPOINT_H

#include "common/fault.h"

#include <stdbool.h>

/* Makes sure that `path` is a directory that can be mounted on. A mount there whose daemon is dead ("Transport endpoint is not
 * connected") is taken away when it is of type fuse.hfkv. INVALID, NOT_FOUND, FORBIDDEN otherwise. Touches no other mount. */
MUST_CHECK enum hfkv_status fs_mountpoint_prepare(const char *path, struct fault *fault);

#endif
