#include "src/connector/fs_sweep.h"

#include "common/log.h"
#include "src/connector/fs_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool is_temporary_name(const char *name)
{
	size_t length = strlen(name), suffix = strlen(FS_TEMPORARY_SUFFIX);
	return strncmp(name, FS_TEMPORARY_PREFIX, strlen(FS_TEMPORARY_PREFIX)) == 0 && length > suffix &&
	       strcmp(name + length - suffix, FS_TEMPORARY_SUFFIX) == 0;
}

size_t fs_sweep_directory(const char *directory, int64_t now_ms, const atomic_bool *stop)
{
	DIR *stream = opendir(directory);
	if (!stream)
		return 0;
	size_t removed = 0;
	struct dirent *entry;
	while (!atomic_load(stop) && (entry = readdir(stream))) {
		struct stat info;
		if (!is_temporary_name(entry->d_name) ||
		    fstatat(dirfd(stream), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(info.st_mode))
			continue;
		int64_t modified_ms = info.st_mtim.tv_sec * 1000LL + info.st_mtim.tv_nsec / 1000000;
		if (now_ms - modified_ms > FS_SWEEP_AGE_MS && unlinkat(dirfd(stream), entry->d_name, 0) == 0)
			removed++;
	}
	closedir(stream);
	if (removed > 0)
		log_info("removed %zu temporaries that dead writers left in '%s'", removed, directory);
	return removed;
}
