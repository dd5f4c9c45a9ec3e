/*
 * The insides of a session, shared by the files of fuse/ and nobody else.
 *
 * Lock order: the inode table, then an inode's mutex; the others stand alone. No lock is held across a reply or a call
 * into the cache that may block.
 */
#ifndef FUSE_FS_STATE_H
#define FUSE_FS_STATE_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include "common/work_pool.h"
#include "fuse/fs_name_rule.h"
#include "fuse/fs_retry.h"
#include "fuse/fs_session.h"
#include "fuse/inode_table.h"

#include <stdatomic.h>

struct fs_session {
	struct fs_session_settings settings; /* strings owned */
	struct fs_name_rule rule;
	struct kv_cache *cache;
	uint64_t scratch_limit_bytes; /* no scratch file may be longer */
	struct timespec opened_at;    /* times of what has none of its own */

	struct fuse_session *fuse;
	struct inode_table *inodes;
	struct fs_inode *status_inode;
	struct work_pool *pool; /* for everything that may wait for network or disk */
	int stop_event;         /* eventfd that ends fs_session_run */

	atomic_bool init_answered; /* fuse/fs_device.h */
	atomic_bool passthrough_reads, passthrough_writes; /* granted at the handshake */
	atomic_ullong requests[FS_OP_COUNT];
	atomic_ullong errors, open_files, passthrough_opens;

	struct fs_retries retries;

	/* Requests parked outside the session threads. */
	pthread_mutex_t parked_mutex;
	pthread_cond_t parked_none;
	size_t parked;

	struct fs_scratch_sweeper *sweeper;
};

static inline struct fs_session *fs_session_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

static inline struct fs_inode *fs_inode_of(struct fs_session *session, fuse_ino_t node)
{
	return node == FUSE_ROOT_ID ? inode_table_root(session->inodes) : (struct fs_inode *)(uintptr_t)node;
}

static inline fuse_ino_t fs_node_of(struct fs_session *session, struct fs_inode *inode)
{
	return inode == inode_table_root(session->inodes) ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)inode;
}

static inline void fs_count(struct fs_session *session, enum fs_operation operation)
{
	atomic_fetch_add_explicit(&session->requests[operation], 1, memory_order_relaxed);
}

#endif
