#include "src/connector/fs_mount_type.h"

#include "common/cleanup.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define OUR_TYPE "fuse.hfkv"

/* Whether a line of /proc/self/mountinfo ("id parent major:minor root point options - type source ...") is of
 * `device` and of our type. */
static bool is_our_mount(const char *line, dev_t device)
{
	unsigned major_number, minor_number;
	const char *type = strstr(line, " - ");
	return type && sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) == 2 &&
	       makedev(major_number, minor_number) == device &&
	       strncmp(type + 3, OUR_TYPE " ", strlen(OUR_TYPE) + 1) == 0;
}

enum fs_mount_type fs_mount_type_of(const char *directory)
{
	struct statfs system;
	struct stat info;
	if (statfs(directory, &system) < 0 || system.f_type != FUSE_SUPER_MAGIC)
		return FS_MOUNT_ORDINARY;
	CLEANUP(close_stream) FILE *table = fopen("/proc/self/mountinfo", "re");
	if (!table || stat(directory, &info) < 0)
		return FS_MOUNT_FUSE;
	CLEANUP(free_pointer) char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, table) > 0)
		if (is_our_mount(line, info.st_dev))
			return FS_MOUNT_HFKV;
	return FS_MOUNT_FUSE;
}
