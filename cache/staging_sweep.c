#include "cache/staging_sweep.h"

#include "cache/staging_dir_layout.h"
#include "common/clock.h"
#include "common/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define NEWBORN_MS 60000

struct staging_sweep {
	pthread_t thread;
	bool joined;
	atomic_bool stop;
	char *place;
};

/* A stream over a directory; the stream has a descriptor of its own, so `fd` stays the caller's. */
static DIR *open_stream(int fd)
{
	CLEANUP(close_fd) int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = own >= 0 ? fdopendir(own) : NULL;
	if (stream)
		own = -1;
	return stream;
}

/* Removes the files of one directory; false when it was told to stop. */
static bool remove_files(struct staging_sweep *sweep, int files_fd)
{
	DIR *stream = open_stream(files_fd);
	if (!stream)
		return true;
	bool going = true;
	for (struct dirent *entry; going && (entry = readdir(stream));) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(files_fd, entry->d_name, 0);
		going = !atomic_load(&sweep->stop);
	}
	closedir(stream);
	return going;
}

/* A dead process's own tmpfs is still mounted on files/: taking it off frees its memory at once. */
static void unmount_if_mounted(const char *place, const char *name, int dir_fd, int files_fd)
{
	struct stat outer, inner;
	char target[PATH_MAX];
	if (fstat(dir_fd, &outer) < 0 || fstat(files_fd, &inner) < 0 || outer.st_dev == inner.st_dev)
		return;
	int length = snprintf(target, sizeof(target), "%s/%s/%s", place, name, STAGING_FILES_NAME);
	if (length < 0 || (size_t)length >= sizeof(target) || umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		log_debug("staging: tmpfs left on '%s/%s' (%s), ignoring", place, name, strerrordesc_np(errno));
}

/* Whether the owner of the directory is gone. *ret_lock_fd keeps the lock, -1 when there is no lock file. */
static bool is_dead(int dir_fd, int *ret_lock_fd)
{
	CLEANUP(close_fd) int lock_fd = openat(dir_fd, STAGING_LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat attributes;
	if (lock_fd < 0) {
		*ret_lock_fd = -1;
		return errno == ENOENT && fstat(dir_fd, &attributes) == 0 &&
		       clock_wall_ms() - (int64_t)attributes.st_mtime * 1000 > NEWBORN_MS;
	}
	if (flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	*ret_lock_fd = TAKE_FD(lock_fd);
	return true;
}

static void sweep_one(struct staging_sweep *sweep, int place_fd, const char *name)
{
	CLEANUP(close_fd) int dir_fd = staging_dir_open_private(place_fd, name);
	CLEANUP(close_fd) int lock_fd = -1;
	if (dir_fd < 0 || !is_dead(dir_fd, &lock_fd))
		return;
	log_debug("staging: removing what a dead process left in '%s/%s'", sweep->place, name);
	CLEANUP(close_fd) int files_fd = staging_dir_open_private(dir_fd, STAGING_FILES_NAME);
	if (files_fd >= 0) {
		unmount_if_mounted(sweep->place, name, dir_fd, files_fd);
		if (!remove_files(sweep, files_fd))
			return;
		unlinkat(dir_fd, STAGING_FILES_NAME, AT_REMOVEDIR);
	}
	unlinkat(dir_fd, STAGING_LOCK_NAME, 0);
	unlinkat(place_fd, name, AT_REMOVEDIR);
}

static void *sweep_main(void *argument)
{
	struct staging_sweep *sweep = argument;
	char prefix[STAGING_PREFIX_BYTES];
	staging_dir_prefix(prefix);
	CLEANUP(close_fd) int place_fd = open(sweep->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = place_fd >= 0 ? open_stream(place_fd) : NULL;
	if (!stream)
		return NULL;
	for (struct dirent *entry; !atomic_load(&sweep->stop) && (entry = readdir(stream));)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			sweep_one(sweep, place_fd, entry->d_name);
	closedir(stream);
	return NULL;
}

enum hfkv_status staging_sweep_start(const char *place, struct staging_sweep **ret_sweep)
{
	struct staging_sweep *sweep = calloc(1, sizeof(*sweep));
	if (!sweep)
		return HFKV_NO_MEMORY;
	sweep->place = strdup(place);
	if (!sweep->place || pthread_create(&sweep->thread, NULL, sweep_main, sweep) != 0) {
		free(sweep->place);
		free(sweep);
		return HFKV_NO_MEMORY;
	}
	pthread_setname_np(sweep->thread, "hfkv-sweep");
	*ret_sweep = sweep;
	return HFKV_OK;
}

void staging_sweep_join_for_tests(struct staging_sweep *sweep)
{
	pthread_join(sweep->thread, NULL);
	sweep->joined = true;
}

void staging_sweep_stop(struct staging_sweep *sweep)
{
	if (!sweep)
		return;
	atomic_store(&sweep->stop, true);
	if (!sweep->joined)
		pthread_join(sweep->thread, NULL);
	free(sweep->place);
	free(sweep);
}
