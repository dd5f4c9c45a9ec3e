/*
 * Making and writing files: CREATE, WRITE, FALLOCATE, and the commit of a file written in place at FLUSH.
 */
#ifndef FUSE_FS_WRITE_H
#define FUSE_FS_WRITE_H

#include "fuse/fs_state.h"

void fs_op_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info);
void fs_op_write_buf(fuse_req_t request, fuse_ino_t node, struct fuse_bufvec *bytes, off_t offset,
		     struct fuse_file_info *info);
void fs_op_fallocate(fuse_req_t request, fuse_ino_t node, int mode, off_t offset, off_t length,
		     struct fuse_file_info *info);

void fs_op_flush(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void fs_op_fsync(fuse_req_t request, fuse_ino_t node, int data_only, struct fuse_file_info *info);
void fs_op_fsyncdir(fuse_req_t request, fuse_ino_t node, int data_only, struct fuse_file_info *info);

#endif
