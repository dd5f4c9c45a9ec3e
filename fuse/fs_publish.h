/*
 * Giving a body to the cache under an object's path, and what becomes of its inode then.
 */
#ifndef FUSE_FS_PUBLISH_H
#define FUSE_FS_PUBLISH_H

#include "fuse/fs_state.h"

/* Publishes the inode's body under `path`, waiting for writes in flight first. OK with the inode marked published; NOT_FOUND
 * when its name was removed meanwhile; PARTIAL_KV_CHUNK and OVERSIZE by the size rule, and then nothing was uploaded.
 * Blocks until `deadline`; no lock may be held. */
MUST_CHECK enum hfkv_status fs_publish(struct fs_session *session, struct fs_inode *inode, const char *path,
				       struct deadline deadline, struct fault *fault);

/* Waits, shortly, until no write handle is open: a RELEASE follows close(2) at once, but on a way of its own. */
void fs_publish_await_release(struct fs_inode *inode);

#endif
