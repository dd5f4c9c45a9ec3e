#include "fuse/fs_attributes.h"

#include "common/clock.h"
#include "fuse/fs_handle.h"
#include "fuse/fs_body.h"
#include "fuse/fs_reply.h"

#include <errno.h>
#include <sys/statvfs.h>

#define FILE_MODE      0644
#define DIRECTORY_MODE 0755
#define STATUS_MODE    0444

static struct timespec time_of_ms(int64_t wall_ms)
{
	return (struct timespec){ .tv_sec = wall_ms / 1000, .tv_nsec = wall_ms % 1000 * 1000000 };
}

static struct timespec time_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

void fs_attributes_init(struct fs_session *session, struct fs_inode *inode, int64_t modified_at_ms)
{
	const struct fs_session_settings *settings = &session->settings;
	mode_t mode = FILE_MODE & ~settings->umask;
	if (inode->kind == FS_INODE_DIRECTORY)
		mode = DIRECTORY_MODE & ~settings->umask;
	else if (inode->kind == FS_INODE_STATUS)
		mode = STATUS_MODE & ~settings->umask;
	struct timespec at = modified_at_ms ? time_of_ms(modified_at_ms) : time_now();
	inode->attributes = (struct fs_attributes){
		.mode = mode,
		.uid = settings->uid,
		.gid = settings->gid,
		.accessed = at,
		.modified = at,
		.changed = at,
	};
}

void fs_attributes_touch(struct fs_inode *inode)
{
	inode->attributes.modified = inode->attributes.changed = time_now();
	inode->attributes.mode &= ~(mode_t)(S_ISUID | S_ISGID);
}

/* The inode's mutex is held. */
static uint64_t size_now(const struct fs_file *file)
{
	if (file->role == FS_ROLE_COMMITTED || file->role == FS_ROLE_SHADOW)
		return file->info.size_bytes;
	return file->body ? staged_file_size(file->body) : 0;
}

void fs_attributes_fill(struct fs_session *session, struct fs_inode *inode, struct stat *ret_stat, int64_t *ret_holds_ms)
{
	SCOPED_LOCK(&inode->mutex);
	const struct fs_attributes *attributes = &inode->attributes;
	bool is_directory = inode->kind == FS_INODE_DIRECTORY;
	uint64_t size_bytes = inode->kind == FS_INODE_FILE ? size_now(&inode->file) : 0;
	*ret_stat = (struct stat){
		.st_ino = inode->number,
		.st_mode = (is_directory ? S_IFDIR : S_IFREG) | attributes->mode,
		.st_nlink = is_directory ? 2 : 1,
		.st_uid = attributes->uid,
		.st_gid = attributes->gid,
		.st_size = (off_t)size_bytes,
		.st_blksize = FS_BLOCK_BYTES,
		.st_blocks = (blkcnt_t)((size_bytes + 511) / 512),
		.st_atim = attributes->accessed,
		.st_mtim = attributes->modified,
		.st_ctim = attributes->changed,
	};
	/* A committed inode is one content for ever: only this mount changes what is shown of it. */
	bool holds = is_directory || (inode->kind == FS_INODE_FILE && inode->file.role == FS_ROLE_COMMITTED);
	*ret_holds_ms = holds ? session->settings.metadata_ttl_ms : 0;
}

void fs_op_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_GETATTR);
	(void)info;
	fs_reply_attributes(request, fs_inode_of(session, node));
}

/* ---- SETATTR ---- */

/* The inode's mutex is held. */
static void apply(struct fs_attributes *attributes, const struct stat *wanted, int to_set)
{
	struct timespec now = time_now();
	if (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		attributes->mode &= ~(mode_t)(S_ISUID | S_ISGID);
	if (to_set & FUSE_SET_ATTR_MODE)
		attributes->mode = wanted->st_mode & 07777;
	if (to_set & FUSE_SET_ATTR_UID)
		attributes->uid = wanted->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		attributes->gid = wanted->st_gid;
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		attributes->accessed = now;
	else if (to_set & FUSE_SET_ATTR_ATIME)
		attributes->accessed = wanted->st_atim;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		attributes->modified = now;
	else if (to_set & FUSE_SET_ATTR_MTIME)
		attributes->modified = wanted->st_mtim;
	attributes->changed = now;
}

/* What is set on a write open of a committed object is meant for the name: readers' inode has it too. */
static void set_times_and_modes(struct fs_inode *inode, const struct stat *wanted, int to_set)
{
	pthread_mutex_lock(&inode->mutex);
	apply(&inode->attributes, wanted, to_set);
	pthread_mutex_unlock(&inode->mutex);
	struct fs_inode *original = inode->file.original; /* constant, and referenced while the inode lives */
	if (!original)
		return;
	SCOPED_LOCK(&original->mutex);
	apply(&original->attributes, wanted, to_set);
}

/* A truncation needs a body that is the caller's to change. */
static bool may_truncate(struct fs_inode *inode, const struct fs_handle *handle)
{
	if (handle)
		return handle->owns_body;
	SCOPED_LOCK(&inode->mutex);
	const struct fs_file *file = &inode->file;
	return !file->reserved && (file->role == FS_ROLE_SCRATCH || (file->role == FS_ROLE_WRITER && !file->published));
}

static enum hfkv_status truncate_body(struct fs_session *session, struct fs_inode *inode, struct fs_handle *handle,
				      uint64_t size_bytes, struct fault *fault)
{
	CLEANUP(staged_file_unrefp) struct staged_file *body = fs_body_now(inode);
	if (body && staged_file_size(body) == size_bytes)
		return HFKV_OK;
	staged_file_unref(TAKE_PTR(body));
	enum hfkv_status status = fs_body_enter_write(session, inode, size_bytes, &body, fault);
	if (status != HFKV_OK)
		return status;
	if (ftruncate(staged_file_fd(body), (off_t)size_bytes) != 0)
		status = fault_set_errno(fault, errno, "truncating a staged body");
	fs_body_leave_write(inode, handle, status);
	return status;
}

void fs_op_setattr(fuse_req_t request, fuse_ino_t node, struct stat *wanted, int to_set, struct fuse_file_info *info)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_SETATTR);
	struct fs_inode *inode = fs_inode_of(session, node);
	struct fs_handle *handle = fs_handle_of(info);
	if (to_set & FUSE_SET_ATTR_SIZE) {
		if (inode->kind != FS_INODE_FILE || !may_truncate(inode, handle)) {
			fs_reply_errno(request, FS_OP_SETATTR, NULL, EPERM);
			return;
		}
		struct fault fault = FAULT_NONE;
		enum hfkv_status status =
			truncate_body(session, inode, handle, (uint64_t)wanted->st_size, &fault);
		if (status != HFKV_OK) {
			fs_reply_status(request, FS_OP_SETATTR, NULL, status, &fault);
			return;
		}
	}
	set_times_and_modes(inode, wanted, to_set);
	fs_reply_attributes(request, inode);
}

/* ---- statfs ---- */

void fs_op_statfs(fuse_req_t request, fuse_ino_t node)
{
	fs_count(fs_session_of(request), FS_OP_STATFS);
	(void)node;
	/* A bucket has no size to show: a PiB, all free, so that nobody refuses to write. */
	const fsblkcnt_t blocks = (1ULL << 50) / FS_BLOCK_BYTES;
	struct statvfs shown = {
		.f_bsize = FS_BLOCK_BYTES,
		.f_frsize = FS_BLOCK_BYTES,
		.f_blocks = blocks,
		.f_bfree = blocks,
		.f_bavail = blocks,
		.f_files = 1ULL << 32,
		.f_ffree = 1ULL << 32,
		.f_favail = 1ULL << 32,
		.f_namemax = FS_NAME_MAX_BYTES,
	};
	fuse_reply_statfs(request, &shown);
}
