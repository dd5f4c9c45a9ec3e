#include "src/connector/fs_paths.h"

#include "cache/key_codec.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define CHUNK_HASH_FIELD 3
/* Room for a base path beside a file name and what we put between. */
#define BASE_MAX_BYTES (PATH_MAX - NAME_MAX - 2)

struct fs_directory {
	char *base;
	char *tmp; /* base, or base/relative_tmp_dir */
};

struct fs_paths {
	struct fs_directory *directories;
	size_t count;
	uint64_t process_tag;
	atomic_uint_fast64_t next_temporary;
};

static enum hfkv_status fill_directory(struct fs_directory *directory, const char *base, const char *tmp_dir,
				       struct fault *fault)
{
	size_t length = strlen(base) + (tmp_dir ? strlen(tmp_dir) + 1 : 0);
	if (length > BASE_MAX_BYTES)
		return fault_set(fault, HFKV_INVALID, "base path '%.100s...': longer than %d bytes", base,
				 BASE_MAX_BYTES);
	directory->base = strdup(base);
	if (!directory->base)
		return HFKV_NO_MEMORY;
	for (length = strlen(directory->base); length > 1 && directory->base[length - 1] == '/'; length--)
		directory->base[length - 1] = '\0';
	if (!tmp_dir)
		directory->tmp = strdup(directory->base);
	else if (asprintf(&directory->tmp, "%s/%s", directory->base, tmp_dir) < 0)
		directory->tmp = NULL;
	return directory->tmp ? HFKV_OK : HFKV_NO_MEMORY;
}

enum hfkv_status fs_paths_new(char *const *base_paths, size_t count, const char *relative_tmp_dir,
			      struct fs_paths **ret_paths, struct fault *fault)
{
	CLEANUP(fs_paths_freep) struct fs_paths *paths = calloc(1, sizeof(*paths));
	if (!paths || !(paths->directories = calloc(count, sizeof(*paths->directories))))
		return HFKV_NO_MEMORY;
	paths->count = count;
	if (getrandom(&paths->process_tag, sizeof(paths->process_tag), 0) != sizeof(paths->process_tag))
		return fault_set_errno(fault, errno, "random bytes for temporary names");
	for (size_t i = 0; i < count; i++) {
		enum hfkv_status status =
		    fill_directory(&paths->directories[i], base_paths[i], relative_tmp_dir, fault);
		if (status != HFKV_OK)
			return status;
	}
	*ret_paths = TAKE_PTR(paths);
	return HFKV_OK;
}

void fs_paths_free(struct fs_paths *paths)
{
	if (!paths)
		return;
	for (size_t i = 0; i < paths->count; i++) {
		free(paths->directories[i].base);
		free(paths->directories[i].tmp);
	}
	free(paths->directories);
	free(paths);
}

/* mkdir -p. */
static int make_directories(const char *path)
{
	char partial[PATH_MAX];
	snprintf(partial, sizeof(partial), "%s", path);
	for (char *slash = partial + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(partial, 0777) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return mkdir(partial, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

enum hfkv_status fs_make_directories(const char *path, const char *what, struct fault *fault)
{
	struct stat info;
	bool is_there = stat(path, &info) == 0;
	if (!is_there && (make_directories(path) < 0 || stat(path, &info) < 0))
		return fault_set_errno(fault, errno, "%s '%s' cannot be made", what, path);
	if (!S_ISDIR(info.st_mode))
		return fault_set(fault, HFKV_INVALID, "%s '%s' is not a directory", what, path);
	return HFKV_OK;
}

static enum hfkv_status prepare_directory(const char *path, const char *what, struct fault *fault)
{
	enum hfkv_status status = fs_make_directories(path, what, fault);
	if (status == HFKV_OK && access(path, W_OK | X_OK) < 0)
		return fault_set_errno(fault, errno, "%s '%s' may not be written", what, path);
	return status;
}

enum hfkv_status fs_paths_prepare(const struct fs_paths *paths, struct fault *fault)
{
	for (size_t i = 0; i < paths->count; i++) {
		const struct fs_directory *directory = &paths->directories[i];
		enum hfkv_status status = prepare_directory(directory->base, "base path", fault);
		if (status == HFKV_OK)
			status = prepare_directory(directory->tmp, "temporary directory", fault);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

size_t fs_paths_count(const struct fs_paths *paths)
{
	return paths->count;
}

const char *fs_paths_base(const struct fs_paths *paths, size_t n)
{
	return paths->directories[n].base;
}

const char *fs_paths_tmp_dir(const struct fs_paths *paths, size_t n)
{
	return paths->directories[n].tmp;
}

static unsigned hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return (unsigned)(digit - '0');
	return (unsigned)((digit | 0x20) - 'a') + 10;
}

size_t fs_paths_choose(const struct fs_paths *paths, const char *key)
{
	if (paths->count == 1)
		return 0;
	for (int field = 0; field < CHUNK_HASH_FIELD; field++) {
		key = strchr(key, '@');
		if (!key)
			return 0;
		key++;
	}
	/* The hash has up to 256 bits: its remainder is taken digit by digit. The sign does not count. */
	size_t remainder = 0;
	key += *key == '-';
	for (; strchr("0123456789abcdefABCDEF", *key) && *key; key++)
		remainder = (remainder * 16 + hex_value(*key)) % paths->count;
	return remainder;
}

enum hfkv_status fs_paths_file(const struct fs_paths *paths, const char *key, char path[PATH_MAX],
			       struct fault *fault)
{
	CLEANUP(free_pointer) char *name = NULL;
	enum hfkv_status status = key_to_file_name(key, &name);
	if (status == HFKV_OVERSIZE)
		return fault_set(fault, status,
				 "key '%.200s': its file name would be longer than %d bytes; a shorter model "
				 "name or salt, or the hfbucket connector, takes it",
				 key, FILE_NAME_MAX_BYTES);
	if (status == HFKV_INVALID)
		return fault_set(fault, status, "key '%.200s' has no file name: it is not UTF-8 text", key);
	if (status != HFKV_OK)
		return status;
	const char *base = paths->directories[fs_paths_choose(paths, key)].base;
	size_t base_length = strlen(base), name_length = strlen(name);
	if (base_length + 1 + name_length >= PATH_MAX)
		return fault_set(fault, HFKV_OVERSIZE, "the file name of key '%.200s' is too long", key);
	memcpy(path, base, base_length);
	path[base_length] = '/';
	memcpy(path + base_length + 1, name, name_length + 1);
	return HFKV_OK;
}

void fs_paths_temporary(struct fs_paths *paths, size_t n, char path[PATH_MAX])
{
	uint64_t number = atomic_fetch_add(&paths->next_temporary, 1);
	snprintf(path, PATH_MAX, "%s/" FS_TEMPORARY_PREFIX "%016llx-%llx" FS_TEMPORARY_SUFFIX,
		 paths->directories[n].tmp, (unsigned long long)paths->process_tag, (unsigned long long)number);
}
