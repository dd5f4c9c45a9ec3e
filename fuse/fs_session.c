#include "fuse/fs_session.h"

#include "common/byte_buf.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "fuse/fs_attributes.h"
#include "fuse/fs_device.h"
#include "fuse/fs_loop.h"
#include "fuse/fs_mountpoint.h"
#include "fuse/fs_ops.h"
#include "fuse/fs_scratch.h"
#include "fuse/fs_task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define POOL_THREADS 256 /* requests that wait for the network at one time, each a thread while it waits */
#define POOL_QUEUED  8192
#define POOL_IDLE_MS 10000

struct fs_session_settings fs_session_settings_default(void)
{
	return (struct fs_session_settings){
		.layout = FS_LAYOUT_KV,
		.uid = getuid(),
		.gid = getgid(),
		.metadata_ttl_ms = 30000,
		.negative_ttl_ms = 2000,
		.timeout_ms = 30000,
		.whole_file_max_bytes = 64 * 1024 * 1024,
	};
}

/* ---- libfuse's own words ---- */

/* What libfuse said last on this thread: the reason of a failed mount is only told to its log. */
static _Thread_local char last_words[256];

PRINTF_LIKE(2, 0)
static void hear_libfuse(enum fuse_log_level level, const char *format, va_list values)
{
	(void)level;
	vsnprintf(last_words, sizeof(last_words), format, values);
	last_words[strcspn(last_words, "\n")] = '\0';
	log_debug("libfuse: %s", last_words);
}

/* fusermount3 tells its reason on the stderr it gets from us: that is a file while it runs. */
struct heard {
	int file, own_stderr; /* -1: not listening */
};

static struct heard listen_to_stderr(void)
{
	struct heard heard = { memfd_create("hfkv-stderr", MFD_CLOEXEC), fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) };
	if (heard.file >= 0 && heard.own_stderr >= 0 && dup2(heard.file, STDERR_FILENO) >= 0)
		return heard;
	close_fd(&heard.file);
	close_fd(&heard.own_stderr);
	return (struct heard){ -1, -1 };
}

/* Puts stderr back. What fusermount3 wrote there is the reason of a failed mount. */
static void stop_listening(struct heard *heard, bool failed)
{
	char text[sizeof(last_words)];
	if (heard->file < 0)
		return;
	dup2(heard->own_stderr, STDERR_FILENO);
	ssize_t length = pread(heard->file, text, sizeof(text) - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	char *reason = failed ? strstr(text, "fusermount") : NULL;
	while (reason && reason > text && reason[-1] != '\n')
		reason--;
	if (reason) {
		memcpy(last_words, reason, strlen(reason) + 1);
		last_words[strcspn(last_words, "\n")] = *reason = '\0';
	}
	fputs(text, stderr); /* what others wrote meanwhile */
	close_fd(&heard->file);
	close_fd(&heard->own_stderr);
}

/* ---- open ---- */

static void release_inode(void *context, struct fs_inode *inode)
{
	struct fs_session *session = context;
	staged_file_unref(inode->file.body);
	inode_table_unref(session->inodes, inode->file.original);
}

static void free_session(struct fs_session *session)
{
	if (!session)
		return;
	if (session->fuse)
		fuse_session_destroy(session->fuse);
	work_pool_free(session->pool);
	fs_scratch_stop(session);
	inode_table_free(session->inodes);
	if (session->stop_event >= 0)
		close(session->stop_event);
	free((char *)session->settings.mountpoint);
	free((char *)session->settings.source);
	free((char *)session->settings.tmp_dir);
	fs_retries_done(&session->retries);
	pthread_mutex_destroy(&session->parked_mutex);
	pthread_cond_destroy(&session->parked_none);
	free(session);
}
DEFINE_CLEANUP(free_session, struct fs_session *);

static char *without_outer_slashes(const char *path)
{
	while (*path == '/')
		path++;
	char *copy = strdup(path);
	for (size_t length = copy ? strlen(copy) : 0; length > 0 && copy[length - 1] == '/';)
		copy[--length] = '\0';
	return copy;
}

static bool is_relative_directory(const char *path)
{
	if (path[0] == '/' || path[0] == '\0')
		return false;
	for (const char *segment = path; *segment; segment += strspn(segment, "/")) {
		size_t length = strcspn(segment, "/");
		if (length <= 2 && strncmp(segment, "..", length) == 0)
			return false;
		segment += length;
	}
	return true;
}

static enum hfkv_status copy_settings(struct fs_session *session, const struct fs_session_settings *settings,
				      struct fault *fault)
{
	session->settings = *settings;
	session->settings.mountpoint = strdup(settings->mountpoint);
	session->settings.source = strdup(settings->source);
	session->settings.tmp_dir = settings->tmp_dir ? without_outer_slashes(settings->tmp_dir) : NULL;
	if (!session->settings.mountpoint || !session->settings.source ||
	    (settings->tmp_dir && !session->settings.tmp_dir))
		return HFKV_NO_MEMORY;
	if (session->settings.tmp_dir && !is_relative_directory(settings->tmp_dir))
		return fault_set(fault, HFKV_INVALID,
				 "the tmp dir '%s' is not a directory inside the mount: give a relative path without '.' and '..'",
				 settings->tmp_dir);
	if (settings->layout == FS_LAYOUT_KV && !settings->spec)
		return fault_set(fault, HFKV_INVALID, "the kv layout needs the full size of its chunks");
	session->rule = (struct fs_name_rule){ .layout = settings->layout, .tmp_dir = session->settings.tmp_dir };
	session->cache = settings->cache;
	session->scratch_limit_bytes = settings->spec ? kv_chunk_spec_largest(settings->spec) : INT64_MAX;
	return HFKV_OK;
}

static enum hfkv_status make_parts(struct fs_session *session, struct fault *fault)
{
	session->stop_event = eventfd(0, EFD_CLOEXEC);
	if (session->stop_event < 0)
		return fault_set_errno(fault, errno, "eventfd");
	enum hfkv_status status = inode_table_new(release_inode, session, &session->inodes);
	if (status != HFKV_OK)
		return status;
	fs_attributes_init(session, inode_table_root(session->inodes), 0);
	session->status_inode = inode_table_add(session->inodes, FS_INODE_STATUS);
	if (!session->status_inode)
		return HFKV_NO_MEMORY;
	fs_attributes_init(session, session->status_inode, 0);
	status = fs_scratch_start(session);
	if (status != HFKV_OK)
		return status;
	struct work_pool_settings pool = { .name = "hfkv-fs",
					   .max_threads = POOL_THREADS,
					   .max_queued = POOL_QUEUED,
					   .idle_ms = POOL_IDLE_MS };
	return work_pool_new(&pool, &session->pool);
}

/* The one -o argument; commas and backslashes in the source would be taken for syntax. */
static char *mount_options(const struct fs_session_settings *settings)
{
	struct byte_buf text = BYTE_BUF_INIT(8192);
	bool fits = byte_buf_append_text(&text, "subtype=hfkv,default_permissions");
	fits = fits && (!settings->allow_other || byte_buf_append_text(&text, ",allow_other"));
	fits = fits && byte_buf_append_text(&text, settings->read_only ? ",ro" : ",rw");
	fits = fits && byte_buf_append_text(&text, ",fsname=");
	for (const char *at = settings->source; fits && *at; at++)
		fits = (*at != ',' && *at != '\\') ? byte_buf_append(&text, at, 1) : byte_buf_printf(&text, "\\%c", *at);
	char *options = fits ? byte_buf_detach(&text) : NULL;
	byte_buf_done(&text);
	return options;
}

static enum hfkv_status mount_session(struct fs_session *session, struct fault *fault)
{
	CLEANUP(free_pointer) char *options = mount_options(&session->settings);
	if (!options)
		return fault_set(fault, HFKV_INVALID, "the source '%s' is too long", session->settings.source);
	if (access("/dev/fuse", F_OK) != 0)
		return fault_set(fault, HFKV_UNAVAILABLE, "/dev/fuse is missing: load the kernel's fuse module, "
							  "or give the container the device");
	fuse_set_log_func(hear_libfuse);
	last_words[0] = '\0';
	char *arguments[] = { "hfkv", "-o", options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, arguments);
	session->fuse = fuse_session_new(&args, &fs_operations, sizeof(fs_operations), session);
	fuse_opt_free_args(&args);
	if (!session->fuse)
		return fault_set(fault, HFKV_INVALID, "mount options '%s': %s", options, last_words);
	struct heard heard = listen_to_stderr();
	bool mounted = fuse_session_mount(session->fuse, session->settings.mountpoint) == 0;
	stop_listening(&heard, !mounted);
	if (mounted)
		return fs_device_adopt(session) ? HFKV_OK : HFKV_NO_MEMORY;
	return fault_set(fault, HFKV_FORBIDDEN, "mounting on '%s': %s", session->settings.mountpoint,
			 last_words[0] ? last_words : "refused (is fusermount3 installed?)");
}

enum hfkv_status fs_session_open(const struct fs_session_settings *settings, struct fs_session **ret_session,
				 struct fault *fault)
{
	CLEANUP(free_sessionp) struct fs_session *session = calloc(1, sizeof(*session));
	if (!session)
		return HFKV_NO_MEMORY;
	session->stop_event = -1;
	fs_retries_init(&session->retries);
	pthread_mutex_init(&session->parked_mutex, NULL);
	pthread_cond_init(&session->parked_none, NULL);
	enum hfkv_status status = copy_settings(session, settings, fault);
	if (status == HFKV_OK)
		status = make_parts(session, fault);
	if (status == HFKV_OK)
		status = fs_mountpoint_prepare(session->settings.mountpoint, fault);
	if (status == HFKV_OK)
		status = mount_session(session, fault);
	if (status == HFKV_OK)
		*ret_session = TAKE_PTR(session);
	return status;
}

/* ---- run, stop, close ---- */

enum hfkv_status fs_session_run(struct fs_session *session, struct fault *fault)
{
	return fs_loop_run(session, fault);
}

void fs_session_stop(struct fs_session *session)
{
	uint64_t one = 1;
	int saved = errno;
	/* Fails only when the count would overflow: then it is signalled already. */
	ssize_t written = write(session->stop_event, &one, sizeof(one));
	(void)written;
	errno = saved;
}

void fs_session_close(struct fs_session *session)
{
	if (!session)
		return;
	fs_task_wait_all(session);
	fuse_session_unmount(session->fuse);
	free_session(session);
}

/* ---- state ---- */

const char *fs_operation_name(enum fs_operation operation)
{
	static const char *const names[FS_OP_COUNT] = {
		[FS_OP_LOOKUP] = "lookup",     [FS_OP_FORGET] = "forget",         [FS_OP_GETATTR] = "getattr",
		[FS_OP_SETATTR] = "setattr",   [FS_OP_MKDIR] = "mkdir",           [FS_OP_UNLINK] = "unlink",
		[FS_OP_RMDIR] = "rmdir",       [FS_OP_RENAME] = "rename",         [FS_OP_OPEN] = "open",
		[FS_OP_CREATE] = "create",     [FS_OP_READ] = "read",             [FS_OP_WRITE] = "write",
		[FS_OP_FLUSH] = "flush",       [FS_OP_FSYNC] = "fsync",           [FS_OP_RELEASE] = "release",
		[FS_OP_OPENDIR] = "opendir",   [FS_OP_READDIR] = "readdir",       [FS_OP_RELEASEDIR] = "releasedir",
		[FS_OP_STATFS] = "statfs",     [FS_OP_GETXATTR] = "getxattr",     [FS_OP_LISTXATTR] = "listxattr",
		[FS_OP_FALLOCATE] = "fallocate", [FS_OP_REFUSED] = "refused",
	};
	return operation >= 0 && operation < FS_OP_COUNT ? names[operation] : "unknown";
}

void fs_session_counters_read(struct fs_session *session, struct fs_session_counters *ret_counters)
{
	struct fs_session_counters counters = { .errors = atomic_load(&session->errors) };
	for (int i = 0; i < FS_OP_COUNT; i++)
		counters.requests[i] = atomic_load_explicit(&session->requests[i], memory_order_relaxed);
	counters.inodes = inode_table_count(session->inodes);
	counters.open_files = atomic_load(&session->open_files);
	counters.scratch_files = fs_scratch_count(session);
	counters.passthrough_opens = atomic_load(&session->passthrough_opens);
	counters.passthrough = atomic_load(&session->passthrough_reads);
	*ret_counters = counters;
}
