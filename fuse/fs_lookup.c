#include "fuse/fs_lookup.h"

#include "common/clock.h"
#include "fuse/fs_place.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_status_file.h"
#include "fuse/fs_task.h"

#include <errno.h>
#include <string.h>

/* How long the kernel may believe that a name is absent which only this mount can make: its own creates end it. */
#define LOCAL_ABSENCE_MS 60000

/* ---- directories of the bucket ---- */

static void answer_directory(struct fs_task *task, const struct fs_place *place)
{
	struct fs_session *session = task->session;
	int64_t holds_ms = session->settings.metadata_ttl_ms;
	struct fs_inode *inode = fs_place_adopt_directory(session, place, holds_ms);
	if (inode)
		fs_reply_entry(task->request, inode, holds_ms);
	else
		fs_reply_status(task->request, FS_OP_LOOKUP, task->name, HFKV_NO_MEMORY, NULL);
	inode_table_unref(session->inodes, inode);
}

static int64_t absence_ms(struct fs_session *session, const struct fs_place *place, int64_t known_ms)
{
	return fs_place_has_private(session, place) ? 0 : known_ms;
}

static void run_look_for_directory(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fault fault = FAULT_NONE;
	struct fs_place place = { .directory = task->inode, .name = task->name };
	enum hfkv_status status = kv_cache_directory_exists(session->cache, task->path, task->deadline, &fault);
	if (status == HFKV_OK)
		answer_directory(task, &place);
	else if (status == HFKV_NOT_FOUND)
		fs_reply_absent(task->request, absence_ms(session, &place, session->settings.negative_ttl_ms));
	else
		fs_reply_status(task->request, FS_OP_LOOKUP, task->name, status, &fault);
}

/* ---- objects ---- */

static void answer_object(struct fs_task *task, const struct fs_place *place, const struct kv_cache_entry *entry)
{
	struct fs_session *session = task->session;
	struct fs_inode *inode = fs_place_adopt(session, place, &entry->info);
	if (inode)
		fs_reply_entry(task->request, inode,
			       absence_ms(session, place, fs_time_left_ms(entry->fresh_until_ms)));
	else
		fs_reply_status(task->request, FS_OP_LOOKUP, task->name, HFKV_NO_MEMORY, NULL);
	inode_table_unref(session->inodes, inode);
}

/* No object has the name: the caller's own unfinished file may, or (plain) a directory. True when the task is done. */
static bool answer_without_object(struct fs_task *task, const struct fs_place *place, int64_t known_ms)
{
	struct fs_session *session = task->session;
	struct fs_inode *inode = fs_place_find_private(session, place, fuse_req_ctx(task->request)->pid);
	if (inode) {
		fs_reply_entry(task->request, inode, 0);
	} else if (session->rule.layout == FS_LAYOUT_PLAIN) {
		fs_task_submit(task, run_look_for_directory);
		return false;
	} else {
		fs_reply_absent(task->request, absence_ms(session, place, known_ms));
	}
	inode_table_unref(session->inodes, inode);
	return true;
}

static void stat_answered(void *token, enum hfkv_status status, const struct kv_cache_entry *entry,
			  const struct fault *fault)
{
	struct fs_task *task = token;
	struct fs_place place = { .directory = task->inode, .name = task->name, .path = task->path };
	place.kind = FS_NAME_OBJECT;
	bool done = true;
	if (status == HFKV_OK)
		answer_object(task, &place, entry);
	else if (status == HFKV_NOT_FOUND || status == HFKV_INVALID)
		done = answer_without_object(task, &place, entry ? fs_time_left_ms(entry->fresh_until_ms) : 0);
	else
		fs_reply_status(task->request, FS_OP_LOOKUP, task->name, status, fault);
	if (done)
		fs_task_free(task);
}

/* ---- LOOKUP ---- */

/* The inode that the name has in this mount, when no question to the bucket is needed for it. */
static struct fs_inode *find_local(struct fs_session *session, const struct fs_place *place, int64_t *ret_holds_ms)
{
	struct fs_inode *inode = inode_table_find(session->inodes, place->directory, place->name);
	if (!inode)
		return NULL;
	if (inode->kind == FS_INODE_FILE) {
		if (place->kind != FS_NAME_OBJECT)
			return inode; /* scratch: *ret_holds_ms stays 0 */
		inode_table_unref(session->inodes, inode);
		return NULL;
	}
	pthread_mutex_lock(&inode->mutex);
	int64_t left_ms = inode->kept ? session->settings.metadata_ttl_ms : fs_time_left_ms(inode->fresh_until_ms);
	pthread_mutex_unlock(&inode->mutex);
	if (left_ms > 0) {
		*ret_holds_ms = left_ms;
		return inode;
	}
	inode_table_unref(session->inodes, inode);
	return NULL;
}

/* Parks the look-up and asks the cache. Takes place->path. */
static void ask_cache(fuse_req_t request, struct fs_place *place)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_task *task =
		fs_task_new(request, FS_OP_LOOKUP, inode_table_ref(session->inodes, place->directory), place->name);
	if (!task)
		return;
	task->path = TAKE_PTR(place->path);
	if (place->kind == FS_NAME_OBJECT)
		kv_cache_stat(session->cache, task->path, (uint64_t)fuse_req_ctx(request)->pid, stat_answered, task);
	else
		fs_task_submit(task, run_look_for_directory);
}

/* What the repeated open of this thread is to get, when one is expected: see fs_retry.h. */
static struct fs_inode *find_for_retry(struct fs_session *session, const struct fs_place *place, pid_t thread)
{
	bool truncates = false;
	if (!fs_retry_expected(&session->retries, thread, &truncates))
		return NULL;
	struct fs_inode *reserved = fs_place_find_reserved(session, place, thread);
	struct fs_inode *current = inode_table_find(session->inodes, place->directory, place->name);
	/* Directories on the way to the file are looked up as well. */
	bool is_object = place->kind == FS_NAME_OBJECT;
	bool is_file = current ? current->kind == FS_INODE_FILE : is_object && fs_place_has_private(session, place);
	if (!reserved && is_file && truncates)
		reserved = fs_place_reserve(session, place, is_object ? FS_ROLE_WRITER : FS_ROLE_SCRATCH, NULL, thread);
	else if (!reserved && is_file && is_object && current)
		reserved = fs_place_reserve(session, place, FS_ROLE_SHADOW, current, thread);
	inode_table_unref(session->inodes, current);
	return reserved;
}

static void look_up(fuse_req_t request, struct fs_place *place)
{
	struct fs_session *session = fs_session_of(request);
	pid_t thread = fuse_req_ctx(request)->pid;
	int64_t holds_ms = 0;
	struct fs_inode *inode = find_for_retry(session, place, thread);
	if (!inode)
		inode = find_local(session, place, &holds_ms);
	if (inode)
		fs_reply_entry(request, inode, holds_ms);
	else if (place->kind == FS_NAME_LOCAL)
		fs_reply_absent(request, absence_ms(session, place, LOCAL_ABSENCE_MS));
	else if (kv_cache_check_path(session->cache, place->path) == HFKV_OVERSIZE)
		fs_reply_errno(request, FS_OP_LOOKUP, place->name, ENAMETOOLONG); /* as any file system says */
	else
		ask_cache(request, place);
	inode_table_unref(session->inodes, inode);
}

void fs_op_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_LOOKUP);
	struct fs_inode *directory = fs_inode_of(session, parent);
	if (fs_status_file_is(session, directory, name)) {
		fs_reply_entry(request, session->status_inode, session->settings.metadata_ttl_ms);
		return;
	}
	struct fs_place place = { .path = NULL };
	int error = fs_place_resolve(session, directory, name, &place);
	if (error == 0)
		look_up(request, &place);
	else
		fs_reply_errno(request, FS_OP_LOOKUP, name, error == EINVAL ? ENOENT : error);
	fs_place_done(&place);
}

/* ---- FORGET ---- */

void fs_op_forget(fuse_req_t request, fuse_ino_t node, uint64_t count)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_FORGET);
	if (node != FUSE_ROOT_ID)
		inode_table_forget(session->inodes, fs_inode_of(session, node), count);
	fuse_reply_none(request);
}

void fs_op_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_FORGET);
	for (size_t i = 0; i < count; i++)
		if (forgets[i].ino != FUSE_ROOT_ID)
			inode_table_forget(session->inodes, fs_inode_of(session, forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(request);
}
