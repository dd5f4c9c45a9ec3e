/* For libfuse before 3.16: adds FUSE_PARALLEL_DIROPS to the answer to INIT, the first that a session gives. */
#include "fuse/fs_device.h"

#include "fuse/fs_state.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>

/* The answer is a header and a fuse_init_out, in an iovec each. */
static void add_parallel_lookups(struct iovec *parts, int count)
{
	if (count != 2 || parts[0].iov_len != sizeof(struct fuse_out_header) ||
	    parts[1].iov_len < offsetof(struct fuse_init_out, flags) + sizeof(uint32_t))
		return;
	const struct fuse_out_header *header = parts[0].iov_base;
	struct fuse_init_out *answer = parts[1].iov_base;
	if (header->error == 0)
		answer->flags |= FUSE_PARALLEL_DIROPS;
}

static ssize_t device_writev(int fd, struct iovec *parts, int count, void *userdata)
{
	struct fs_session *session = userdata;
	if (!atomic_exchange_explicit(&session->init_answered, true, memory_order_relaxed))
		add_parallel_lookups(parts, count);
	return writev(fd, parts, count);
}

static ssize_t device_read(int fd, void *buffer, size_t length, void *userdata)
{
	(void)userdata;
	return read(fd, buffer, length);
}

static ssize_t device_splice(int from, off_t *from_offset, int to, off_t *to_offset, size_t length, unsigned flags,
			     void *userdata)
{
	(void)userdata;
	return splice(from, from_offset, to, to_offset, length, flags);
}

bool fs_device_adopt(struct fs_session *session)
{
	static const struct fuse_custom_io io = { .writev = device_writev,
						  .read = device_read,
						  .splice_receive = device_splice,
						  .splice_send = device_splice };
	return fuse_session_custom_io(session->fuse, &io, fuse_session_fd(session->fuse)) == 0;
}
