#include "fuse/fs_mountpoint.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

/* Whether the last mount on `path` (absolute) is one of ours. */
static bool is_hfkv_mount(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return false;
	struct mntent entry;
	char text[2 * PATH_MAX];
	bool ours = false;
	while (getmntent_r(mounts, &entry, text, sizeof(text)))
		if (strcmp(entry.mnt_dir, path) == 0)
			ours = strcmp(entry.mnt_type, "fuse.hfkv") == 0;
	endmntent(mounts);
	return ours;
}

/* The path as /proc/self/mounts has it; realpath would stat the dead mount itself, so only its parent is resolved. */
static char *absolute(const char *path)
{
	CLEANUP(free_pointer) char *copy = strdup(path);
	if (!copy)
		return NULL;
	size_t length = strlen(copy);
	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = '\0';
	char *slash = strrchr(copy, '/');
	const char *last = slash ? slash + 1 : copy;
	if (slash && slash != copy)
		*slash = '\0';
	CLEANUP(free_pointer) char *parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	char *result = NULL;
	if (!parent || asprintf(&result, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, last) < 0)
		return NULL;
	return result;
}

static bool detach(const char *path)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return true;
	char *arguments[] = { "fusermount3", "-u", "-z", "-q", "--", (char *)path, NULL };
	pid_t child;
	int state = -1;
	if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0)
		return false;
	while (waitpid(child, &state, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

static enum hfkv_status replace_dead(const char *path, struct fault *fault)
{
	CLEANUP(free_pointer) char *full = absolute(path);
	if (!full || !is_hfkv_mount(full))
		return fault_set(fault, HFKV_INVALID,
				 "'%s' holds a dead mount that is not hfkv's; unmount it first", path);
	if (!detach(full))
		return fault_set(fault, HFKV_FORBIDDEN,
				 "'%s' holds a dead hfkv mount that cannot be taken away; run umount -l as its owner",
				 path);
	log_info("took away the dead mount on '%s'", full);
	return HFKV_OK;
}

enum hfkv_status fs_mountpoint_prepare(const char *path, struct fault *fault)
{
	struct statx found;
	for (int tries = 0; tries < 16; tries++) { /* dead mounts may lie over each other */
		/* A plain stat may be answered from attributes of the dead mount that the kernel still holds. */
		if (statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE, &found) == 0)
			return S_ISDIR(found.stx_mode) ? HFKV_OK :
							fault_set(fault, HFKV_INVALID,
								  "the mount point '%s' is not a directory", path);
		if (errno != ENOTCONN)
			return fault_set_errno(fault, errno, "the mount point '%s'", path);
		enum hfkv_status status = replace_dead(path, fault);
		if (status != HFKV_OK)
			return status;
	}
	return fault_set(fault, HFKV_BUSY, "too many dead mounts on '%s'", path);
}
