/*
 * The end of what nobody uses: scratch files an hour after their last handle closed, and reservations whose open never came.
 *
 * One thread sleeps until the next of them is due. Any thread may call; no lock may be held.
 */
#ifndef FUSE_FS_SCRATCH_H
#define FUSE_FS_SCRATCH_H

#include "fuse/fs_state.h"

#define FS_SCRATCH_LIFE_MS (60 * 60 * 1000) /* after the last handle closed */
#define FS_RESERVATION_MS  (5 * 1000)       /* between the two opens of one open(2) */
#define FS_SCRATCH_MAX     65536            /* scratch files of one mount; more are NO_SPACE */

MUST_CHECK enum hfkv_status fs_scratch_start(struct fs_session *session);
/* NULL-safe for a session whose start failed. */
void fs_scratch_stop(struct fs_session *session);

/* Ends the inode's name and body in `life_ms` unless it is cancelled or opened before. References it meanwhile. */
void fs_scratch_expire_after(struct fs_session *session, struct fs_inode *inode, int64_t life_ms);
void fs_scratch_cancel_expiry(struct fs_session *session, struct fs_inode *inode);

/* Ends what is due at `now_ms`; returns when the next one is, INT64_MAX for none. What the thread does; also for tests. */
int64_t fs_scratch_sweep(struct fs_session *session, int64_t now_ms);

/* How many inodes wait for their end. */
size_t fs_scratch_count(struct fs_session *session);

#endif
