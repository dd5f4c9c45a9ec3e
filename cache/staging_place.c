#include "cache/staging_place.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MEMORY_PLACE     "/dev/shm"
#define DISK_PLACE       "/var/tmp"
#define MARGIN_CAP_BYTES (64ULL << 20)

uint64_t staging_place_margin(uint64_t filesystem_bytes)
{
	uint64_t margin = filesystem_bytes / 16;
	return margin < MARGIN_CAP_BYTES ? margin : MARGIN_CAP_BYTES;
}

uint64_t staging_place_default_limit(uint64_t free_bytes, uint64_t needed_bytes)
{
	uint64_t limit = free_bytes / 2;
	if (limit > STAGING_DEFAULT_CAP_BYTES)
		limit = STAGING_DEFAULT_CAP_BYTES;
	return limit > needed_bytes ? limit : needed_bytes;
}

bool staging_place_space(const char *path, int fd, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	struct statvfs space;
	if ((path ? statvfs(path, &space) : fstatvfs(fd, &space)) < 0)
		return false;
	*ret_free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
	*ret_total_bytes = (uint64_t)space.f_blocks * space.f_frsize;
	return true;
}

/* mkdir -p; directories made here are private. */
static bool make_directories(const char *path)
{
	char partial[PATH_MAX];
	if (strlen(path) >= sizeof(partial)) {
		errno = ENAMETOOLONG;
		return false;
	}
	for (const char *end = path; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		memcpy(partial, path, (size_t)(end - path));
		partial[end - path] = '\0';
		if (mkdir(partial, 0700) < 0 && errno != EEXIST)
			return false;
	}
	return true;
}

/* Whether the memory filesystem is there, writable, and holds `needed_bytes` beside the margin. */
static bool memory_place_serves(uint64_t needed_bytes, uint64_t *ret_free_bytes)
{
	uint64_t total_bytes;
	return access(MEMORY_PLACE, W_OK | X_OK) == 0 &&
	       staging_place_space(MEMORY_PLACE, -1, ret_free_bytes, &total_bytes) &&
	       *ret_free_bytes >= needed_bytes + staging_place_margin(total_bytes);
}

enum hfkv_status staging_place_choose(const char *given, uint64_t needed_bytes, struct staging_place *ret_place,
				      struct fault *fault)
{
	struct staging_place place = { NULL, 0 };
	const char *path = given;
	uint64_t total_bytes;
	if (!given && memory_place_serves(needed_bytes, &place.free_bytes)) {
		path = MEMORY_PLACE;
	} else if (!given) {
		path = DISK_PLACE;
		log_warning("staging: %s cannot hold %llu bytes (four KV chunks), using the slower %s; enlarge it "
			    "(docker run --shm-size=..., mount -o remount,size=...) or name a directory with "
			    "--staging-dir",
			    MEMORY_PLACE, (unsigned long long)needed_bytes, DISK_PLACE);
	}
	if (given && !make_directories(given))
		return fault_set_errno(fault, errno, "staging directory '%s' cannot be made", given);
	if (!staging_place_space(path, -1, &place.free_bytes, &total_bytes))
		return fault_set_errno(fault, errno, "staging directory '%s'", path);
	place.path = strdup(path);
	if (!place.path)
		return fault_set(fault, HFKV_NO_MEMORY, "staging directory '%s': out of memory", path);
	*ret_place = place;
	return HFKV_OK;
}
