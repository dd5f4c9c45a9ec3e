/*
 * Extended attributes of files, read only: user.hfkv.key, .object, .xet_hash, .state.
 */
#ifndef FUSE_FS_XATTR_H
#define FUSE_FS_XATTR_H

#include "fuse/fs_state.h"

void fs_op_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size);
void fs_op_listxattr(fuse_req_t request, fuse_ino_t node, size_t size);

#endif
