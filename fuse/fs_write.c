#include "fuse/fs_write.h"

#include "fuse/fs_attributes.h"
#include "fuse/fs_body.h"
#include "fuse/fs_open.h"
#include "fuse/fs_place.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>

/* ---- CREATE ---- */

static void answer_create(fuse_req_t request, struct fs_handle *handle, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_inode *inode = handle->inode;
	if (!fs_open_enter(request, handle, NULL, info)) {
		fs_handle_free(session, handle);
		fs_reply_status(request, FS_OP_CREATE, NULL, HFKV_BUG, NULL);
		return;
	}
	/* The name is not in the bucket yet, or is scratch: nothing about it may be kept by the kernel. */
	struct fuse_entry_param entry = { .ino = fs_node_of(session, inode) };
	int64_t attributes_ms = 0;
	fs_attributes_fill(session, inode, &entry.attr, &attributes_ms);
	inode_table_looked_up(session->inodes, inode);
	if (fuse_reply_create(request, &entry, info) == 0)
		return;
	fs_handle_abandon(session, handle);
	inode_table_forget(session->inodes, inode, 1);
}

/* How much staging to set aside: the kernel alone enforces what it writes by itself, so that is reserved whole. */
static uint64_t expected_bytes(struct fs_session *session, const struct fs_inode *inode)
{
	if (session->rule.layout == FS_LAYOUT_PLAIN)
		return 0;
	if (inode->file.role == FS_ROLE_SCRATCH && !atomic_load(&session->passthrough_writes))
		return 0;
	return inode->file.limit_bytes;
}

static enum hfkv_status make_file(struct fs_session *session, const struct fs_place *place, pid_t thread,
				  struct fs_inode **ret_inode, struct fault *fault)
{
	bool scratch = place->kind != FS_NAME_OBJECT;
	if (scratch && fs_scratch_count(session) >= FS_SCRATCH_MAX)
		return fault_set(fault, HFKV_NO_SPACE, "there are %d scratch files already; remove some",
				 FS_SCRATCH_MAX);
	struct fs_inode *inode = fs_place_new_file(session, place, scratch ? FS_ROLE_SCRATCH : FS_ROLE_WRITER);
	if (!inode)
		return HFKV_NO_MEMORY;
	inode->file.creator = thread;
	/* An empty file of the plain layout is content; an empty chunk never is. */
	inode->file.changed = session->rule.layout == FS_LAYOUT_PLAIN;
	enum hfkv_status status = fs_body_begin(session, inode, expected_bytes(session, inode), fault);
	if (status == HFKV_OK)
		status = scratch ? fs_place_take(session, place, inode, true) :
				   inode_table_bind_private(session->inodes, place->directory, place->name, inode);
	if (status == HFKV_OK)
		*ret_inode = inode;
	else
		inode_table_unref(session->inodes, inode);
	return status;
}

/* O_EXCL reaches us only when the kernel found nothing; somebody may have made a scratch file since. */
static bool exists_already(struct fs_session *session, const struct fs_place *place)
{
	struct fs_inode *current = inode_table_find(session->inodes, place->directory, place->name);
	bool exists = current && (current->kind == FS_INODE_DIRECTORY || place->kind != FS_NAME_OBJECT);
	inode_table_unref(session->inodes, current);
	return exists;
}

void fs_op_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info)
{
	(void)mode; /* files have the mode of the mount until chmod says otherwise */
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_CREATE);
	fs_retry_end(&session->retries, fuse_req_ctx(request)->pid);
	struct fs_place place = { .path = NULL };
	int error = fs_place_resolve_new(session, fs_inode_of(session, parent), name, &place);
	if (error == 0 && (info->flags & O_EXCL) && exists_already(session, &place))
		error = EEXIST;
	if (error) {
		fs_place_done(&place);
		fs_reply_errno(request, FS_OP_CREATE, name, error);
		return;
	}
	struct fault fault = FAULT_NONE;
	struct fs_inode *inode = NULL;
	enum hfkv_status status = make_file(session, &place, fuse_req_ctx(request)->pid, &inode, &fault);
	fs_place_done(&place);
	struct fs_handle *handle = status == HFKV_OK ? fs_handle_new(session, inode) : NULL;
	if (handle) {
		handle->writes = (info->flags & O_ACCMODE) != O_RDONLY;
		handle->owns_body = true; /* also when read-only: an empty file is committed by it (plain) */
		answer_create(request, handle, info);
	} else {
		if (inode)
			inode_table_unbind(session->inodes, inode);
		fs_reply_status(request, FS_OP_CREATE, name, status == HFKV_OK ? HFKV_NO_MEMORY : status, &fault);
	}
	inode_table_unref(session->inodes, inode);
}

/* ---- WRITE ---- */

static void write_failed(fuse_req_t request, enum fs_operation operation, const struct fs_handle *handle,
			 enum hfkv_status status, const struct fault *fault)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_inode *directory = NULL;
	CLEANUP(free_pointer) char *name = NULL;
	if (inode_table_locate(session->inodes, handle->inode, &directory, &name))
		inode_table_unref(session->inodes, directory);
	fs_reply_status(request, operation, name, status, fault);
}

void fs_op_write_buf(fuse_req_t request, fuse_ino_t node, struct fuse_bufvec *bytes, off_t offset,
		     struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_WRITE);
	(void)node;
	struct fs_handle *handle = fs_handle_of(info);
	if (!handle || !handle->owns_body) {
		fs_reply_errno(request, FS_OP_WRITE, NULL, EPERM);
		return;
	}
	size_t size = fuse_buf_size(bytes);
	struct fault fault = FAULT_NONE;
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	enum hfkv_status status =
		fs_body_enter_write(session, handle->inode, (uint64_t)offset + size, &body, &fault);
	if (status != HFKV_OK) {
		write_failed(request, FS_OP_WRITE, handle, status, &fault);
		return;
	}
	struct fuse_bufvec into = FUSE_BUFVEC_INIT(size);
	into.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	into.buf[0].fd = staged_file_fd(body);
	into.buf[0].pos = offset;
	ssize_t written = fuse_buf_copy(&into, bytes, 0);
	if (written < 0)
		status = fault_set_errno(&fault, (int)-written, "writing to staging");
	fs_body_leave_write(handle->inode, handle, status);
	if (status == HFKV_OK)
		fuse_reply_write(request, (size_t)written);
	else
		write_failed(request, FS_OP_WRITE, handle, status, &fault);
}

void fs_op_fallocate(fuse_req_t request, fuse_ino_t node, int mode, off_t offset, off_t length,
		     struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_FALLOCATE);
	(void)node;
	struct fs_handle *handle = fs_handle_of(info);
	if (!handle || !handle->owns_body) {
		fs_reply_errno(request, FS_OP_FALLOCATE, NULL, EPERM);
		return;
	}
	if (mode & ~FALLOC_FL_KEEP_SIZE) {
		fs_reply_errno(request, FS_OP_FALLOCATE, NULL, EOPNOTSUPP);
		return;
	}
	struct fault fault = FAULT_NONE;
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	enum hfkv_status status =
		fs_body_enter_write(session, handle->inode, (uint64_t)(offset + length), &body, &fault);
	if (status == HFKV_OK) {
		if (fallocate(staged_file_fd(body), mode, offset, length) != 0)
			status = fault_set_errno(&fault, errno, "allocating staging");
		fs_body_leave_write(handle->inode, handle, status);
	}
	if (status == HFKV_OK)
		fs_reply_done(request);
	else
		write_failed(request, FS_OP_FALLOCATE, handle, status, &fault);
}
