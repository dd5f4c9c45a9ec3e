/*
 * Directories: listing them, making and removing them.
 *
 * A directory exists while objects lie below it, or while this mount keeps it: made by mkdir, or emptied by a removal. A
 * listing is taken whole when reading starts at its beginning, so that it does not shift while it is read.
 */
#ifndef FUSE_FS_DIR_H
#define FUSE_FS_DIR_H

#include "fuse/fs_state.h"

void fs_op_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void fs_op_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info);
void fs_op_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info);
void fs_op_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void fs_op_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode);
void fs_op_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name);

/* Keeps the directory in this mount even when the bucket has nothing below it any more. */
void fs_dir_keep(struct fs_session *session, struct fs_inode *directory);

#endif
