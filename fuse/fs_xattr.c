#include "fuse/fs_xattr.h"

#include "cache/key_codec.h"
#include "fuse/fs_place.h"
#include "fuse/fs_reply.h"

#include <errno.h>
#include <string.h>

#define PREFIX "user.hfkv."

static char *value_of_key(struct fs_session *session, struct fs_inode *inode)
{
	struct fs_inode *directory = NULL;
	CLEANUP(free_pointer) char *name = NULL;
	if (session->rule.layout != FS_LAYOUT_KV ||
	    !inode_table_locate(session->inodes, inode, &directory, &name))
		return NULL;
	inode_table_unref(session->inodes, directory);
	char *key = NULL;
	return key_from_file_name(name, &key) == HFKV_OK ? key : NULL;
}

static char *value_of_object(struct fs_session *session, struct fs_inode *inode)
{
	return fs_place_object_path(session, inode);
}

static char *value_of_hash(struct fs_session *session, struct fs_inode *inode)
{
	(void)session;
	char text[CONTENT_HASH_TEXT_BYTES];
	pthread_mutex_lock(&inode->mutex);
	const struct fs_file *file = &inode->file;
	bool known = file->role == FS_ROLE_COMMITTED || (file->published && !file->changed);
	content_hash_format(&file->info.hash, text);
	pthread_mutex_unlock(&inode->mutex);
	return known ? strdup(text) : NULL;
}

static char *value_of_state(struct fs_session *session, struct fs_inode *inode)
{
	(void)session;
	SCOPED_LOCK(&inode->mutex);
	switch (inode->file.role) {
	case FS_ROLE_COMMITTED: return strdup(inode->file.body ? "staged" : "stored");
	case FS_ROLE_SCRATCH: return strdup("scratch");
	case FS_ROLE_WRITER: return strdup("writing");
	case FS_ROLE_SHADOW: return strdup("stored");
	}
	return NULL;
}

static const struct attribute {
	const char *name;
	char *(*value)(struct fs_session *session, struct fs_inode *inode); /* malloc'd; NULL: has none */
} attributes[] = {
	{ PREFIX "key", value_of_key },
	{ PREFIX "object", value_of_object },
	{ PREFIX "xet_hash", value_of_hash },
	{ PREFIX "state", value_of_state },
};

/* size 0 asks for the length alone. */
static void answer(fuse_req_t request, const char *bytes, size_t length, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(request, length);
	else if (length > size)
		fuse_reply_err(request, ERANGE);
	else
		fuse_reply_buf(request, bytes, length);
}

void fs_op_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_GETXATTR);
	struct fs_inode *inode = fs_inode_of(session, node);
	if (strncmp(name, "user.", strlen("user.")) != 0) {
		fs_reply_errno(request, FS_OP_GETXATTR, name, EOPNOTSUPP);
		return;
	}
	CLEANUP(free_pointer) char *value = NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(attributes) && inode->kind == FS_INODE_FILE && !value; i++)
		if (strcmp(attributes[i].name, name) == 0)
			value = attributes[i].value(session, inode);
	if (value)
		answer(request, value, strlen(value), size);
	else
		fs_reply_errno(request, FS_OP_GETXATTR, name, ENODATA);
}

void fs_op_listxattr(fuse_req_t request, fuse_ino_t node, size_t size)
{
	struct fs_session *session = fs_session_of(request);
	fs_count(session, FS_OP_LISTXATTR);
	struct fs_inode *inode = fs_inode_of(session, node);
	char names[256];
	size_t length = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(attributes) && inode->kind == FS_INODE_FILE; i++) {
		CLEANUP(free_pointer) char *value = attributes[i].value(session, inode);
		size_t bytes = strlen(attributes[i].name) + 1;
		if (!value || length + bytes > sizeof(names))
			continue;
		memcpy(names + length, attributes[i].name, bytes);
		length += bytes;
	}
	answer(request, names, length, size);
}
