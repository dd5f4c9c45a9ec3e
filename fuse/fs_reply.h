/*
 * Answers to the kernel. The only place that turns a status into an errno, and the only one in fuse/ that logs failures.
 *
 * Every request is answered exactly once by one of these. Any thread; no lock may be held. `name` is for the log only and
 * may be NULL.
 */
#ifndef FUSE_FS_REPLY_H
#define FUSE_FS_REPLY_H

#include "fuse/fs_state.h"

/* Success without a body. */
void fs_reply_done(fuse_req_t request);

/* OK as fs_reply_done; a failure is logged once, by its gravity, and answered with its errno. */
void fs_reply_status(fuse_req_t request, enum fs_operation operation, const char *name, enum hfkv_status status,
		     const struct fault *fault);

/* An errno that is a rule of the mount and no failure of the cache (EPERM, EXDEV, ENOTEMPTY, ...). Logged at debug. */
void fs_reply_errno(fuse_req_t request, enum fs_operation operation, const char *name, int error_number);

/* The inode as an entry that holds for `entry_ms`; counts the kernel's lookup. The caller keeps its reference. */
void fs_reply_entry(fuse_req_t request, struct fs_inode *inode, int64_t entry_ms);

/* No such name, and that for `holds_ms`. */
void fs_reply_absent(fuse_req_t request, int64_t holds_ms);

void fs_reply_attributes(fuse_req_t request, struct fs_inode *inode);

/* Milliseconds from now until `until_ms`, at least 0. */
int64_t fs_time_left_ms(int64_t until_ms);

#endif
