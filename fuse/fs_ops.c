#include "fuse/fs_ops.h"

#include "fuse/fs_attributes.h"
#include "fuse/fs_dir.h"
#include "fuse/fs_lookup.h"
#include "fuse/fs_open.h"
#include "fuse/fs_read.h"
#include "fuse/fs_rename.h"
#include "fuse/fs_reply.h"
#include "fuse/fs_write.h"
#include "fuse/fs_xattr.h"
#include "fuse/passthrough.h"

#include <errno.h>

#define REQUEST_BYTES  (1024 * 1024) /* the most that one READ or WRITE carries */
#define BACKGROUND_MAX 64            /* read-ahead and RELEASE requests that the kernel may have under way */

static void init(void *userdata, struct fuse_conn_info *connection)
{
	struct fs_session *session = userdata;
	connection->max_write = REQUEST_BYTES;
	connection->max_readahead = REQUEST_BYTES;
	connection->max_background = BACKGROUND_MAX;
	connection->congestion_threshold = BACKGROUND_MAX * 3 / 4;
	connection->time_gran = 1;
	passthrough_want(connection, FUSE_CAP_ATOMIC_O_TRUNC);  /* else a truncating open empties the readers' inode */
	passthrough_want(connection, FUSE_CAP_PARALLEL_DIROPS); /* look-ups in one directory wait for the bucket together */
	passthrough_want(connection, FUSE_CAP_ASYNC_DIO);
	passthrough_want_killpriv(connection);
	passthrough_want(connection, FUSE_CAP_READDIRPLUS);
	passthrough_want(connection, FUSE_CAP_READDIRPLUS_AUTO);
	passthrough_want(connection, FUSE_CAP_SPLICE_WRITE); /* answers to READ go from the staged file without a copy of ours */
	passthrough_unwant(connection, FUSE_CAP_SPLICE_READ); /* small requests would pay for it */
	passthrough_unwant(connection, FUSE_CAP_SPLICE_MOVE); /* staged pages stay ours */
	/* Content never changes behind the kernel's back, but times do: they must not empty its page cache. */
	passthrough_unwant(connection, FUSE_CAP_AUTO_INVAL_DATA);
	if (!session->settings.no_passthrough && passthrough_negotiate(connection)) {
		atomic_store(&session->passthrough_reads, true);
		atomic_store(&session->passthrough_writes, kv_cache_staging_is_private_tmpfs(session->cache));
	}
	if (session->settings.ready)
		session->settings.ready(session->settings.ready_context);
}

/* What a bucket has no place for. */
static void refuse(fuse_req_t request, const char *name)
{
	fs_count(fs_session_of(request), FS_OP_REFUSED);
	fs_reply_errno(request, FS_OP_REFUSED, name, EPERM);
}

static void refuse_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)parent;
	(void)mode;
	(void)device;
	refuse(request, name);
}

static void refuse_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	refuse(request, name);
}

static void refuse_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
	(void)node;
	(void)parent;
	refuse(request, name);
}

const struct fuse_lowlevel_ops fs_operations = {
	.init = init,
	.lookup = fs_op_lookup,
	.forget = fs_op_forget,
	.forget_multi = fs_op_forget_multi,
	.getattr = fs_op_getattr,
	.setattr = fs_op_setattr,
	.mknod = refuse_mknod,
	.symlink = refuse_symlink,
	.link = refuse_link,
	.mkdir = fs_op_mkdir,
	.rmdir = fs_op_rmdir,
	.unlink = fs_op_unlink,
	.rename = fs_op_rename,
	.create = fs_op_create,
	.open = fs_op_open,
	.read = fs_op_read,
	.write_buf = fs_op_write_buf,
	.fallocate = fs_op_fallocate,
	.flush = fs_op_flush,
	.fsync = fs_op_fsync,
	.release = fs_op_release,
	.opendir = fs_op_opendir,
	.readdir = fs_op_readdir,
	.readdirplus = fs_op_readdirplus,
	.releasedir = fs_op_releasedir,
	.fsyncdir = fs_op_fsyncdir,
	.statfs = fs_op_statfs,
	.getxattr = fs_op_getxattr,
	.listxattr = fs_op_listxattr,
};
