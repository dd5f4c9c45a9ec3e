#include "fuse/fs_open.h"

#include "fuse/fs_body.h"
#include "fuse/fs_place.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_status_file.h"
#include "fuse/fs_task.h"
#include "fuse/passthrough.h"
#include "fuse/range_reader.h"

#include <errno.h>
#include <fcntl.h>

enum open_way {
	OPEN_CONTENT,   /* read a committed object */
	OPEN_BODY,      /* share the body that is there */
	OPEN_NEW_BODY,  /* an inode reserved for this thread: begin its body */
	OPEN_SHADOW,    /* the same, without truncation of a committed object */
	OPEN_ELSEWHERE, /* it needs an inode of its own: let the kernel look again, and reserve one then */
	OPEN_STALE,     /* not this inode's content any more: let the kernel look again */
	OPEN_UNRESERVE, /* reserved for a write that did not come, and this is a read */
	OPEN_ABSENT,    /* being written by somebody, not there yet */
};

struct open_request {
	pid_t thread;
	bool writes, truncates;
};

static enum open_way decide_reserved(const struct fs_file *file, const struct open_request *open)
{
	if (file->creator != open->thread)
		return open->writes ? OPEN_ELSEWHERE : OPEN_STALE;
	if (!open->writes)
		return OPEN_UNRESERVE;
	return file->role == FS_ROLE_SHADOW ? OPEN_SHADOW : OPEN_NEW_BODY;
}

/* The inode's mutex is held. */
static enum open_way decide(const struct fs_file *file, const struct open_request *open)
{
	if (file->reserved)
		return decide_reserved(file, open);
	if (file->removed && file->role != FS_ROLE_COMMITTED)
		return open->writes ? OPEN_ELSEWHERE : OPEN_STALE;
	switch (file->role) {
	case FS_ROLE_COMMITTED: return open->writes ? OPEN_ELSEWHERE : OPEN_CONTENT;
	case FS_ROLE_SCRATCH: return open->truncates ? OPEN_ELSEWHERE : OPEN_BODY;
	case FS_ROLE_WRITER:
		if (open->writes)
			return open->truncates || file->published ? OPEN_ELSEWHERE : OPEN_BODY;
		return file->published ? OPEN_STALE : OPEN_ABSENT;
	case FS_ROLE_SHADOW: return open->writes ? OPEN_ELSEWHERE : OPEN_STALE;
	}
	return OPEN_STALE;
}

/* ---- the answer ---- */

/* The inode's mutex is held and the handle not yet entered. Cached and passthrough opens of one inode exclude each
 * other in the kernel: while anything has it open the decision stands. */
static void choose_io(struct fs_session *session, fuse_req_t request, struct fs_file *file)
{
	if (file->opens > 0)
		return;
	bool allowed = file->role == FS_ROLE_COMMITTED ? atomic_load(&session->passthrough_reads) :
							 file->role == FS_ROLE_SCRATCH &&
								 atomic_load(&session->passthrough_writes);
	file->backing_id =
		allowed && file->body ? passthrough_attach(request, staged_file_fd(file->body)) : 0;
	file->passthrough = file->backing_id > 0;
}

bool fs_open_enter(fuse_req_t request, struct fs_handle *handle, struct staged_file *content,
		   struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_inode *inode = handle->inode;
	struct fs_file *file = &inode->file;
	CLEANUP(staged_file_unrefp) struct staged_file *unused = content;
	SCOPED_LOCK(&inode->mutex);
	if (content && !file->body) {
		file->body = TAKE_PTR(unused);
		file->body_is_shared = true;
	}
	if (!file->body && file->role != FS_ROLE_SHADOW && !handle->ranges)
		return false;
	if (file->role != FS_ROLE_SHADOW)
		choose_io(session, request, file);
	fs_handle_enter(handle);
	info->fh = (uint64_t)(uintptr_t)handle;
	if (file->role == FS_ROLE_SHADOW) {
		/* Nothing of it is to be cached, and a shared mapping must fail at once, not at msync. */
		info->direct_io = 1;
	} else if (file->passthrough) {
		handle->passthrough = true;
		passthrough_use(info, file->backing_id);
		atomic_fetch_add_explicit(&session->passthrough_opens, 1, memory_order_relaxed);
	} else {
		/* Bodies never change behind the kernel's back, unless it wrote past its own cache before. */
		info->keep_cache = file->role != FS_ROLE_SCRATCH || !atomic_load(&session->passthrough_writes);
	}
	return true;
}

/* Takes `handle` and `content`. */
static void answer_open(fuse_req_t request, struct fs_handle *handle, struct staged_file *content,
			struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	if (!fs_open_enter(request, handle, content, info)) {
		fs_handle_free(session, handle);
		fs_reply_errno(request, FS_OP_OPEN, NULL, ESTALE);
		return;
	}
	if (fuse_reply_open(request, info) == 0)
		return;
	/* The open was given up: no release will come. The request is spent, so the backing id goes with the session. */
	fs_handle_abandon(session, handle);
}

/* Answers with a new handle; `content` (taken, may be NULL) as fs_open_enter has it. */
static void open_handle(fuse_req_t request, struct fs_inode *inode, struct staged_file *content,
			struct fuse_file_info *info, bool owns_body)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_handle *handle = fs_handle_new(session, inode);
	if (!handle) {
		staged_file_unref(content);
		fs_reply_status(request, FS_OP_OPEN, NULL, HFKV_NO_MEMORY, NULL);
		return;
	}
	handle->writes = (info->flags & O_ACCMODE) != O_RDONLY;
	handle->owns_body = owns_body && handle->writes;
	answer_open(request, handle, content, info);
}

/* ---- committed content ---- */

/* Takes `content`. The inode is a committed one, whose info never changes. */
static void answer_content(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info,
			   struct staged_file *content, const struct object_info *object)
{
	pthread_mutex_lock(&inode->mutex);
	bool same = inode->file.info.size_bytes == object->size_bytes &&
		    content_hash_equal(&inode->file.info.hash, &object->hash);
	pthread_mutex_unlock(&inode->mutex);
	if (same) {
		open_handle(request, inode, content, info, false);
		return;
	}
	staged_file_unref(content);
	fs_reply_errno(request, FS_OP_OPEN, NULL, ESTALE);
}

static void run_open_content(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	struct staged_file *content = NULL;
	struct object_info object;
	enum hfkv_status status = kv_cache_open_reader(task->session->cache, task->path, task->deadline, &content,
						       &object, &fault);
	if (status == HFKV_OK)
		answer_content(task->request, task->inode, &task->info, content, &object);
	else
		fs_reply_status(task->request, FS_OP_OPEN, task->path, status, &fault);
}

static void open_ranges(fuse_req_t request, struct fs_inode *inode, const struct object_info *object,
			struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_handle *handle = fs_handle_new(session, inode);
	struct range_reader *ranges = handle ? range_reader_new(session->cache, object) : NULL;
	if (!ranges) {
		fs_handle_free(session, handle);
		fs_reply_status(request, FS_OP_OPEN, NULL, HFKV_NO_MEMORY, NULL);
		return;
	}
	handle->ranges = ranges;
	answer_open(request, handle, NULL, info);
}

/* Parks the open with the object's path. Takes `path`. */
static void park(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info, char *path,
		 void (*run)(struct fs_task *task))
{
	struct fs_session *session = fs_session_of(request);
	struct fs_task *task = fs_task_new(request, FS_OP_OPEN, inode_table_ref(session->inodes, inode), NULL);
	if (!task) {
		free(path);
		return;
	}
	task->path = path;
	task->info = *info;
	fs_task_submit(task, run);
}

static void open_content(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	pthread_mutex_lock(&inode->mutex);
	struct object_info known = inode->file.info;
	pthread_mutex_unlock(&inode->mutex);
	CLEANUP(free_pointer) char *path = fs_place_object_path(session, inode);
	if (!path) {
		fs_reply_errno(request, FS_OP_OPEN, NULL, ESTALE);
		return;
	}
	if (session->rule.layout == FS_LAYOUT_PLAIN && known.size_bytes > session->settings.whole_file_max_bytes) {
		open_ranges(request, inode, &known, info);
		return;
	}
	struct object_info object;
	struct staged_file *content = kv_cache_open_reader_now(session->cache, path, &object);
	if (content)
		answer_content(request, inode, info, content, &object);
	else
		park(request, inode, info, TAKE_PTR(path), run_open_content);
}

/* ---- reserved inodes ---- */

/* Makes the fresh scratch inode the current one of its name. */
static enum hfkv_status take_own_name(struct fs_session *session, struct fs_inode *inode)
{
	struct fs_place place = { .path = NULL };
	CLEANUP(free_pointer) char *name = NULL;
	if (!inode_table_locate(session->inodes, inode, &place.directory, &name))
		return HFKV_CHANGED;
	place.name = name;
	enum hfkv_status status = fs_place_take(session, &place, inode, true);
	inode_table_unref(session->inodes, place.directory);
	return status;
}

static void open_new_body(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	struct fault fault = FAULT_NONE;
	bool scratch = inode->file.role == FS_ROLE_SCRATCH; /* constant while reserved */
	uint64_t expected_bytes = scratch && !atomic_load(&session->passthrough_writes) ? 0 :
				  inode->file.limit_bytes == INT64_MAX		      ? 0 :
											inode->file.limit_bytes;
	enum hfkv_status status = fs_body_begin(session, inode, expected_bytes, &fault);
	if (status == HFKV_OK && scratch)
		status = take_own_name(session, inode);
	if (status == HFKV_OK) {
		open_handle(request, inode, NULL, info, true);
		return;
	}
	inode_table_unbind(session->inodes, inode);
	fs_place_orphan(session, inode);
	fs_reply_status(request, FS_OP_OPEN, NULL, status, &fault);
}

/* plain: the writer starts from a copy of the content. */
static void run_open_copy(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fault fault = FAULT_NONE;
	CLEANUP(staged_file_unrefp) struct staged_file *content = NULL;
	struct object_info object;
	enum hfkv_status status =
		kv_cache_open_reader(session->cache, task->path, task->deadline, &content, &object, &fault);
	if (status == HFKV_OK)
		status = fs_body_begin_with(session, task->inode, content, &fault);
	if (status != HFKV_OK) {
		fs_reply_status(task->request, FS_OP_OPEN, task->path, status, &fault);
		return;
	}
	pthread_mutex_lock(&task->inode->mutex);
	task->inode->file.role = FS_ROLE_WRITER;
	task->inode->file.published = true;
	task->inode->file.info = object;
	pthread_mutex_unlock(&task->inode->mutex);
	open_handle(task->request, task->inode, NULL, &task->info, true);
}

static void open_shadow(fuse_req_t request, struct fs_inode *inode, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	if (session->rule.layout == FS_LAYOUT_KV) {
		open_handle(request, inode, NULL, info, false);
		return;
	}
	char *path = fs_place_object_path(session, inode);
	if (path)
		park(request, inode, info, path, run_open_copy);
	else
		fs_reply_errno(request, FS_OP_OPEN, NULL, ESTALE);
}

static void unreserve(fuse_req_t request, struct fs_inode *inode)
{
	struct fs_session *session = fs_session_of(request);
	inode_table_unbind(session->inodes, inode);
	fs_place_orphan(session, inode);
	fs_reply_errno(request, FS_OP_OPEN, NULL, ESTALE);
}

void fs_op_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_OPEN);
	struct fs_inode *inode = fs_inode_of(session, node);
	if (inode->kind == FS_INODE_STATUS) {
		fs_status_file_open(request, inode, info);
		return;
	}
	struct open_request open = {
		.thread = fuse_req_ctx(request)->pid,
		.writes = (info->flags & O_ACCMODE) != O_RDONLY,
		.truncates = info->flags & O_TRUNC,
	};
	pthread_mutex_lock(&inode->mutex);
	enum open_way way = decide(&inode->file, &open);
	pthread_mutex_unlock(&inode->mutex);
	if (way == OPEN_ELSEWHERE)
		fs_retry_note(&session->retries, open.thread, open.truncates);
	else
		fs_retry_end(&session->retries, open.thread);
	switch (way) {
	case OPEN_CONTENT: open_content(request, inode, info); break;
	case OPEN_BODY: open_handle(request, inode, NULL, info, true); break;
	case OPEN_NEW_BODY: open_new_body(request, inode, info); break;
	case OPEN_SHADOW: open_shadow(request, inode, info); break;
	case OPEN_UNRESERVE: unreserve(request, inode); break;
	case OPEN_ELSEWHERE:
	case OPEN_STALE: fs_reply_errno(request, FS_OP_OPEN, NULL, ESTALE); break;
	case OPEN_ABSENT: fs_reply_errno(request, FS_OP_OPEN, NULL, ENOENT); break;
	}
}

void fs_op_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_RELEASE);
	(void)node;
	struct fs_handle *handle = fs_handle_of(info);
	fs_handle_leave(handle, request);
	fs_handle_free(session, handle);
	fs_reply_done(request);
}
