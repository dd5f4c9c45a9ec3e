#include "src/cli/mountpoint.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <libgen.h>
#include <mntent.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MOUNT_TYPE       "fuse.hfkv"
#define MOUNT_LINE_BYTES 8192

extern char **environ;

static bool is_dead_answer(int error)
{
	return error == ENOTCONN || error == ECONNABORTED;
}

/* The kernel may still hold a dead mount's attributes and answer stat(2) from them: have the daemon asked. */
bool mountpoint_is_dead(const char *path)
{
	struct statx about;
	return statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE, &about) != 0 && is_dead_answer(errno);
}

/* The daemon of a dead mount cannot answer for its root: resolve what lies above it. */
static char *resolve_through_parent(const char *path)
{
	CLEANUP(free_pointer) char *for_directory = strdup(path);
	CLEANUP(free_pointer) char *for_name = strdup(path);
	CLEANUP(free_pointer) char *parent = for_directory ? realpath(dirname(for_directory), NULL) : NULL;
	char *resolved = NULL;
	if (!parent || !for_name)
		return NULL;
	const char *name = basename(for_name);
	if (asprintf(&resolved, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name) < 0)
		return NULL;
	return resolved;
}

enum hfkv_status mountpoint_resolve(const char *path, char **ret_path, struct fault *fault)
{
	/* Asks no daemon that need not be asked: `status` must neither wait for one nor show in its counters. */
	CLEANUP(free_pointer) char *resolved = realpath(path, NULL);
	if (!resolved && is_dead_answer(errno))
		resolved = resolve_through_parent(path);
	struct stat about;
	if (!resolved && errno == ENOENT)
		return fault_set(fault, HFKV_NOT_FOUND, "mountpoint '%s' does not exist", path);
	if (!resolved)
		return fault_set_errno(fault, errno, "mountpoint '%s'", path);
	if (stat(resolved, &about) != 0 ? !is_dead_answer(errno) : !S_ISDIR(about.st_mode))
		return fault_set(fault, HFKV_INVALID, "mountpoint '%s' is not a directory", path);
	*ret_path = TAKE_PTR(resolved);
	return HFKV_OK;
}

bool mountpoint_has_mount(const char *path)
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	if (!table)
		return false;
	CLEANUP(free_pointer) char *line = malloc(MOUNT_LINE_BYTES);
	struct mntent entry;
	bool found = false;
	while (line && getmntent_r(table, &entry, line, MOUNT_LINE_BYTES))
		if (strcmp(entry.mnt_dir, path) == 0)
			found = strcmp(entry.mnt_type, MOUNT_TYPE) == 0;
	endmntent(table);
	return found;
}

static enum hfkv_status unmount_as_user(const char *path, bool lazily, struct fault *fault)
{
	char *const arguments[] = { (char[]){ "fusermount3" }, (char[]){ "-u" }, (char[]){ "-q" },
				    lazily ? (char[]){ "-z" } : (char[]){ "--" }, (char *)path, NULL };
	pid_t child;
	int wait_status, error = posix_spawnp(&child, "fusermount3", NULL, NULL, arguments, environ);
	if (error)
		return fault_set_errno(fault, error, "cannot run fusermount3 (Debian package fuse3) to unmount '%s'", path);
	while (waitpid(child, &wait_status, 0) < 0)
		if (errno != EINTR)
			return fault_set_errno(fault, errno, "fusermount3");
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
		return HFKV_OK;
	return fault_set(fault, HFKV_BUSY, "'%s' is in use, or not yours to unmount: end what uses it (fuser -m '%s'), or --force",
			 path, path);
}

enum hfkv_status mountpoint_unmount(const char *path, bool lazily, struct fault *fault)
{
	if (umount2(path, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0)
		return HFKV_OK;
	if (errno == EPERM)
		return unmount_as_user(path, lazily, fault);
	if (errno == EBUSY)
		return fault_set(fault, HFKV_BUSY, "'%s' is in use: end what uses it (fuser -m '%s'), or --force", path, path);
	if (errno == EINVAL)
		return fault_set(fault, HFKV_NOT_FOUND, "nothing is mounted at '%s'", path);
	return fault_set_errno(fault, errno, "cannot unmount '%s'", path);
}
