#include "fuse/fs_read.h"

#include "fuse/fs_handle.h"
#include "fuse/fs_body.h"
#include "fuse/fs_place.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_status_file.h"
#include "fuse/fs_task.h"
#include "fuse/range_reader.h"

#include <errno.h>

/* The pages stay ours: no FUSE_BUF_SPLICE_MOVE. */
static void reply_from_body(fuse_req_t request, struct staged_file *body, size_t size, off_t offset)
{
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(size);
	bytes.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	bytes.buf[0].fd = staged_file_fd(body);
	bytes.buf[0].pos = offset;
	fuse_reply_data(request, &bytes, 0);
}

static void run_read_range(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	size_t got = 0;
	CLEANUP(free_pointer) char *bytes = malloc(task->length);
	enum hfkv_status status = HFKV_NO_MEMORY;
	if (bytes)
		status = range_reader_read(task->handle->ranges, task->offset, task->length, bytes, &got,
					   task->deadline, &fault);
	if (status == HFKV_OK)
		fuse_reply_buf(task->request, bytes, got);
	else
		fs_reply_status(task->request, FS_OP_READ, NULL, status, &fault);
}

/* A write open without truncation that reads after all: stages the content now. */
static void run_read_shadow(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	struct staged_file *content = NULL;
	CLEANUP(free_pointer) char *path = fs_place_object_path(task->session, task->inode);
	enum hfkv_status status = HFKV_CHANGED;
	if (path)
		status = kv_cache_open_reader(task->session->cache, path, task->deadline, &content, NULL, &fault);
	if (status != HFKV_OK) {
		fs_reply_status(task->request, FS_OP_READ, path, status, &fault);
		return;
	}
	struct fs_file *file = &task->inode->file;
	CLEANUP(staged_file_unrefp) struct staged_file *unused = content;
	pthread_mutex_lock(&task->inode->mutex);
	if (!file->body) {
		file->body = TAKE_PTR(unused);
		file->body_is_shared = true;
	}
	CLEANUP(staged_file_unrefp) struct staged_file *body = staged_file_ref(file->body);
	pthread_mutex_unlock(&task->inode->mutex);
	reply_from_body(task->request, body, task->length, (off_t)task->offset);
}

static void park_read(fuse_req_t request, struct fs_handle *handle, size_t size, off_t offset,
		      void (*run)(struct fs_task *task))
{
	struct fs_session *session = fs_session_of(request);
	struct fs_task *task =
		fs_task_new(request, FS_OP_READ, inode_table_ref(session->inodes, handle->inode), NULL);
	if (!task)
		return;
	task->handle = handle; /* the kernel sends its release after this answer */
	task->length = size;
	task->offset = (uint64_t)offset;
	fs_task_submit(task, run);
}

void fs_op_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info)
{
	fs_count(fs_session_of(request), FS_OP_READ);
	(void)node;
	struct fs_handle *handle = fs_handle_of(info);
	if (handle->status_text) {
		fs_status_file_read(request, handle, size, offset);
		return;
	}
	if (handle->ranges) {
		park_read(request, handle, size, offset, run_read_range);
		return;
	}
	CLEANUP(staged_file_unrefp) struct staged_file *body = fs_body_now(handle->inode);
	if (body)
		reply_from_body(request, body, size, offset);
	else
		park_read(request, handle, size, offset, run_read_shadow);
}
