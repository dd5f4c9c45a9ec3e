/*
 * LOOKUP and FORGET: from a name to an inode, answered from memory where the cache knows, else when it does.
 */
#ifndef FUSE_FS_LOOKUP_H
#define FUSE_FS_LOOKUP_H

#include "fuse/fs_state.h"

void fs_op_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void fs_op_forget(fuse_req_t request, fuse_ino_t node, uint64_t count);
void fs_op_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets);

#endif
