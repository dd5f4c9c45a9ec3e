/*
 * The bytes of a file that is being written: a staging body of its own, grown within the limits, and copied before a write
 * when the cache has it.
 *
 * Memory and staging only; never the network. No lock may be held, unless said.
 */
#ifndef FUSE_FS_BODY_H
#define FUSE_FS_BODY_H

#include "fuse/fs_state.h"

struct fs_handle;

/* Gives the inode a new, empty body, with room for `expected_bytes` reserved. */
MUST_CHECK enum hfkv_status fs_body_begin(struct fs_session *session, struct fs_inode *inode, uint64_t expected_bytes,
					  struct fault *fault);

/* Gives the inode a body with a copy of `content`'s bytes. */
MUST_CHECK enum hfkv_status fs_body_begin_with(struct fs_session *session, struct fs_inode *inode,
					       struct staged_file *content, struct fault *fault);

/* Before a write through `handle` that ends at `end_bytes` (a truncation: the new size): checks the limit (OVERSIZE), copies a
 * shared body, reserves staging (NO_SPACE). On success the write is counted in flight and *ret_body carries a reference. */
MUST_CHECK enum hfkv_status fs_body_enter_write(struct fs_session *session, struct fs_inode *inode, uint64_t end_bytes,
						struct staged_file **ret_body, struct fault *fault);
/* After it, with its outcome; `handle` may be NULL (truncate by path). A body with a failed write is never committed. */
void fs_body_leave_write(struct fs_inode *inode, struct fs_handle *handle, enum hfkv_status status);

/* The body now, with a reference; NULL when there is none. */
struct staged_file *fs_body_now(struct fs_inode *inode);

#endif
