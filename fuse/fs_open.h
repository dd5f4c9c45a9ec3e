/*
 * Opening and closing files: which body an open gets, and whether the kernel or the daemon does its I/O.
 *
 * An open that must not share the inode's body (it truncates, or writes to a committed object) cannot be answered with another
 * inode. It is answered ESTALE and noted (fs_retry.h); the kernel looks the name up once more, is given a fresh inode reserved for the
 * calling thread, and opens that.
 */
#ifndef FUSE_FS_OPEN_H
#define FUSE_FS_OPEN_H

#include "fuse/fs_handle.h"

void fs_op_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void fs_op_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);

/* Enters `handle` in its inode, decides how its I/O is done, fills *info for the answer. `content` (a reference that is
 * taken; NULL: none) becomes the inode's body when it has none. False, and nothing entered: the body is gone meanwhile. */
MUST_CHECK bool fs_open_enter(fuse_req_t request, struct fs_handle *handle, struct staged_file *content,
			      struct fuse_file_info *info);

#endif
