#include "fuse/fs_place.h"

#include "common/clock.h"
#include "fuse/fs_attributes.h"
#include "fuse/fs_scratch.h"
#include "fuse/thread_group.h"

#include <errno.h>
#include <string.h>

int fs_place_resolve(struct fs_session *session, struct fs_inode *directory, const char *name, struct fs_place *ret_place)
{
	CLEANUP(free_pointer) char *path = inode_table_path(session->inodes, directory);
	if (!path)
		return ENOENT;
	struct fs_place place = { .directory = directory, .name = name };
	int error = fs_name_classify(&session->rule, path, name, &place.kind, &place.path);
	if (error == 0)
		*ret_place = place;
	return error;
}

void fs_place_done(struct fs_place *place)
{
	free(place->path);
	place->path = NULL;
}

int fs_place_resolve_new(struct fs_session *session, struct fs_inode *directory, const char *name,
			 struct fs_place *ret_place)
{
	struct fs_place place;
	int error = fs_place_resolve(session, directory, name, &place);
	if (error)
		return error;
	enum hfkv_status status = HFKV_OK;
	if (place.kind == FS_NAME_OBJECT)
		status = kv_cache_check_path(session->cache, place.path);
	if (status == HFKV_OK && place.kind == FS_NAME_OBJECT && session->rule.layout == FS_LAYOUT_KV &&
	    kv_chunk_spec_full_size(session->settings.spec, place.path) == 0)
		status = HFKV_INVALID;
	if (status != HFKV_OK) {
		fs_place_done(&place);
		return status == HFKV_OVERSIZE ? ENAMETOOLONG : EINVAL;
	}
	*ret_place = place;
	return 0;
}

char *fs_place_object_path(struct fs_session *session, struct fs_inode *inode)
{
	struct fs_inode *directory = NULL;
	CLEANUP(free_pointer) char *name = NULL;
	if (!inode_table_locate(session->inodes, inode, &directory, &name))
		return NULL;
	struct fs_place place = { .path = NULL };
	bool is_object = fs_place_resolve(session, directory, name, &place) == 0 && place.kind == FS_NAME_OBJECT;
	inode_table_unref(session->inodes, directory);
	if (is_object)
		return place.path;
	fs_place_done(&place);
	return NULL;
}

/* ---- private bodies ---- */

struct private_match {
	pid_t thread;
};

static bool is_reserved_for(struct fs_inode *inode, const void *context)
{
	const struct private_match *match = context;
	SCOPED_LOCK(&inode->mutex);
	return inode->file.reserved && inode->file.creator == match->thread;
}

static bool is_seen_by_process(struct fs_inode *inode, const void *context)
{
	const struct private_match *match = context;
	SCOPED_LOCK(&inode->mutex);
	return inode->file.unsealed > 0 && thread_group_shared(inode->file.creator, match->thread);
}

static bool is_any(struct fs_inode *inode, const void *context)
{
	(void)inode;
	(void)context;
	return true;
}

struct fs_inode *fs_place_find_reserved(struct fs_session *session, const struct fs_place *place, pid_t thread)
{
	struct private_match match = { .thread = thread };
	return inode_table_find_private(session->inodes, place->directory, place->name, is_reserved_for, &match);
}

struct fs_inode *fs_place_find_private(struct fs_session *session, const struct fs_place *place, pid_t thread)
{
	struct private_match match = { .thread = thread };
	return inode_table_find_private(session->inodes, place->directory, place->name, is_seen_by_process, &match);
}

bool fs_place_has_private(struct fs_session *session, const struct fs_place *place)
{
	struct fs_inode *found =
		inode_table_find_private(session->inodes, place->directory, place->name, is_any, NULL);
	inode_table_unref(session->inodes, found);
	return found != NULL;
}

/* ---- the current inode ---- */

static bool has_content(struct fs_inode *inode, const void *context)
{
	const struct object_info *info = context;
	if (inode->kind != FS_INODE_FILE)
		return false;
	SCOPED_LOCK(&inode->mutex);
	const struct fs_file *file = &inode->file;
	return file->role == FS_ROLE_COMMITTED && file->info.size_bytes == info->size_bytes &&
	       content_hash_equal(&file->info.hash, &info->hash);
}

static bool is_directory(struct fs_inode *inode, const void *context)
{
	(void)context;
	return inode->kind == FS_INODE_DIRECTORY;
}

struct fs_inode *fs_place_new_file(struct fs_session *session, const struct fs_place *place, enum fs_role role)
{
	struct fs_inode *inode = inode_table_add(session->inodes, FS_INODE_FILE);
	if (!inode)
		return NULL;
	inode->file.role = role;
	if (session->rule.layout == FS_LAYOUT_PLAIN)
		inode->file.limit_bytes = INT64_MAX;
	else if (place->kind == FS_NAME_OBJECT)
		inode->file.limit_bytes = kv_chunk_spec_full_size(session->settings.spec, place->path);
	else
		inode->file.limit_bytes = session->scratch_limit_bytes;
	fs_attributes_init(session, inode, 0);
	return inode;
}

struct fs_inode *fs_place_adopt(struct fs_session *session, const struct fs_place *place, const struct object_info *info)
{
	struct fs_inode *current = inode_table_find(session->inodes, place->directory, place->name);
	if (current && has_content(current, info))
		return current;
	inode_table_unref(session->inodes, current);
	struct fs_inode *inode = fs_place_new_file(session, place, FS_ROLE_COMMITTED);
	if (!inode)
		return NULL;
	inode->file.info = *info;
	fs_attributes_init(session, inode, info->modified_at_ms);
	struct fs_inode *result = inode_table_find_or_bind(session->inodes, place->directory, place->name, inode,
							   has_content, info);
	inode_table_unref(session->inodes, inode);
	return result;
}

struct fs_inode *fs_place_adopt_directory(struct fs_session *session, const struct fs_place *place, int64_t holds_ms)
{
	struct fs_inode *inode = inode_table_add(session->inodes, FS_INODE_DIRECTORY);
	if (!inode)
		return NULL;
	fs_attributes_init(session, inode, 0);
	struct fs_inode *result = inode_table_find_or_bind(session->inodes, place->directory, place->name, inode,
							   is_directory, NULL);
	inode_table_unref(session->inodes, inode);
	if (!result)
		return NULL;
	SCOPED_LOCK(&result->mutex);
	int64_t until_ms = clock_now_ms() + holds_ms;
	if (result->fresh_until_ms < until_ms)
		result->fresh_until_ms = until_ms;
	return result;
}

enum hfkv_status fs_place_take(struct fs_session *session, const struct fs_place *place, struct fs_inode *inode,
			       bool keep)
{
	struct fs_inode *displaced = NULL;
	enum hfkv_status status =
		inode_table_bind(session->inodes, place->directory, place->name, inode, keep, &displaced);
	if (displaced)
		fs_place_orphan(session, displaced);
	inode_table_unref(session->inodes, displaced);
	return status;
}

void fs_place_orphan(struct fs_session *session, struct fs_inode *inode)
{
	if (inode->kind != FS_INODE_FILE)
		return;
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	pthread_mutex_lock(&inode->mutex);
	inode->file.removed = true;
	if (inode->file.opens == 0 && !inode->file.publishing)
		body = TAKE_PTR(inode->file.body);
	pthread_mutex_unlock(&inode->mutex);
	fs_scratch_cancel_expiry(session, inode);
}

struct fs_inode *fs_place_reserve(struct fs_session *session, const struct fs_place *place, enum fs_role role,
				  struct fs_inode *original, pid_t thread)
{
	struct fs_inode *inode = fs_place_new_file(session, place, role);
	if (!inode)
		return NULL;
	if (original) {
		pthread_mutex_lock(&original->mutex);
		struct object_info info = original->file.info;
		struct fs_attributes attributes = original->attributes;
		pthread_mutex_unlock(&original->mutex);
		inode->file.info = info;
		inode->attributes = attributes;
		inode->file.original = inode_table_ref(session->inodes, original);
	}
	inode->file.creator = thread;
	inode->file.reserved = true;
	if (inode_table_bind_private(session->inodes, place->directory, place->name, inode) != HFKV_OK) {
		inode_table_unref(session->inodes, inode);
		return NULL;
	}
	fs_scratch_expire_after(session, inode, FS_RESERVATION_MS);
	return inode;
}
