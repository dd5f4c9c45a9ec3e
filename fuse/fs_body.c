#include "fuse/fs_body.h"

#include "fuse/fs_handle.h"
#include "fuse/fs_attributes.h"

#include <errno.h>

#define COPY_BYTES (1024 * 1024)

enum hfkv_status fs_body_begin(struct fs_session *session, struct fs_inode *inode, uint64_t expected_bytes,
			       struct fault *fault)
{
	struct staged_file *body = NULL;
	enum hfkv_status status = kv_cache_new_body(session->cache, expected_bytes, &body, fault);
	if (status != HFKV_OK)
		return status;
	SCOPED_LOCK(&inode->mutex);
	inode->file.body = body;
	inode->file.beginning = true;
	inode->file.reserved_bytes = expected_bytes;
	inode->file.body_is_shared = false;
	return HFKV_OK;
}

static enum hfkv_status copy_bytes(int from, int to, uint64_t size_bytes, struct fault *fault)
{
	CLEANUP(free_pointer) char *buffer = malloc(COPY_BYTES);
	if (!buffer)
		return HFKV_NO_MEMORY;
	for (uint64_t at = 0; at < size_bytes;) {
		ssize_t got = pread(from, buffer, COPY_BYTES, (off_t)at);
		ssize_t put = got > 0 ? pwrite(to, buffer, (size_t)got, (off_t)at) : got;
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fault_set_errno(fault, errno, "copying a staged body");
		if (put == 0)
			return fault_set(fault, HFKV_CHANGED, "a staged body shrank while it was copied");
		at += (uint64_t)put;
	}
	return HFKV_OK;
}

static enum hfkv_status copy_body(struct fs_session *session, struct staged_file *content,
				  struct staged_file **ret_body, struct fault *fault)
{
	uint64_t size_bytes = staged_file_size(content);
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	enum hfkv_status status = kv_cache_new_body(session->cache, size_bytes, &body, fault);
	if (status == HFKV_OK)
		status = copy_bytes(staged_file_fd(content), staged_file_fd(body), size_bytes, fault);
	if (status == HFKV_OK)
		*ret_body = TAKE_PTR(body);
	return status;
}

enum hfkv_status fs_body_begin_with(struct fs_session *session, struct fs_inode *inode, struct staged_file *content,
				    struct fault *fault)
{
	struct staged_file *body = NULL;
	enum hfkv_status status = copy_body(session, content, &body, fault);
	if (status != HFKV_OK)
		return status;
	SCOPED_LOCK(&inode->mutex);
	inode->file.body = body;
	inode->file.reserved_bytes = staged_file_size(body);
	inode->file.body_is_shared = false;
	return HFKV_OK;
}

/* The inode's mutex is held: other writers wait, readers keep the old body. Rare: a write after a publish. */
static enum hfkv_status unshare_body(struct fs_session *session, struct fs_file *file, struct fault *fault)
{
	if (!file->body_is_shared)
		return HFKV_OK;
	struct staged_file *copy = NULL;
	enum hfkv_status status = copy_body(session, file->body, &copy, fault);
	if (status != HFKV_OK)
		return status;
	staged_file_unref(file->body);
	file->body = copy;
	file->reserved_bytes = staged_file_size(copy);
	file->body_is_shared = false;
	return HFKV_OK;
}

/* The inode's mutex is held. */
static enum hfkv_status make_room(struct fs_session *session, struct fs_file *file, uint64_t end_bytes,
				  struct fault *fault)
{
	if (end_bytes > file->limit_bytes)
		return fault_set(fault, HFKV_OVERSIZE, "a file of %llu bytes exceeds the full size of %llu",
				 (unsigned long long)end_bytes, (unsigned long long)file->limit_bytes);
	if (!file->body)
		return fault_set(fault, HFKV_CHANGED, "the file has lost its body");
	enum hfkv_status status = unshare_body(session, file, fault);
	if (status != HFKV_OK || end_bytes <= file->reserved_bytes)
		return status;
	status = staged_file_reserve(file->body, end_bytes);
	if (status != HFKV_OK)
		return fault_set(fault, status, "staging has no room for %llu bytes",
				 (unsigned long long)end_bytes);
	file->reserved_bytes = end_bytes;
	return HFKV_OK;
}

enum hfkv_status fs_body_enter_write(struct fs_session *session, struct fs_inode *inode, uint64_t end_bytes,
				     struct staged_file **ret_body, struct fault *fault)
{
	SCOPED_LOCK(&inode->mutex);
	struct fs_file *file = &inode->file;
	enum hfkv_status status = make_room(session, file, end_bytes, fault);
	if (status != HFKV_OK) {
		if (status == HFKV_OVERSIZE && file->failed != HFKV_OVERSIZE)
			kv_cache_count_refusal(session->cache, status, fault);
		/* What was written before it may have the right size by chance: it is not the writer's file. */
		file->failed = status;
		return status;
	}
	file->writes_in_flight++;
	*ret_body = staged_file_ref(file->body);
	return HFKV_OK;
}

void fs_body_leave_write(struct fs_inode *inode, struct fs_handle *handle, enum hfkv_status status)
{
	SCOPED_LOCK(&inode->mutex);
	struct fs_file *file = &inode->file;
	if (status == HFKV_OK) {
		file->changed = true;
		fs_attributes_touch(inode);
		if (handle && handle->owns_body && !handle->unsealed) {
			handle->unsealed = true;
			file->unsealed++;
		}
	} else {
		file->failed = status;
	}
	if (--file->writes_in_flight == 0)
		pthread_cond_broadcast(&inode->changed);
}

struct staged_file *fs_body_now(struct fs_inode *inode)
{
	SCOPED_LOCK(&inode->mutex);
	return inode->file.body ? staged_file_ref(inode->file.body) : NULL;
}
