/*
 * One open of one file: what this handle may do, apart from what its inode is.
 *
 * Made by open and create, found again through fuse_file_info.fh, ended by release. The handle references its inode.
 */
#ifndef FUSE_FS_HANDLE_H
#define FUSE_FS_HANDLE_H

#include "fuse/fs_state.h"

struct range_reader;

struct fs_handle {
	struct fs_inode *inode;
	bool writes;                 /* opened for writing */
	bool owns_body;              /* counted in file.writers: may change the body */
	bool unsealed;               /* counted in file.unsealed */
	bool passthrough;            /* the kernel reads and writes without us */
	char *status_text;           /* the status file's content at open */
	size_t status_bytes;
	struct range_reader *ranges; /* plain: a file too large to stage */
};

/* A handle on `inode` (a reference is taken). NULL: no memory. Does not touch the inode's counts. */
struct fs_handle *fs_handle_new(struct fs_session *session, struct fs_inode *inode);
/* Frees it and drops its reference; NULL is fine. */
void fs_handle_free(struct fs_session *session, struct fs_handle *handle);

static inline struct fs_handle *fs_handle_of(const struct fuse_file_info *info)
{
	return info ? (struct fs_handle *)(uintptr_t)info->fh : NULL;
}

/* Enters the handle in its inode's counts; the inode's mutex is held. */
void fs_handle_enter(struct fs_handle *handle);

/* Takes it out again and ends what its absence ends: backing id, staged body, uncommitted body, scratch expiry. No lock held.
 * `request` is any live request of the session (the backing id is closed through it). */
void fs_handle_leave(struct fs_handle *handle, fuse_req_t request);

/* As leave and free, for a handle whose answer the kernel no longer wanted; there is no request to close a backing id with. */
void fs_handle_abandon(struct fs_session *session, struct fs_handle *handle);

#endif
