#include "src/connector/fs_body.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define DIRECT_ALIGN_BYTES 4096
#define BOUNCE_BYTES       (1024 * 1024)
#define TRANSFER_MAX_BYTES (1024 * 1024 * 1024) /* below what read(2) and write(2) take at once */

static bool wants_direct(struct fs_body_io *io, const struct fs_body *body)
{
	if (io->direct_block_bytes == 0)
		return false;
	if (body->header_bytes == 0 && body->data_bytes > 0 && body->data_bytes % io->direct_block_bytes == 0)
		return true;
	if (!atomic_exchange(&io->direct_warned, true))
		log_warning(
		    "O_DIRECT needs sizes that are multiples of %llu bytes, not %llu: normal I/O, ignoring",
		    (unsigned long long)io->direct_block_bytes, (unsigned long long)body->data_bytes);
	return false;
}

/* Opens with O_DIRECT where wanted; a file system that refuses it gets normal I/O. *direct tells which it was. */
static int open_file(struct fs_body_io *io, const char *path, int flags, bool *direct)
{
	if (*direct) {
		int fd = open(path, flags | O_DIRECT | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EINVAL)
			return fd;
		if (!atomic_exchange(&io->direct_warned, true))
			log_warning("the file system of '%s' refuses O_DIRECT: normal I/O, ignoring", path);
		*direct = false;
		if (flags & O_EXCL)
			unlink(path); /* some file systems create the file, then refuse */
	}
	return open(path, flags | O_CLOEXEC, 0666);
}

static bool is_aligned(const void *memory)
{
	return (uintptr_t)memory % DIRECT_ALIGN_BYTES == 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Moves `length` bytes between memory and the file; fewer only at the file's end. -1: errno. */
static int64_t transfer_direct(int fd, char *memory, uint64_t length, bool writes)
{
	CLEANUP(free_pointer) void *bounce = NULL;
	if (!is_aligned(memory) && posix_memalign(&bounce, DIRECT_ALIGN_BYTES, BOUNCE_BYTES) != 0) {
		errno = ENOMEM;
		return -1;
	}
	uint64_t done = 0;
	while (done < length) {
		uint64_t piece = smaller(length - done, bounce ? BOUNCE_BYTES : TRANSFER_MAX_BYTES);
		char *from = bounce ? bounce : memory + done;
		if (bounce && writes)
			memcpy(bounce, memory + done, piece);
		ssize_t moved =
		    writes ? pwrite(fd, from, piece, (off_t)done) : pread(fd, from, piece, (off_t)done);
		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return -1;
		if (bounce && !writes)
			memcpy(memory + done, bounce, (size_t)moved);
		done += (uint64_t)moved;
		/* After a short transfer the next call tells why: no space, or the end of the file. It cannot be
		 * made where its offset would not be aligned; for a read that is the end of the file too. */
		if (moved == 0 || done % DIRECT_ALIGN_BYTES != 0)
			break;
	}
	return (int64_t)done;
}

/* Takes `moved` bytes off the front of the vector; returns the first part that has something left. */
static struct iovec *advance(struct iovec *part, struct iovec *end, size_t moved)
{
	while (part < end && moved >= part->iov_len) {
		moved -= part->iov_len;
		part++;
	}
	if (part < end) {
		part->iov_base = (char *)part->iov_base + moved;
		part->iov_len -= moved;
	}
	return part;
}

static int write_parts(int fd, struct iovec *part, struct iovec *end)
{
	while (part < end) {
		ssize_t moved = writev(fd, part, (int)(end - part));
		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0) {
			errno = moved == 0 ? EIO : errno;
			return -1;
		}
		part = advance(part, end, (size_t)moved);
	}
	return 0;
}

static int write_body(int fd, const struct fs_body *body, bool direct)
{
	if (direct) {
		int64_t moved = transfer_direct(fd, body->data, body->data_bytes, true);
		if (moved >= 0 && (uint64_t)moved < body->data_bytes)
			errno = EIO;
		return moved >= 0 && (uint64_t)moved == body->data_bytes ? 0 : -1;
	}
	struct iovec parts[2];
	int count = 0;
	if (body->header_bytes > 0)
		parts[count++] = (struct iovec){ body->header, body->header_bytes };
	if (body->data_bytes > 0)
		parts[count++] = (struct iovec){ body->data, body->data_bytes };
	return write_parts(fd, parts, parts + count);
}

enum hfkv_status fs_body_write(struct fs_body_io *io, const char *path, const struct fs_body *body,
			       struct fault *fault)
{
	bool direct = wants_direct(io, body);
	int fd = open_file(io, path, O_WRONLY | O_CREAT | O_EXCL, &direct);
	if (fd < 0)
		return fault_set_errno(fault, errno, "temporary '%s'", path);
	int failure = write_body(fd, body, direct) < 0 ? errno : 0;
	if (close(fd) < 0 && failure == 0)
		failure = errno;
	if (failure == 0)
		return HFKV_OK;
	unlink(path);
	return fault_set_errno(fault, failure, "writing '%s'", path);
}

/* Reads into the parts until they are full or the file ends. The bytes read, or -1: errno. */
static int64_t read_parts(int fd, struct iovec *part, struct iovec *end, uint64_t offset)
{
	uint64_t done = 0;
	while (part < end) {
		ssize_t moved = preadv(fd, part, (int)(end - part), (off_t)(offset + done));
		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return -1;
		if (moved == 0)
			break;
		done += (uint64_t)moved;
		part = advance(part, end, (size_t)moved);
	}
	return (int64_t)done;
}

/* The first read_ahead_bytes alone, so that the file system starts to read ahead; the rest only when they were
 * full. */
static int64_t read_window(const struct fs_body_io *io, int fd, const struct fs_body *body)
{
	if (io->read_ahead_bytes == 0 || body->header_bytes > 0 || io->read_ahead_bytes >= body->data_bytes)
		return 0;
	struct iovec part = { body->data, io->read_ahead_bytes };
	return read_parts(fd, &part, &part + 1, 0);
}

/* One byte behind the buffers tells a longer file without a call of its own. */
static int64_t read_buffered(const struct fs_body_io *io, int fd, const struct fs_body *body)
{
	int64_t window = read_window(io, fd, body);
	if (window < 0 || (window > 0 && (uint64_t)window < io->read_ahead_bytes))
		return window;
	char probe;
	struct iovec parts[3];
	int count = 0;
	if (body->header_bytes > 0)
		parts[count++] = (struct iovec){ body->header, body->header_bytes };
	if (body->data_bytes > (uint64_t)window)
		parts[count++] =
		    (struct iovec){ (char *)body->data + window, body->data_bytes - (uint64_t)window };
	parts[count++] = (struct iovec){ &probe, 1 };
	int64_t rest = read_parts(fd, parts, parts + count, (uint64_t)window);
	return rest < 0 ? rest : window + rest;
}

/* O_DIRECT reads no single byte: the size comes from fstat. */
static int64_t read_direct(int fd, const struct fs_body *body)
{
	struct stat info;
	if (fstat(fd, &info) < 0)
		return -1;
	int64_t got = transfer_direct(fd, body->data, body->data_bytes, false);
	bool goes_on = got >= 0 && (uint64_t)info.st_size > body->data_bytes;
	return goes_on ? got + 1 : got;
}

static bool is_regular(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

/* What is no regular file is no chunk: O_NONBLOCK keeps a FIFO from holding us, and a read of it fails. */
enum hfkv_status fs_body_read(struct fs_body_io *io, const char *path, const struct fs_body *body,
			      uint64_t *ret_bytes, struct fault *fault)
{
	bool direct = wants_direct(io, body);
	CLEANUP(close_fd) int fd = open_file(io, path, O_RDONLY | O_NONBLOCK, &direct);
	if (fd < 0 && (errno == ENOENT || errno == ENXIO))
		return HFKV_NOT_FOUND;
	if (fd < 0)
		return fault_set_errno(fault, errno, "opening '%s'", path);
	int64_t got = direct ? read_direct(fd, body) : read_buffered(io, fd, body);
	int failure = errno;
	if (got < 0 && !is_regular(fd))
		return HFKV_NOT_FOUND;
	if (got < 0)
		return fault_set_errno(fault, failure, "reading '%s'", path);
	if ((uint64_t)got > body->header_bytes + body->data_bytes)
		return fault_set(fault, HFKV_OVERSIZE, "'%s' is larger than the buffer for it", path);
	*ret_bytes = (uint64_t)got;
	return HFKV_OK;
}
