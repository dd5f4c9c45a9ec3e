#include "src/cli/mount_registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define RECORD_SUFFIX    ".json"

struct mount_record {
	int lock_fd; /* the record file; its flock says that the daemon lives */
	char *record_path, *socket_path;
};

/* ---- the directory ---- */

static char *directory_name(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *name = NULL;
	int length;
	if (geteuid() == 0)
		length = asprintf(&name, "/run/hfkv");
	else if (runtime && runtime[0] == '/')
		length = asprintf(&name, "%s/hfkv", runtime);
	else
		length = asprintf(&name, "/tmp/hfkv-%u", (unsigned)geteuid());
	return length < 0 ? NULL : name;
}

/* /tmp is everybody's: a link or another user's directory of our name must not be followed. */
enum hfkv_status mount_registry_directory(char **ret_directory, struct fault *fault)
{
	CLEANUP(free_pointer) char *name = directory_name();
	if (!name)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory");
	if (mkdir(name, 0700) != 0 && errno != EEXIST)
		return fault_set_errno(fault, errno, "cannot make '%s'", name);
	CLEANUP(close_fd) int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat about;
	if (fd < 0 || fstat(fd, &about) != 0)
		return fault_set_errno(fault, errno, "cannot open '%s'", name);
	if (about.st_uid != geteuid() || (about.st_mode & 0077))
		return fault_set(fault, HFKV_FORBIDDEN, "'%s' must be a directory of yours with mode 0700: remove it", name);
	*ret_directory = TAKE_PTR(name);
	return HFKV_OK;
}

/* A mountpoint has no bound that fits a socket's name, so its FNV-1a hash stands for it; the record holds the name. */
char *mount_registry_file(const char *directory, const char *mountpoint, const char *suffix)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (const unsigned char *c = (const unsigned char *)mountpoint; *c; c++)
		hash = (hash ^ *c) * 0x100000001b3u;
	char *path = NULL;
	int length = asprintf(&path, "%s/%016llx.%s", directory, (unsigned long long)hash, suffix);
	return length < 0 ? NULL : path;
}

/* ---- a daemon's own record ---- */

static enum hfkv_status lock_record(const char *path, const char *mountpoint, int *ret_fd, struct fault *fault)
{
	struct stat about;
	do { /* the file we locked may be the one that an ending daemon has just removed */
		CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return fault_set_errno(fault, errno, "cannot write '%s'", path);
		if (flock(fd, LOCK_EX | LOCK_NB) != 0)
			return fault_set(fault, HFKV_BUSY, "'%s' is an hfkv mount already: 'hfkv umount' it first",
					 mountpoint);
		if (fstat(fd, &about) != 0)
			return fault_set_errno(fault, errno, "cannot read '%s'", path);
		if (about.st_nlink > 0)
			*ret_fd = TAKE_FD(fd);
	} while (about.st_nlink == 0);
	return HFKV_OK;
}

static enum hfkv_status write_record(int fd, const char *path, const char *mountpoint, const char *source,
				     struct fault *fault)
{
	json_t *record = json_pack("{ss ss sI}", "mountpoint", mountpoint, "source", source, "pid", (json_int_t)getpid());
	CLEANUP(free_pointer) char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
	json_decref(record);
	if (!text)
		return fault_set(fault, HFKV_INVALID, "mountpoint '%s' is not UTF-8", mountpoint);
	ssize_t length = (ssize_t)strlen(text);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length)
		return fault_set_errno(fault, errno, "cannot write '%s'", path);
	return HFKV_OK;
}

enum hfkv_status mount_registry_claim(const char *mountpoint, const char *source, struct mount_record **ret_record,
				      struct fault *fault)
{
	CLEANUP(free_pointer) char *directory = NULL;
	enum hfkv_status status = mount_registry_directory(&directory, fault);
	if (status != HFKV_OK)
		return status;
	CLEANUP(free_pointer) struct mount_record *record = calloc(1, sizeof(*record));
	CLEANUP(free_pointer) char *record_path = mount_registry_file(directory, mountpoint, "json");
	CLEANUP(free_pointer) char *socket_path = mount_registry_file(directory, mountpoint, "sock");
	CLEANUP(close_fd) int fd = -1;
	if (!record || !record_path || !socket_path)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory");
	status = lock_record(record_path, mountpoint, &fd, fault);
	if (status == HFKV_OK)
		status = write_record(fd, record_path, mountpoint, source, fault);
	if (status != HFKV_OK)
		return status;
	record->lock_fd = TAKE_FD(fd);
	record->record_path = TAKE_PTR(record_path);
	record->socket_path = TAKE_PTR(socket_path);
	*ret_record = TAKE_PTR(record);
	return HFKV_OK;
}

const char *mount_record_socket(const struct mount_record *record)
{
	return record->socket_path;
}

void mount_record_release(struct mount_record *record)
{
	if (!record)
		return;
	unlink(record->socket_path);
	unlink(record->record_path);
	close(record->lock_fd);
	free(record->record_path);
	free(record->socket_path);
	free(record);
}

/* ---- everybody's records ---- */

static bool lock_is_held(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		flock(fd, LOCK_UN);
		return false;
	}
	return errno == EWOULDBLOCK;
}

/* False ends the visits. */
static bool visit_record(const char *directory, const char *name, bool (*visit)(void *, const struct mount_found *),
			 void *context)
{
	CLEANUP(free_pointer) char *path = NULL;
	CLEANUP(free_pointer) char *socket_path = NULL;
	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return true;
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[16384];
	ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
	json_t *record = length > 0 ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
	const char *mountpoint = NULL, *source = NULL;
	json_int_t pid = 0;
	bool go_on = true;
	if (record && json_unpack(record, "{ss ss sI}", "mountpoint", &mountpoint, "source", &source, "pid", &pid) == 0)
		socket_path = mount_registry_file(directory, mountpoint, "sock");
	if (socket_path)
		go_on = visit(context, &(struct mount_found){ mountpoint, source, socket_path, path, (pid_t)pid,
							      lock_is_held(fd) });
	json_decref(record);
	return go_on;
}

enum hfkv_status mount_registry_visit(bool (*visit)(void *context, const struct mount_found *found), void *context,
				      struct fault *fault)
{
	CLEANUP(free_pointer) char *directory = NULL;
	enum hfkv_status status = mount_registry_directory(&directory, fault);
	if (status != HFKV_OK)
		return status;
	DIR *entries = opendir(directory);
	if (!entries)
		return fault_set_errno(fault, errno, "cannot read '%s'", directory);
	struct dirent *entry;
	bool go_on = true;
	while (go_on && (entry = readdir(entries))) {
		const char *suffix = strrchr(entry->d_name, '.');
		if (suffix && strcmp(suffix, RECORD_SUFFIX) == 0)
			go_on = visit_record(directory, entry->d_name, visit, context);
	}
	closedir(entries);
	return HFKV_OK;
}

void mount_registry_forget(const struct mount_found *found)
{
	unlink(found->socket_path);
	unlink(found->record_path);
}
