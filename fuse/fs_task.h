/*
 * A request that cannot be answered on the thread that received it: parked with everything its answer needs.
 *
 * Session threads touch memory and staging only. Work that may wait for the network runs on the session's pool
 * (fs_task_submit) or continues from a callback of the cache; either way the request is answered exactly once, by `run`,
 * by the callback, or by fs_task itself when the pool refuses or shuts down. An interrupt does not cut a request
 * short: every wait ends by the session's timeout.
 */
#ifndef FUSE_FS_TASK_H
#define FUSE_FS_TASK_H

#include "common/clock.h"
#include "fuse/fs_state.h"

struct fs_task {
	struct work_item item;
	struct fs_session *session;
	fuse_req_t request;
	enum fs_operation operation;
	void (*run)(struct fs_task *task); /* answers; the task is freed when it returns */
	struct deadline deadline;

	/* What the operation needs; all owned, any may be NULL. Inodes are referenced. */
	struct fs_inode *inode;     /* the subject, or the directory of `name` */
	struct fs_inode *directory; /* rename: the target's directory */
	char *name, *new_name;
	char *path, *new_path; /* object or directory paths in the cache */
	struct fs_handle *handle;
	struct fuse_file_info info;
	unsigned flags;
	uint64_t offset, length;
};

/* Parks a request. The references given become the task's also when this fails, which has answered the request: NULL. */
struct fs_task *fs_task_new(fuse_req_t request, enum fs_operation operation, struct fs_inode *inode, const char *name);

/* Hands the task to the pool, which calls task->run; answers and frees it when the pool will not. Not from inside `run`. */
void fs_task_submit(struct fs_task *task, void (*run)(struct fs_task *task));

/* Frees a task whose request was answered outside of `run`. */
void fs_task_free(struct fs_task *task);

/* Blocks until no request is parked. */
void fs_task_wait_all(struct fs_session *session);

#endif
