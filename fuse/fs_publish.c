#include "fuse/fs_publish.h"

#include "common/clock.h"
#include "fuse/fs_attributes.h"

/* How long a rename waits for the RELEASE that the kernel has already queued. Passing it costs a private copy, no harm. */
#define RELEASE_WAIT_MS 50

void fs_publish_await_release(struct fs_inode *inode)
{
	struct deadline deadline = deadline_after_ms(RELEASE_WAIT_MS);
	SCOPED_LOCK(&inode->mutex);
	while (inode->file.writers > 0)
		if (!deadline_wait(&inode->changed, &inode->mutex, deadline))
			return;
}

/* The inode's mutex is held. Marks the body as being published; *ret_body carries a reference. */
static enum hfkv_status begin(struct fs_inode *inode, struct deadline deadline, struct staged_file **ret_body,
			      int *ret_flags, struct fault *fault)
{
	struct fs_file *file = &inode->file;
	while (file->publishing || file->writes_in_flight > 0)
		if (!deadline_wait(&inode->changed, &inode->mutex, deadline))
			return fault_set(fault, HFKV_TIMEOUT, "an earlier write or commit of the file goes on");
	if (file->removed || !file->body)
		return HFKV_NOT_FOUND;
	file->publishing = true;
	file->changed = false;
	*ret_body = staged_file_ref(file->body);
	/* From here on a write makes its own copy. Writes that the kernel does by itself cannot: then the upload takes one. */
	bool writes_unseen = file->passthrough && file->writers > 0;
	*ret_flags = writes_unseen ? KV_CACHE_PUBLISH_STILL_WRITTEN : 0;
	file->body_is_shared = !writes_unseen;
	return HFKV_OK;
}

static void end(struct fs_inode *inode, struct staged_file *body, enum hfkv_status status,
		const struct object_info *info)
{
	CLEANUP(staged_file_unrefp) struct staged_file *dropped = NULL;
	SCOPED_LOCK(&inode->mutex);
	struct fs_file *file = &inode->file;
	file->publishing = false;
	if (status == HFKV_OK) {
		file->published = true;
		file->info = *info;
	} else {
		file->changed = true;
		if (file->body == body)
			file->body_is_shared = false;
	}
	if (file->opens == 0 && (status == HFKV_OK || file->removed))
		dropped = TAKE_PTR(file->body);
	pthread_cond_broadcast(&inode->changed);
}

enum hfkv_status fs_publish(struct fs_session *session, struct fs_inode *inode, const char *path,
			    struct deadline deadline, struct fault *fault)
{
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	int flags = 0;
	pthread_mutex_lock(&inode->mutex);
	enum hfkv_status status = begin(inode, deadline, &body, &flags, fault);
	pthread_mutex_unlock(&inode->mutex);
	if (status != HFKV_OK)
		return status;
	struct object_info info = { .size_bytes = 0 };
	status = kv_cache_publish(session->cache, body, path, flags, deadline, &info, fault);
	/* Not the file is gone but the bucket, or the content store: nothing was stored, and the caller must hear it. */
	if (status == HFKV_NOT_FOUND)
		status = HFKV_UNAVAILABLE;
	end(inode, body, status, &info);
	return status;
}
