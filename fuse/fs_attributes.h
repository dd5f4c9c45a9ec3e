/*
 * Attributes: what stat shows, and chmod, chown, utimens and truncate.
 *
 * Modes, owners and times are kept in memory while the inode lives; nothing of them reaches the bucket.
 */
#ifndef FUSE_FS_ATTRIBUTES_H
#define FUSE_FS_ATTRIBUTES_H

#include "fuse/fs_state.h"

#define FS_BLOCK_BYTES 4096 /* st_blksize and statfs: what O_DIRECT users align to */

/* Start attributes of a new inode: mode and owner from the settings, times from `modified_at_ms` (0: now). */
void fs_attributes_init(struct fs_session *session, struct fs_inode *inode, int64_t modified_at_ms);

/* Fills *ret_stat and says how long the kernel may believe it. Takes the inode's mutex. */
void fs_attributes_fill(struct fs_session *session, struct fs_inode *inode, struct stat *ret_stat, int64_t *ret_holds_ms);

/* The body was written now: times, and no set-user-id any more. The inode's mutex is held. */
void fs_attributes_touch(struct fs_inode *inode);

void fs_op_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void fs_op_setattr(fuse_req_t request, fuse_ino_t node, struct stat *wanted, int to_set, struct fuse_file_info *info);
void fs_op_statfs(fuse_req_t request, fuse_ino_t node);

#endif
