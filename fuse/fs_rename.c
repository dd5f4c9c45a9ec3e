#include "fuse/fs_rename.h"

#include "fuse/fs_dir.h"
#include "fuse/fs_place.h"
#include "fuse/fs_publish.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_scratch.h"
#include "fuse/fs_task.h"

#include <errno.h>
#include <stdio.h> /* RENAME_NOREPLACE */
#include <string.h>

/* One rename while it is decided. */
struct move {
	struct fs_place from, to;
	bool no_replace;
	pid_t thread;
};

/* ---- commit: scratch to object ---- */

/* The body is in the bucket under its new name. Readers share the inode unless somebody may still write to it. */
static enum hfkv_status settle(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fs_inode *inode = task->inode;
	struct fs_place to = { .directory = task->directory, .name = task->new_name };
	pthread_mutex_lock(&inode->mutex);
	struct fs_file *file = &inode->file;
	bool still_written = file->writers > 0 || file->changed;
	file->role = still_written ? FS_ROLE_WRITER : FS_ROLE_COMMITTED;
	pthread_mutex_unlock(&inode->mutex);
	fs_scratch_cancel_expiry(session, inode);
	if (!still_written)
		return fs_place_take(session, &to, inode, false);
	inode_table_unbind(session->inodes, inode);
	fs_place_orphan(session, inode);
	return HFKV_OK;
}

/* OK when nothing has the path, EXISTS when something does. */
static enum hfkv_status check_absent(struct fs_task *task, struct fault *fault)
{
	struct kv_cache_question question = { .path = task->new_path };
	enum hfkv_status status = kv_cache_stat_many(task->session->cache, &question, 1, task->deadline, fault);
	if (status != HFKV_OK)
		return status;
	if (question.status == HFKV_OK)
		return HFKV_EXISTS;
	return question.status == HFKV_NOT_FOUND ? HFKV_OK : question.status;
}

static void run_commit(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = task->flags & RENAME_NOREPLACE ? check_absent(task, &fault) : HFKV_OK;
	if (status == HFKV_OK) {
		fs_publish_await_release(task->inode);
		status = fs_publish(task->session, task->inode, task->new_path, task->deadline, &fault);
	}
	if (status == HFKV_OK)
		status = settle(task);
	fs_reply_status(task->request, FS_OP_RENAME, task->new_path, status, &fault);
}

/* Whether the body under the name is another writer's and not finished: then the caller's own was displaced or committed. */
static bool belongs_to_rival(struct fs_inode *inode, pid_t thread)
{
	SCOPED_LOCK(&inode->mutex);
	const struct fs_file *file = &inode->file;
	return (file->unsealed > 0 || file->beginning) && file->creator != thread;
}

static struct fs_task *park(fuse_req_t request, const struct move *move, struct fs_inode *subject)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_task *task =
		fs_task_new(request, FS_OP_RENAME, inode_table_ref(session->inodes, subject), move->from.name);
	if (!task)
		return NULL;
	task->directory = inode_table_ref(session->inodes, move->to.directory);
	task->new_name = strdup(move->to.name);
	task->path = strdup(move->from.path);
	task->new_path = strdup(move->to.path);
	task->flags = move->no_replace ? RENAME_NOREPLACE : 0;
	if (task->new_name && task->path && task->new_path)
		return task;
	fs_reply_status(request, FS_OP_RENAME, move->from.name, HFKV_NO_MEMORY, NULL);
	fs_task_free(task);
	return NULL;
}

static void commit(fuse_req_t request, const struct move *move, struct fs_inode *inode)
{
	struct fs_session *session = fs_session_of(request);
	if (belongs_to_rival(inode, move->thread)) {
		fs_reply_errno(request, FS_OP_RENAME, move->from.name, ENOENT);
		return;
	}
	pthread_mutex_lock(&inode->mutex);
	uint64_t size_bytes = inode->file.body ? staged_file_size(inode->file.body) : 0;
	enum hfkv_status status = inode->file.failed;
	pthread_mutex_unlock(&inode->mutex);
	struct fault fault = FAULT_NONE;
	if (status == HFKV_OK)
		status = kv_cache_check_size(session->cache, move->to.path, size_bytes, &fault);
	else
		fault_set(&fault, status, "an earlier write did not fit");
	if (status != HFKV_OK) {
		fs_reply_status(request, FS_OP_RENAME, move->to.path, status, &fault);
		return;
	}
	struct fs_task *task = park(request, move, inode);
	if (task)
		fs_task_submit(task, run_commit);
}

/* ---- scratch to scratch ---- */

static void move_scratch(fuse_req_t request, const struct move *move, struct fs_inode *inode)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_inode *there = inode_table_find(session->inodes, move->to.directory, move->to.name);
	inode_table_unref(session->inodes, there);
	if (there && there != inode && move->no_replace) {
		fs_reply_errno(request, FS_OP_RENAME, move->to.name, EEXIST);
		return;
	}
	enum hfkv_status status = fs_place_take(session, &move->to, inode, true);
	fs_reply_status(request, FS_OP_RENAME, move->from.name, status, NULL);
}

/* ---- object to object ---- */

static void run_rename_object(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fault fault = FAULT_NONE;
	int flags = task->flags & RENAME_NOREPLACE ? KV_CACHE_RENAME_NO_REPLACE : 0;
	enum hfkv_status status = kv_cache_rename(session->cache, task->path, task->new_path, flags,
						  task->deadline, &fault);
	struct fs_inode *current = inode_table_find(session->inodes, task->inode, task->name);
	if (status == HFKV_OK && current) {
		struct fs_place to = { .directory = task->directory, .name = task->new_name };
		status = fs_place_take(session, &to, current, false);
	}
	inode_table_unref(session->inodes, current);
	if (status == HFKV_OK)
		fs_dir_keep(session, task->inode);
	fs_reply_status(task->request, FS_OP_RENAME, task->path, status, &fault);
}

/* A file that its own process is still writing in place: it will be committed under the new name. */
static void move_private(fuse_req_t request, const struct move *move, struct fs_inode *inode)
{
	struct fs_session *session = fs_session_of(request);
	inode_table_unbind(session->inodes, inode);
	enum hfkv_status status =
		inode_table_bind_private(session->inodes, move->to.directory, move->to.name, inode);
	fs_reply_status(request, FS_OP_RENAME, move->from.name, status, NULL);
}

static void rename_object(fuse_req_t request, const struct move *move)
{
	struct fs_session *session = fs_session_of(request);
	if (move->to.kind != FS_NAME_OBJECT) {
		/* A chunk does not become scratch by a rename: mv copies it, then removes it. */
		fs_reply_errno(request, FS_OP_RENAME, move->from.name, EXDEV);
		return;
	}
	struct fs_inode *current = inode_table_find(session->inodes, move->from.directory, move->from.name);
	struct fs_inode *own = current ? NULL : fs_place_find_private(session, &move->from, move->thread);
	if (own) {
		move_private(request, move, own);
	} else {
		struct fs_task *task = park(request, move, move->from.directory);
		if (task)
			fs_task_submit(task, run_rename_object);
	}
	inode_table_unref(session->inodes, own);
	inode_table_unref(session->inodes, current);
}

/* ---- directories ---- */

/* OK when a directory may go there, an errno otherwise. */
static int check_target(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fs_inode *there = inode_table_find(session->inodes, task->directory, task->new_name);
	int error = 0;
	if (there && task->flags & RENAME_NOREPLACE)
		error = EEXIST;
	else if (there && inode_table_has_kept(session->inodes, there))
		error = ENOTEMPTY;
	inode_table_unref(session->inodes, there);
	return error;
}

static void run_rename_directory(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
		kv_cache_directory_exists(session->cache, task->path, task->deadline, &fault);
	int error = status == HFKV_OK ? EXDEV : check_target(task);
	if (status == HFKV_NOT_FOUND && error == 0) {
		status = kv_cache_directory_exists(session->cache, task->new_path, task->deadline, &fault);
		error = status == HFKV_OK ? ENOTEMPTY : 0;
	}
	if (error) {
		fs_reply_errno(task->request, FS_OP_RENAME, task->name, error);
		return;
	}
	if (status == HFKV_NOT_FOUND) {
		struct fs_place to = { .directory = task->directory, .name = task->new_name };
		status = fs_place_take(session, &to, task->inode, true);
	}
	fs_reply_status(task->request, FS_OP_RENAME, task->path, status, &fault);
}

static void rename_directory(fuse_req_t request, const struct move *move, struct fs_inode *inode)
{
	struct fs_session *session = fs_session_of(request);
	/* What is scratch inside must not become chunks by moving, nor the reverse. */
	bool was_scratch = fs_name_is_scratch_directory(&session->rule, move->from.path);
	bool is_scratch = fs_name_is_scratch_directory(&session->rule, move->to.path);
	bool is_chunk_name = move->to.kind == FS_NAME_OBJECT && session->rule.layout == FS_LAYOUT_KV;
	if (was_scratch != is_scratch || is_chunk_name) {
		fs_reply_errno(request, FS_OP_RENAME, move->from.name, is_chunk_name ? EINVAL : EXDEV);
		return;
	}
	struct fs_task *task = park(request, move, inode);
	if (task)
		fs_task_submit(task, run_rename_directory);
}

/* ---- RENAME ---- */

static void rename_by_kind(fuse_req_t request, const struct move *move)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_inode *inode = inode_table_find(session->inodes, move->from.directory, move->from.name);
	if (inode && inode->kind == FS_INODE_DIRECTORY)
		rename_directory(request, move, inode);
	else if (move->from.kind == FS_NAME_OBJECT)
		rename_object(request, move);
	else if (!inode)
		fs_reply_errno(request, FS_OP_RENAME, move->from.name, ENOENT);
	else if (move->to.kind == FS_NAME_OBJECT)
		commit(request, move, inode);
	else
		move_scratch(request, move, inode);
	inode_table_unref(session->inodes, inode);
}

void fs_op_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		  unsigned int flags)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_RENAME);
	if (flags & ~(unsigned)RENAME_NOREPLACE) { /* RENAME_EXCHANGE, RENAME_WHITEOUT */
		fs_reply_errno(request, FS_OP_RENAME, name, EINVAL);
		return;
	}
	struct move move = { .no_replace = flags & RENAME_NOREPLACE, .thread = fuse_req_ctx(request)->pid };
	int error = fs_place_resolve(session, fs_inode_of(session, parent), name, &move.from);
	if (error == 0)
		error = fs_place_resolve_new(session, fs_inode_of(session, new_parent), new_name, &move.to);
	if (error)
		fs_reply_errno(request, FS_OP_RENAME, new_name, error);
	else
		rename_by_kind(request, &move);
	fs_place_done(&move.from);
	fs_place_done(&move.to);
}

/* ---- UNLINK ---- */

static bool is_any(struct fs_inode *inode, const void *context)
{
	(void)inode;
	(void)context;
	return true;
}

/* Whoever writes under the name now writes to a file without a name: never committed. */
static void orphan_private(struct fs_session *session, struct fs_inode *directory, const char *name)
{
	struct fs_inode *inode;
	while ((inode = inode_table_find_private(session->inodes, directory, name, is_any, NULL))) {
		inode_table_unbind(session->inodes, inode);
		fs_place_orphan(session, inode);
		inode_table_unref(session->inodes, inode);
	}
}

static void run_unlink(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fault fault = FAULT_NONE;
	orphan_private(session, task->inode, task->name);
	struct object_stat removal = { .path = task->path };
	enum hfkv_status status = kv_cache_remove_many(session->cache, &removal, 1, task->deadline, &fault);
	if (status == HFKV_OK)
		status = removal.status;
	if (status == HFKV_NOT_FOUND) /* the bucket is: `rm -f` would take ENOENT for a file that is gone */
		status = HFKV_UNAVAILABLE;
	if (status == HFKV_OK) {
		struct fs_inode *current = inode_table_find(session->inodes, task->inode, task->name);
		if (current) {
			inode_table_unbind(session->inodes, current);
			fs_place_orphan(session, current);
		}
		inode_table_unref(session->inodes, current);
		fs_dir_keep(session, task->inode);
	}
	fs_reply_status(task->request, FS_OP_UNLINK, task->path, status, &fault);
}

static void unlink_scratch(fuse_req_t request, const struct fs_place *place)
{
	struct fs_session *session = fs_session_of(request);
	orphan_private(session, place->directory, place->name);
	struct fs_inode *inode = inode_table_find(session->inodes, place->directory, place->name);
	if (!inode || inode->kind != FS_INODE_FILE) {
		inode_table_unref(session->inodes, inode);
		fs_reply_errno(request, FS_OP_UNLINK, place->name, ENOENT);
		return;
	}
	inode_table_unbind(session->inodes, inode);
	fs_place_orphan(session, inode);
	inode_table_unref(session->inodes, inode);
	fs_reply_done(request);
}

void fs_op_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_UNLINK);
	struct fs_inode *directory = fs_inode_of(session, parent);
	struct fs_place place = { .path = NULL };
	int error = fs_place_resolve(session, directory, name, &place);
	if (error) {
		fs_reply_errno(request, FS_OP_UNLINK, name, error == EINVAL ? EPERM : error);
		return;
	}
	if (place.kind != FS_NAME_OBJECT) {
		unlink_scratch(request, &place);
	} else {
		struct fs_task *task =
			fs_task_new(request, FS_OP_UNLINK, inode_table_ref(session->inodes, directory), name);
		if (task) {
			task->path = TAKE_PTR(place.path);
			fs_task_submit(task, run_unlink);
		}
	}
	fs_place_done(&place);
}
