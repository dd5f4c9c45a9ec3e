#include "fuse/fs_dir.h"

#include "common/clock.h"
#include "fuse/fs_attributes.h"
#include "fuse/fs_listing.h"
#include "fuse/fs_place.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_task.h"

#include <errno.h>
#include <string.h>

#define DOTS 2 /* "." and ".." come first */

/* The kernel reads one open directory from one position at a time, but a careless program may use it from two threads. */
struct directory_handle {
	pthread_mutex_t mutex;
	struct fs_listing listing;
};

static struct directory_handle *handle_of(const struct fuse_file_info *info)
{
	return (struct directory_handle *)(uintptr_t)info->fh;
}

void fs_op_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	fs_count(fs_session_of(request), FS_OP_OPENDIR);
	(void)node;
	struct directory_handle *handle = calloc(1, sizeof(*handle));
	if (!handle) {
		fs_reply_status(request, FS_OP_OPENDIR, NULL, HFKV_NO_MEMORY, NULL);
		return;
	}
	pthread_mutex_init(&handle->mutex, NULL);
	info->fh = (uint64_t)(uintptr_t)handle;
	if (fuse_reply_open(request, info) != 0)
		free(handle);
}

void fs_op_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	fs_count(fs_session_of(request), FS_OP_RELEASEDIR);
	(void)node;
	struct directory_handle *handle = handle_of(info);
	fs_listing_done(&handle->listing);
	pthread_mutex_destroy(&handle->mutex);
	free(handle);
	fs_reply_done(request);
}

/* ---- one answer's worth of entries ---- */

struct packing {
	fuse_req_t request;
	struct fs_session *session;
	struct fs_inode *directory;
	char *buffer;
	size_t size, used;
	bool plus;
};

static bool pack(struct packing *packing, const char *name, const struct fuse_entry_param *entry, off_t next)
{
	char *at = packing->buffer + packing->used;
	size_t left = packing->size - packing->used;
	size_t bytes = packing->plus ? fuse_add_direntry_plus(packing->request, at, left, name, entry, next) :
				       fuse_add_direntry(packing->request, at, left, name, &entry->attr, next);
	if (bytes > left)
		return false;
	packing->used += bytes;
	return true;
}

/* "." and "..": no lookup is counted for them. */
static bool pack_dots(struct packing *packing, size_t index)
{
	struct fuse_entry_param entry = { .ino = 0 };
	entry.attr.st_mode = S_IFDIR;
	entry.attr.st_ino = packing->directory->number;
	return pack(packing, index == 0 ? "." : "..", &entry, (off_t)index + 1);
}

/* The inode of a listed name, with a reference; NULL: it is gone, or no memory. *ret_holds_ms: as an entry. */
static struct fs_inode *inode_of_listed(struct packing *packing, const struct fs_listed *listed, int64_t *ret_holds_ms)
{
	struct fs_session *session = packing->session;
	if (listed->is_local)
		return inode_table_find(session->inodes, packing->directory, listed->name);
	struct fs_place place = { .path = NULL };
	if (fs_place_resolve(session, packing->directory, listed->name, &place) != 0)
		return NULL;
	struct fs_inode *inode =
		listed->is_directory ?
			fs_place_adopt_directory(session, &place, fs_time_left_ms(listed->fresh_until_ms)) :
			fs_place_adopt(session, &place, &listed->info);
	*ret_holds_ms = fs_place_has_private(session, &place) ? 0 : fs_time_left_ms(listed->fresh_until_ms);
	fs_place_done(&place);
	return inode;
}

static bool pack_plus(struct packing *packing, const struct fs_listed *listed, off_t next)
{
	struct fs_session *session = packing->session;
	int64_t entry_ms = 0;
	struct fs_inode *inode = inode_of_listed(packing, listed, &entry_ms);
	if (!inode)
		return true;
	struct fuse_entry_param entry = { .ino = fs_node_of(session, inode) };
	int64_t attributes_ms = 0;
	fs_attributes_fill(session, inode, &entry.attr, &attributes_ms);
	entry.entry_timeout = (double)entry_ms / 1000;
	entry.attr_timeout = (double)(entry_ms < attributes_ms ? entry_ms : attributes_ms) / 1000;
	inode_table_looked_up(session->inodes, inode);
	bool fits = pack(packing, listed->name, &entry, next);
	if (!fits)
		inode_table_forget(session->inodes, inode, 1);
	inode_table_unref(session->inodes, inode);
	return fits;
}

static bool pack_listed(struct packing *packing, const struct fs_listed *listed, off_t next)
{
	if (packing->plus)
		return pack_plus(packing, listed, next);
	struct fuse_entry_param entry = { .ino = 0 };
	entry.attr.st_mode = listed->is_directory ? S_IFDIR : S_IFREG;
	struct fs_inode *inode = inode_table_find(packing->session->inodes, packing->directory, listed->name);
	entry.attr.st_ino = inode ? inode->number : (ino_t)UINT32_MAX; /* libfuse's "unknown" */
	inode_table_unref(packing->session->inodes, inode);
	return pack(packing, listed->name, &entry, next);
}

/* Packs as many entries from task->offset on as fit; the buffer holds task->length bytes. Returns the bytes packed. */
static size_t pack_from(struct fs_task *task, const struct fs_listing *listing, char *buffer)
{
	struct packing packing = { .request = task->request, .session = task->session, .directory = task->inode,
				   .buffer = buffer, .size = task->length, .plus = task->flags };
	size_t at = task->offset;
	while (at < DOTS && pack_dots(&packing, at))
		at++;
	for (; at >= DOTS && at - DOTS < listing->count; at++)
		if (!pack_listed(&packing, &listing->entries[at - DOTS], (off_t)at + 1))
			break;
	return packing.used;
}

/* ---- READDIR ---- */

/* Answers from the handle's listing, which `taken` (not NULL) replaces. */
static void answer_from_handle(struct fs_task *task, struct fs_listing *taken)
{
	struct directory_handle *handle = handle_of(&task->info);
	CLEANUP(free_pointer) char *buffer = malloc(task->length);
	size_t used = 0;
	pthread_mutex_lock(&handle->mutex);
	if (taken) {
		fs_listing_done(&handle->listing);
		handle->listing = *taken;
	}
	if (buffer)
		used = pack_from(task, &handle->listing, buffer);
	pthread_mutex_unlock(&handle->mutex);
	if (buffer)
		fuse_reply_buf(task->request, buffer, used);
	else
		fs_reply_status(task->request, FS_OP_READDIR, NULL, HFKV_NO_MEMORY, NULL);
}

static void run_readdir(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	CLEANUP(free_pointer) char *path = inode_table_path(task->session->inodes, task->inode);
	struct fs_listing listing = { .count = 0 };
	enum hfkv_status status = HFKV_OK;
	if (path) /* a removed directory is empty */
		status = fs_listing_take(task->session, task->inode, path, &listing, task->deadline, &fault);
	if (status == HFKV_OK)
		answer_from_handle(task, &listing);
	else
		fs_reply_status(task->request, FS_OP_READDIR, path, status, &fault);
}

static void read_directory(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info,
			   bool plus)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_READDIR);
	struct fs_inode *inode = fs_inode_of(session, node);
	struct fs_task *task = fs_task_new(request, FS_OP_READDIR, inode_table_ref(session->inodes, inode), NULL);
	if (!task)
		return;
	task->info = *info;
	task->length = size;
	task->offset = (uint64_t)offset;
	task->flags = plus;
	if (offset == 0) {
		fs_task_submit(task, run_readdir);
		return;
	}
	answer_from_handle(task, NULL);
	fs_task_free(task);
}

void fs_op_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info)
{
	read_directory(request, node, size, offset, info, false);
}

void fs_op_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *info)
{
	read_directory(request, node, size, offset, info, true);
}

/* ---- MKDIR ---- */

void fs_dir_keep(struct fs_session *session, struct fs_inode *directory)
{
	struct fs_inode *parent = NULL;
	CLEANUP(free_pointer) char *name = NULL;
	if (!inode_table_locate(session->inodes, directory, &parent, &name))
		return; /* the root, or removed */
	struct fs_inode *displaced = NULL;
	/* Binding it where it stands only makes the name keep it; without memory the directory may vanish when empty. */
	if (inode_table_bind(session->inodes, parent, name, directory, true, &displaced) == HFKV_OK)
		inode_table_unref(session->inodes, displaced);
	inode_table_unref(session->inodes, parent);
}

void fs_op_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_MKDIR);
	struct fs_inode *directory = fs_inode_of(session, parent);
	struct fs_place place = { .path = NULL };
	int error = fs_place_resolve(session, directory, name, &place);
	if (error == 0 && place.kind == FS_NAME_OBJECT && session->rule.layout == FS_LAYOUT_KV)
		error = EINVAL; /* X.data is always a chunk */
	if (error == 0 && place.kind != FS_NAME_LOCAL &&
	    kv_cache_check_path(session->cache, place.path) == HFKV_OVERSIZE)
		error = ENAMETOOLONG;
	if (error) {
		fs_place_done(&place);
		fs_reply_errno(request, FS_OP_MKDIR, name, error);
		return;
	}
	struct fs_inode *inode = inode_table_add(session->inodes, FS_INODE_DIRECTORY);
	enum hfkv_status status = inode ? HFKV_OK : HFKV_NO_MEMORY;
	if (inode) {
		fs_attributes_init(session, inode, 0);
		status = fs_place_take(session, &place, inode, true);
	}
	fs_place_done(&place);
	if (status == HFKV_OK)
		fs_reply_entry(request, inode, session->settings.metadata_ttl_ms);
	else
		fs_reply_status(request, FS_OP_MKDIR, name, status, NULL);
	inode_table_unref(session->inodes, inode);
}

/* ---- RMDIR ---- */

static void remove_directory(struct fs_task *task)
{
	struct fs_session *session = task->session;
	struct fs_inode *inode = inode_table_find(session->inodes, task->inode, task->name);
	if (inode && inode_table_has_kept(session->inodes, inode)) {
		fs_reply_errno(task->request, FS_OP_RMDIR, task->name, ENOTEMPTY);
	} else {
		if (inode)
			inode_table_unbind(session->inodes, inode);
		fs_reply_done(task->request);
	}
	inode_table_unref(session->inodes, inode);
}

static void run_rmdir(struct fs_task *task)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = kv_cache_directory_exists(task->session->cache, task->path, task->deadline, &fault);
	if (status == HFKV_OK)
		fs_reply_errno(task->request, FS_OP_RMDIR, task->name, ENOTEMPTY);
	else if (status == HFKV_NOT_FOUND)
		remove_directory(task);
	else
		fs_reply_status(task->request, FS_OP_RMDIR, task->name, status, &fault);
}

void fs_op_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_RMDIR);
	struct fs_inode *directory = fs_inode_of(session, parent);
	struct fs_place place = { .path = NULL };
	int error = fs_place_resolve(session, directory, name, &place);
	if (error) {
		fs_reply_errno(request, FS_OP_RMDIR, name, error);
		return;
	}
	struct fs_task *task = fs_task_new(request, FS_OP_RMDIR, inode_table_ref(session->inodes, directory), name);
	if (!task) {
		fs_place_done(&place);
		return;
	}
	task->path = place.path;
	if (place.kind == FS_NAME_LOCAL) {
		remove_directory(task);
		fs_task_free(task);
		return;
	}
	fs_task_submit(task, run_rmdir);
}
