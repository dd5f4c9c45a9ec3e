/*
 * READ: spliced from the staged body where there is one, by range or from the status text otherwise.
 */
#ifndef FUSE_FS_READ_H
#define FUSE_FS_READ_H

#include "fuse/fs_state.h"

void fs_op_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info);

#endif
