/*
 * The hidden file .hfkv-status in the root: status and counters as JSON, made anew at each open.
 */
#ifndef FUSE_FS_STATUS_FILE_H
#define FUSE_FS_STATUS_FILE_H

#include "fuse/fs_handle.h"

/* Whether (directory, name) is the status file. */
bool fs_status_file_is(struct fs_session *session, struct fs_inode *directory, const char *name);

void fs_status_file_open(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info);
void fs_status_file_read(fuse_req_t request, const struct fs_handle *handle, size_t size, off_t offset);

#endif
