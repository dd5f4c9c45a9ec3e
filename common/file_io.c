#include "common/file_io.h"

#include <errno.h>
#include <unistd.h>

int64_t file_io_read(int fd, void *into, uint64_t length)
{
	uint64_t done = 0;
	while (done < length) {
		ssize_t got = read(fd, (char *)into + done, length - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

int64_t file_io_read_at(int fd, void *into, uint64_t length, uint64_t offset)
{
	uint64_t done = 0;
	while (done < length) {
		ssize_t got = pread(fd, (char *)into + done, length - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

/* False when a write that moved `wrote` bytes cannot be continued. A file that takes nothing would be asked forever. */
static bool may_go_on(ssize_t wrote)
{
	if (wrote == 0)
		errno = EIO;
	return wrote > 0 || (wrote < 0 && errno == EINTR);
}

bool file_io_write(int fd, const void *bytes, uint64_t length)
{
	for (uint64_t done = 0; done < length;) {
		ssize_t wrote = write(fd, (const char *)bytes + done, length - done);
		if (!may_go_on(wrote))
			return false;
		done += wrote > 0 ? (uint64_t)wrote : 0;
	}
	return true;
}

bool file_io_write_at(int fd, const void *bytes, uint64_t length, uint64_t offset)
{
	for (uint64_t done = 0; done < length;) {
		ssize_t wrote = pwrite(fd, (const char *)bytes + done, length - done, (off_t)(offset + done));
		if (!may_go_on(wrote))
			return false;
		done += wrote > 0 ? (uint64_t)wrote : 0;
	}
	return true;
}
