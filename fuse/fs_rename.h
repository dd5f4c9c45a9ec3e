/*
 * RENAME and UNLINK. A rename from a scratch name to an object's name is the commit.
 */
#ifndef FUSE_FS_RENAME_H
#define FUSE_FS_RENAME_H

#include "fuse/fs_state.h"

void fs_op_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		  unsigned int flags);
void fs_op_unlink(fuse_req_t request, fuse_ino_t parent, const char *name);

#endif
