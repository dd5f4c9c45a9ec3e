#include "fuse/fs_status_file.h"

#include "fuse/fs_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>

bool fs_status_file_is(struct fs_session *session, struct fs_inode *directory, const char *name)
{
	return directory == inode_table_root(session->inodes) && strcmp(name, FS_STATUS_FILE_NAME) == 0;
}

/* What the session knows by itself, for a session without a status callback. */
static char *own_counters(struct fs_session *session)
{
	struct fs_session_counters counters;
	fs_session_counters_read(session, &counters);
	json_t *requests = json_object();
	for (int i = 0; i < FS_OP_COUNT; i++)
		json_object_set_new(requests, fs_operation_name((enum fs_operation)i),
				    json_integer((json_int_t)counters.requests[i]));
	json_t *root = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:b}", "requests", requests, "errors",
				 (json_int_t)counters.errors, "inodes", (json_int_t)counters.inodes, "open_files",
				 (json_int_t)counters.open_files, "scratch_files", (json_int_t)counters.scratch_files,
				 "passthrough_opens", (json_int_t)counters.passthrough_opens, "passthrough",
				 counters.passthrough);
	char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	return text;
}

void fs_status_file_open(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	if ((info->flags & O_ACCMODE) != O_RDONLY) {
		fs_reply_errno(request, FS_OP_OPEN, FS_STATUS_FILE_NAME, EACCES);
		return;
	}
	struct fs_handle *handle = fs_handle_new(session, inode);
	if (handle)
		handle->status_text = session->settings.status_json ?
					      session->settings.status_json(session->settings.status_context) :
					      own_counters(session);
	if (!handle || !handle->status_text) {
		fs_handle_free(session, handle);
		fs_reply_status(request, FS_OP_OPEN, FS_STATUS_FILE_NAME, HFKV_NO_MEMORY, NULL);
		return;
	}
	handle->status_bytes = strlen(handle->status_text);
	pthread_mutex_lock(&inode->mutex);
	fs_handle_enter(handle);
	pthread_mutex_unlock(&inode->mutex);
	info->fh = (uint64_t)(uintptr_t)handle;
	info->direct_io = 1; /* its size in stat is 0, as for files in /proc */
	if (fuse_reply_open(request, info) != 0)
		fs_handle_abandon(session, handle);
}

void fs_status_file_read(fuse_req_t request, const struct fs_handle *handle, size_t size, off_t offset)
{
	size_t start = (size_t)offset < handle->status_bytes ? (size_t)offset : handle->status_bytes;
	size_t bytes = handle->status_bytes - start;
	fuse_reply_buf(request, handle->status_text + start, bytes < size ? bytes : size);
}
