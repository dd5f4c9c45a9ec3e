/*
 * KV chunks as .data files in directories: local disks, NFS, or hfkv's own mount. One file a key,
 * written as a temporary and renamed into place, so a reader sees a whole body or none.
 *
 * File names and the choice among several directories are LMCache's, in both directions. It is a kv_backend: calls
 * go through kv_backend.h.
 */
#ifndef SRC_CONNECTOR_FS_CONNECTOR_H
#define SRC_CONNECTOR_FS_CONNECTOR_H

#include "src/connector/connector_config.h"
#include "src/connector/kv_backend.h"
#include "src/connector/size_rule.h"

#include <stdatomic.h>

/* Makes the directories; a base path that is a file or may not be written is an error here. Takes `rule` over
 * at success. */
MUST_CHECK enum hfkv_status fs_connector_new(const struct connector_config *config, struct size_rule *rule,
					     struct kv_backend **ret_backend, struct fault *fault);

/* Whether a base path lies on a FUSE mount, where a file system call may ask the network. */
bool fs_connector_is_on_fuse(const struct kv_backend *backend);

/* Removes temporaries of dead writers (fs_sweep.h); not on FUSE mounts, which expire theirs. Ends early when
 * *stop becomes true. Blocks on the disk. */
void fs_connector_sweep(struct kv_backend *backend, const atomic_bool *stop);

#endif
