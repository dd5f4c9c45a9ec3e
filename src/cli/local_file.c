#include "src/cli/local_file.h"

#include "common/file_io.h"

#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_BYTES ((size_t)128 * 1024)

/* ---- an unnamed file for what has no offsets ---- */

static enum hfkv_status open_spool(int *ret_fd, struct fault *fault)
{
	const char *directory = getenv("TMPDIR");
	if (!directory || !directory[0])
		directory = "/tmp";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_set_errno(fault, errno, "no room to buffer a stream in '%s' (TMPDIR names another place)",
				       directory);
	*ret_fd = fd;
	return HFKV_OK;
}

/* From the start of `from`, or from where a stream stands, to where `to` stands. */
static enum hfkv_status copy_stream(int from, int to, const char *name, uint64_t *ret_bytes, struct fault *fault)
{
	CLEANUP(free_pointer) char *buffer = malloc(COPY_BYTES);
	if (!buffer)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory to copy '%s'", name);
	uint64_t total = 0;
	for (;;) {
		ssize_t got = read(from, buffer, COPY_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fault_set_errno(fault, errno, "cannot read '%s'", name);
		if (got == 0)
			break;
		if (!file_io_write(to, buffer, (uint64_t)got))
			return fault_set_errno(fault, errno, "cannot write '%s'", name);
		total += (uint64_t)got;
	}
	*ret_bytes = total;
	return HFKV_OK;
}

/* ---- sources ---- */

static bool readable_at_offsets(int fd, const struct stat *about)
{
	return S_ISREG(about->st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

enum hfkv_status local_source_open(const char *name, struct local_source *ret_source, struct fault *fault)
{
	bool standard = strcmp(name, "-") == 0;
	CLEANUP(close_fd) int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(name, O_RDONLY | O_CLOEXEC);
	struct stat about;
	if (fd < 0 || fstat(fd, &about) != 0)
		return fault_set_errno(fault, errno, "cannot open '%s'", name);
	if (S_ISDIR(about.st_mode))
		return fault_set(fault, HFKV_INVALID, "'%s' is a directory: name the files to store", name);
	if (readable_at_offsets(fd, &about)) {
		*ret_source = (struct local_source){ TAKE_FD(fd), (uint64_t)about.st_size };
		return HFKV_OK;
	}
	CLEANUP(close_fd) int spool = -1;
	uint64_t size_bytes = 0;
	enum hfkv_status status = open_spool(&spool, fault);
	if (status == HFKV_OK)
		status = copy_stream(fd, spool, name, &size_bytes, fault);
	if (status == HFKV_OK)
		*ret_source = (struct local_source){ TAKE_FD(spool), size_bytes };
	return status;
}

/* ---- targets ---- */

static enum hfkv_status open_stream_target(int stream_fd, struct local_target *target, struct fault *fault)
{
	struct stat about;
	off_t offset = lseek(stream_fd, 0, SEEK_CUR);
	int flags = fcntl(stream_fd, F_GETFL);
	/* pwrite on an O_APPEND descriptor ignores the offset. */
	if (fstat(stream_fd, &about) == 0 && S_ISREG(about.st_mode) && offset >= 0 && !(flags & O_APPEND)) {
		target->fd = stream_fd;
		target->offset = (uint64_t)offset;
		return HFKV_OK;
	}
	enum hfkv_status status = open_spool(&target->fd, fault);
	if (status == HFKV_OK) {
		target->is_stream = true;
		target->stream_fd = stream_fd;
	}
	return status;
}

/* Filesystems without O_TMPFILE (NFS, FUSE): a file under a hidden name, removed unless committed. */
static int open_named_temporary(const char *name, char **ret_temporary)
{
	CLEANUP(free_pointer) char *copy = strdup(name);
	CLEANUP(free_pointer) char *temporary = NULL;
	const char *slash = strrchr(name, '/');
	if (!copy || asprintf(&temporary, "%s/.%s.XXXXXX", dirname(copy), slash ? slash + 1 : name) < 0) {
		temporary = NULL;
		errno = ENOMEM;
		return -1;
	}
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0) {
		mode_t mask = umask(0);
		umask(mask);
		fchmod(fd, 0666 & ~mask);
		*ret_temporary = TAKE_PTR(temporary);
	}
	return fd;
}

static enum hfkv_status open_file_target(const char *name, struct local_target *target, struct fault *fault)
{
	CLEANUP(free_pointer) char *copy = strdup(name);
	if (!copy)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for '%s'", name);
	int fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_named_temporary(name, &target->temporary_name);
	if (fd < 0)
		return fault_set_errno(fault, errno, "cannot create '%s'", name);
	target->fd = fd;
	return HFKV_OK;
}

enum hfkv_status local_target_open(const char *name, struct local_target *ret_target, struct fault *fault)
{
	CLEANUP(local_target_done) struct local_target target = { .name = name, .fd = -1, .stream_fd = -1 };
	struct stat about;
	enum hfkv_status status;
	if (strcmp(name, "-") == 0) {
		status = open_stream_target(STDOUT_FILENO, &target, fault);
	} else if (stat(name, &about) == 0 && S_ISDIR(about.st_mode)) {
		status = fault_set(fault, HFKV_INVALID, "'%s' is a directory: name a file, or end it in /", name);
	} else if (stat(name, &about) == 0 && !S_ISREG(about.st_mode)) {
		int fd = open(name, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return fault_set_errno(fault, errno, "cannot open '%s'", name);
		status = open_stream_target(fd, &target, fault);
		if (status != HFKV_OK)
			close(fd);
	} else {
		status = open_file_target(name, &target, fault);
	}
	if (status == HFKV_OK) {
		*ret_target = target;
		target = (struct local_target){ .fd = -1, .stream_fd = -1 };
	}
	return status;
}

/* linkat cannot replace: an existing name is replaced by renaming a link under a name of our own. */
static int link_over(int fd, const char *name)
{
	char from[64];
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST)
		return -1;
	CLEANUP(free_pointer) char *temporary = NULL;
	if (asprintf(&temporary, "%s.%d-%d.tmp", name, (int)getpid(), fd) < 0) {
		temporary = NULL;
		errno = ENOMEM;
		return -1;
	}
	if (linkat(AT_FDCWD, from, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) != 0)
		return -1;
	if (rename(temporary, name) == 0)
		return 0;
	int saved = errno;
	unlink(temporary);
	errno = saved;
	return -1;
}

enum hfkv_status local_target_commit(struct local_target *target, uint64_t size_bytes, struct fault *fault)
{
	if (target->is_stream) {
		uint64_t copied = 0;
		if (lseek(target->fd, 0, SEEK_SET) != 0)
			return fault_set_errno(fault, errno, "cannot read back '%s'", target->name);
		return copy_stream(target->fd, target->stream_fd, target->name, &copied, fault);
	}
	if (target->fd == STDOUT_FILENO) {
		lseek(target->fd, (off_t)(target->offset + size_bytes), SEEK_SET);
		return HFKV_OK;
	}
	int failed = target->temporary_name ? rename(target->temporary_name, target->name) :
					      link_over(target->fd, target->name);
	if (failed)
		return fault_set_errno(fault, errno, "cannot give '%s' its name", target->name);
	free(target->temporary_name);
	target->temporary_name = NULL;
	return HFKV_OK;
}

void local_target_done(struct local_target *target)
{
	if (target->temporary_name)
		unlink(target->temporary_name);
	free(target->temporary_name);
	if (target->fd > STDERR_FILENO)
		close(target->fd);
	if (target->stream_fd > STDERR_FILENO)
		close(target->stream_fd);
	*target = (struct local_target){ .fd = -1, .stream_fd = -1 };
}

enum hfkv_status local_make_directories(const char *path, size_t base_length, struct fault *fault)
{
	CLEANUP(free_pointer) char *copy = strdup(path);
	if (!copy)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for '%s'", path);
	for (char *slash = strchr(copy + base_length, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (copy[0] && mkdir(copy, 0777) != 0 && errno != EEXIST)
			return fault_set_errno(fault, errno, "cannot make directory '%s'", copy);
		*slash = '/';
	}
	return HFKV_OK;
}
