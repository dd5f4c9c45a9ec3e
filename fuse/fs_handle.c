#include "fuse/fs_handle.h"

#include "fuse/fs_place.h"
#include "fuse/fs_scratch.h"
#include "fuse/passthrough.h"
#include "fuse/range_reader.h"

#include <sys/statvfs.h>

struct fs_handle *fs_handle_new(struct fs_session *session, struct fs_inode *inode)
{
	struct fs_handle *handle = calloc(1, sizeof(*handle));
	if (!handle)
		return NULL;
	handle->inode = inode_table_ref(session->inodes, inode);
	atomic_fetch_add_explicit(&session->open_files, 1, memory_order_relaxed);
	return handle;
}

void fs_handle_free(struct fs_session *session, struct fs_handle *handle)
{
	if (!handle)
		return;
	range_reader_free(handle->ranges);
	free(handle->status_text);
	inode_table_unref(session->inodes, handle->inode);
	free(handle);
	atomic_fetch_sub_explicit(&session->open_files, 1, memory_order_relaxed);
}

void fs_handle_enter(struct fs_handle *handle)
{
	struct fs_file *file = &handle->inode->file;
	file->opens++;
	file->expires_at_ms = 0;
	file->reserved = false;
	file->beginning = false;
	if (handle->owns_body) {
		file->writers++;
		handle->unsealed = true;
		file->unsealed++;
	}
}

/* What the last handle leaves behind; the inode's mutex is held. */
struct left_over {
	int backing_id;
	struct staged_file *body; /* to be dropped */
	bool ends;                /* an uncommitted body: the name goes too */
	bool settles;             /* a published body without writers: readers may share the inode */
	bool expires;             /* scratch without handles */
};

/* The kernel writes past us: only the full tmpfs tells that a write was refused. */
static bool staging_is_full(const struct staged_file *body)
{
	struct statvfs space;
	return body && fstatvfs(staged_file_fd(body), &space) == 0 && space.f_bavail == 0;
}

static struct left_over leave_locked(struct fs_handle *handle)
{
	struct fs_file *file = &handle->inode->file;
	struct left_over left = { .backing_id = 0 };
	file->opens--;
	if (handle->unsealed)
		file->unsealed--;
	if (handle->owns_body) {
		file->writers--;
		if (handle->passthrough && staging_is_full(file->body))
			file->failed = HFKV_NO_SPACE;
		pthread_cond_broadcast(&handle->inode->changed);
	}
	left.settles = file->role == FS_ROLE_WRITER && file->writers == 0 && file->published && !file->changed;
	if (left.settles)
		file->role = FS_ROLE_COMMITTED;
	if (file->opens > 0)
		return left;
	left.backing_id = file->backing_id;
	file->backing_id = 0;
	file->passthrough = false;
	bool keeps_body = file->role == FS_ROLE_SCRATCH && !file->removed && file->failed != HFKV_NO_SPACE;
	left.expires = keeps_body;
	left.ends = file->role != FS_ROLE_COMMITTED && !keeps_body;
	if (!keeps_body && !file->publishing)
		left.body = TAKE_PTR(file->body);
	return left;
}

/* A body committed in place stood under its name unseen; from now on lookups may answer with it. */
static void settle(struct fs_session *session, struct fs_inode *inode)
{
	struct fs_inode *directory = NULL;
	CLEANUP(free_pointer) char *name = NULL;
	if (!inode_table_locate(session->inodes, inode, &directory, &name))
		return;
	struct fs_place place = { .directory = directory, .name = name };
	if (fs_place_take(session, &place, inode, false) != HFKV_OK)
		inode_table_unbind(session->inodes, inode);
	inode_table_unref(session->inodes, directory);
}

/* Everything but the backing id, which is returned. */
static int leave(struct fs_session *session, struct fs_handle *handle)
{
	struct fs_inode *inode = handle->inode;
	pthread_mutex_lock(&inode->mutex);
	struct left_over left = leave_locked(handle);
	pthread_mutex_unlock(&inode->mutex);
	if (left.settles)
		settle(session, inode);
	if (left.ends)
		inode_table_unbind(session->inodes, inode);
	staged_file_unref(left.body); /* after the name: who sees the bytes come back finds no name without a body */
	if (left.expires)
		fs_scratch_expire_after(session, inode, FS_SCRATCH_LIFE_MS);
	return left.backing_id;
}

void fs_handle_leave(struct fs_handle *handle, fuse_req_t request)
{
	passthrough_detach(request, leave(fs_session_of(request), handle));
}

void fs_handle_abandon(struct fs_session *session, struct fs_handle *handle)
{
	(void)leave(session, handle);
	fs_handle_free(session, handle);
}
