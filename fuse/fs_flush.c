/* FLUSH and FSYNC: where a file written in place is committed, and where a commit is waited for. */
#include "fuse/fs_handle.h"
#include "fuse/fs_place.h"
#include "fuse/fs_publish.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_task.h"
#include "fuse/fs_write.h"

#include <errno.h>

static void run_flush(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = fs_publish(task->session, task->inode, task->path, task->deadline, &fault);
	/* Removed meanwhile: then there is nothing to commit, and nothing wrong with the close. */
	if (status == HFKV_NOT_FOUND)
		status = HFKV_OK;
	fs_reply_status(task->request, FS_OP_FLUSH, task->path, status, &fault);
}

/* Marks the handle's writes as complete. Whether the file has something to commit in place; *ret_size is its size then,
 * *ret_failed the outcome of a write that did not fit. */
static bool seal(struct fs_handle *handle, uint64_t *ret_size, enum hfkv_status *ret_failed)
{
	SCOPED_LOCK(&handle->inode->mutex);
	struct fs_file *file = &handle->inode->file;
	if (handle->unsealed) {
		handle->unsealed = false;
		file->unsealed--;
	}
	if (file->role != FS_ROLE_WRITER || file->removed || (!file->changed && file->failed == HFKV_OK) || !file->body)
		return false;
	*ret_size = staged_file_size(file->body);
	*ret_failed = file->failed;
	return true;
}

void fs_op_flush(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_FLUSH);
	(void)node;
	struct fs_handle *handle = fs_handle_of(info);
	uint64_t size_bytes = 0;
	enum hfkv_status failed = HFKV_OK;
	if (!handle || !handle->owns_body || !seal(handle, &size_bytes, &failed)) {
		fs_reply_done(request);
		return;
	}
	CLEANUP(free_pointer) char *path = fs_place_object_path(session, handle->inode);
	if (!path) { /* the directory was moved under scratch, or the name is gone */
		fs_reply_done(request);
		return;
	}
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = failed;
	if (status == HFKV_OK)
		status = kv_cache_check_size(session->cache, path, size_bytes, &fault);
	else
		fault_set(&fault, status, "an earlier write did not fit");
	if (status != HFKV_OK) {
		fs_reply_status(request, FS_OP_FLUSH, path, status, &fault);
		return;
	}
	struct fs_task *task =
		fs_task_new(request, FS_OP_FLUSH, inode_table_ref(session->inodes, handle->inode), NULL);
	if (!task)
		return;
	task->path = TAKE_PTR(path);
	fs_task_submit(task, run_flush);
}

/* ---- FSYNC ---- */

static void run_sync(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = kv_cache_sync(task->session->cache, task->path, task->deadline, &fault);
	fs_reply_status(task->request, FS_OP_FSYNC, task->path, status, &fault);
}

void fs_op_fsync(fuse_req_t request, fuse_ino_t node, int data_only, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_FSYNC);
	(void)data_only;
	(void)info;
	struct fs_inode *inode = fs_inode_of(session, node);
	pthread_mutex_lock(&inode->mutex);
	bool published = inode->file.published || inode->file.role == FS_ROLE_COMMITTED;
	pthread_mutex_unlock(&inode->mutex);
	char *path = published ? fs_place_object_path(session, inode) : NULL;
	if (!path) { /* never published: nothing to wait for */
		fs_reply_done(request);
		return;
	}
	struct fs_task *task = fs_task_new(request, FS_OP_FSYNC, NULL, NULL);
	if (!task) {
		free(path);
		return;
	}
	task->path = path;
	fs_task_submit(task, run_sync);
}

void fs_op_fsyncdir(fuse_req_t request, fuse_ino_t node, int data_only, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_FSYNC);
	(void)data_only;
	(void)info;
	if (node != FUSE_ROOT_ID) {
		fs_reply_done(request);
		return;
	}
	struct fs_task *task = fs_task_new(request, FS_OP_FSYNC, NULL, NULL);
	if (task)
		fs_task_submit(task, run_sync); /* without a path: everything */
}
