#include "cache/staging_dir.h"

#include "cache/staging_dir_layout.h"
#include "common/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>

#define NAME_TRIES      100
#define LABEL_MAX_BYTES 32
#define OPEN_DIRECTORY  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct staging_dir {
	char *path;
	const char *name; /* the last segment of path */
	int place_fd, dir_fd, lock_fd, files_fd;
	bool private_tmpfs;
};

int staging_dir_open_private(int place_fd, const char *name)
{
	CLEANUP(close_fd) int fd = openat(place_fd, name, OPEN_DIRECTORY);
	struct stat attributes;
	if (fd < 0 || fstat(fd, &attributes) < 0)
		return -1;
	if (attributes.st_uid != geteuid() || (attributes.st_mode & 077) != 0) {
		errno = EPERM;
		return -1;
	}
	return TAKE_FD(fd);
}

int staging_dir_fd(const struct staging_dir *dir)
{
	return dir->files_fd;
}

const char *staging_dir_path(const struct staging_dir *dir)
{
	return dir->path;
}

bool staging_dir_is_private_tmpfs(const struct staging_dir *dir)
{
	return dir->private_tmpfs;
}

/* ---- making ---- */

static enum hfkv_status choose_name(struct staging_dir *dir, const struct staging_dir_settings *settings,
				    struct fault *fault)
{
	char prefix[STAGING_PREFIX_BYTES], label[LABEL_MAX_BYTES];
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fault_set_errno(fault, errno, "staging: no random bytes");
	snprintf(label, sizeof(label), "%s", settings->label ? settings->label : "cache");
	for (char *c = label; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *c))
			*c = '_';
	staging_dir_prefix(prefix);
	free(TAKE_PTR(dir->path));
	if (asprintf(&dir->path, "%s/%s%s-%d-%016llx", settings->place, prefix, label, (int)getpid(),
		     (unsigned long long)random) < 0) {
		dir->path = NULL;
		return fault_set(fault, HFKV_NO_MEMORY, "staging: out of memory");
	}
	dir->name = dir->path + strlen(settings->place) + 1;
	return HFKV_OK;
}

/* Takes the lock file. False when the sweeper of another process was faster: it took the new directory for a dead
 * one. */
static bool take_lock(struct staging_dir *dir)
{
	dir->lock_fd =
	    openat(dir->dir_fd, STAGING_LOCK_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (dir->lock_fd < 0 || flock(dir->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	/* Between the two calls a sweeper may have locked it, removed it and gone: then this is the lock of
	 * nothing. */
	struct stat attributes;
	if (fstat(dir->lock_fd, &attributes) == 0 && attributes.st_nlink > 0)
		return true;
	errno = ENOENT;
	return false;
}

static enum hfkv_status make_private_dir(struct staging_dir *dir, const struct staging_dir_settings *settings,
					 struct fault *fault)
{
	for (int tries = 0; tries < NAME_TRIES; tries++) {
		enum hfkv_status status = choose_name(dir, settings, fault);
		if (status != HFKV_OK)
			return status;
		if (mkdirat(dir->place_fd, dir->name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return fault_set_errno(fault, errno, "staging directory '%s' cannot be made", dir->path);
		}
		dir->dir_fd = staging_dir_open_private(dir->place_fd, dir->name);
		if (dir->dir_fd >= 0 && take_lock(dir))
			return HFKV_OK;
		int error_number = errno;
		close_fd(&dir->lock_fd);
		close_fd(&dir->dir_fd);
		dir->lock_fd = dir->dir_fd = -1;
		if (error_number != EWOULDBLOCK && error_number != ENOENT)
			return fault_set_errno(fault, error_number, "staging directory '%s'", dir->path);
	}
	return fault_set(fault, HFKV_BUSY, "staging directory '%s': no free name", dir->path);
}

/* Puts a tmpfs on files/; without the right to (containers, users) staging goes on in the place itself. */
static void mount_tmpfs(struct staging_dir *dir, uint64_t bytes)
{
	char options[64];
	CLEANUP(free_pointer) char *target = NULL;
	snprintf(options, sizeof(options), "size=%llu,mode=0700", (unsigned long long)bytes);
	if (asprintf(&target, "%s/%s", dir->path, STAGING_FILES_NAME) < 0) {
		target = NULL;
		return;
	}
	dir->private_tmpfs = mount("hfkv", target, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0;
	if (!dir->private_tmpfs)
		log_debug("staging: no tmpfs of our own on '%s' (%s), ignoring", target, strerrordesc_np(errno));
}

static enum hfkv_status make_files_dir(struct staging_dir *dir, uint64_t tmpfs_bytes, struct fault *fault)
{
	if (mkdirat(dir->dir_fd, STAGING_FILES_NAME, 0700) < 0)
		return fault_set_errno(fault, errno, "staging directory '%s/" STAGING_FILES_NAME "'", dir->path);
	if (tmpfs_bytes > 0)
		mount_tmpfs(dir, tmpfs_bytes);
	dir->files_fd = staging_dir_open_private(dir->dir_fd, STAGING_FILES_NAME);
	if (dir->files_fd < 0)
		return fault_set_errno(fault, errno, "staging directory '%s/" STAGING_FILES_NAME "'", dir->path);
	return HFKV_OK;
}

enum hfkv_status staging_dir_open(const struct staging_dir_settings *settings, struct staging_dir **ret_dir,
				  struct fault *fault)
{
	CLEANUP(staging_dir_closep) struct staging_dir *dir = calloc(1, sizeof(*dir));
	if (!dir)
		return fault_set(fault, HFKV_NO_MEMORY, "staging: out of memory");
	dir->dir_fd = dir->lock_fd = dir->files_fd = -1;
	dir->place_fd = open(settings->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->place_fd < 0)
		return fault_set_errno(fault, errno, "staging directory '%s'", settings->place);
	enum hfkv_status status = make_private_dir(dir, settings, fault);
	if (status == HFKV_OK)
		status = make_files_dir(dir, settings->tmpfs_bytes, fault);
	if (status == HFKV_OK)
		*ret_dir = TAKE_PTR(dir);
	return status;
}

/* ---- unmaking ---- */

static void remove_files(int files_fd)
{
	int fd = fcntl(files_fd, F_DUPFD_CLOEXEC, 0);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	if (!stream) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(stream));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(files_fd, entry->d_name, 0);
	closedir(stream);
}

static void unmount_tmpfs(const struct staging_dir *dir)
{
	CLEANUP(free_pointer) char *target = NULL;
	if (asprintf(&target, "%s/%s", dir->path, STAGING_FILES_NAME) < 0) {
		target = NULL;
		return;
	}
	if (umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		log_debug("staging: unmounting '%s' failed (%s), ignoring", target, strerrordesc_np(errno));
}

void staging_dir_close(struct staging_dir *dir)
{
	if (!dir)
		return;
	if (dir->files_fd >= 0)
		remove_files(dir->files_fd);
	close_fd(&dir->files_fd);
	if (dir->private_tmpfs)
		unmount_tmpfs(dir);
	if (dir->dir_fd >= 0) {
		unlinkat(dir->dir_fd, STAGING_FILES_NAME, AT_REMOVEDIR);
		unlinkat(dir->dir_fd, STAGING_LOCK_NAME, 0);
		unlinkat(dir->place_fd, dir->name, AT_REMOVEDIR);
	}
	close_fd(&dir->lock_fd);
	close_fd(&dir->dir_fd);
	close_fd(&dir->place_fd);
	free(dir->path);
	free(dir);
}
