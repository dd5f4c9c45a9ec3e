/*
 * A mounted hfkv directory: the only header of fuse/ that the command line includes.
 *
 * A session shows one kv_cache as a POSIX directory through the kernel's FUSE device. It translates requests and keeps
 * names, inodes and open files; what is in the bucket, in staging or on its way is the cache's business (cache/kv_cache.h).
 * It does not daemonize, read options, install signal handlers or drain the cache.
 *
 *     fs_session_open      mounts; nothing answers yet
 *     fs_session_run       answers requests until fs_session_stop, or until somebody unmounts
 *     fs_session_close     unmounts if still mounted, waits for the requests in flight, frees
 *
 * One thread opens, runs and closes. fs_session_stop and the readers of state may be called from any thread while the
 * session is open.
 */
#ifndef FUSE_FS_SESSION_H
#define FUSE_FS_SESSION_H

#include "cache/kv_cache.h"

#include <sys/types.h>

struct fs_session;

enum fs_layout {
	FS_LAYOUT_KV,    /* KV chunks under their .data file names; other names are local scratch */
	FS_LAYOUT_PLAIN, /* any object under its own name, no size rule */
};

struct fs_session_settings {
	const char *mountpoint;           /* an existing directory; a dead hfkv mount on it is replaced */
	const char *source;               /* shown in /proc/mounts, e.g. hf://buckets/ns/bucket; the type is fuse.hfkv */
	struct kv_cache *cache;           /* borrowed for the life of the session */
	const struct kv_chunk_spec *spec; /* the one the cache was opened with; NULL with FS_LAYOUT_PLAIN; borrowed */
	enum fs_layout layout;
	uid_t uid;                        /* owner of everything shown */
	gid_t gid;
	mode_t umask;                     /* taken from 0644 of files and 0755 of directories */
	bool allow_other;                 /* users other than the mounting one may look */
	bool read_only;                   /* everything that changes anything is EROFS */
	const char *tmp_dir;              /* kv: directories of this relative name hold scratch files only; NULL: none */
	int64_t metadata_ttl_ms;          /* as given to the cache */
	int64_t negative_ttl_ms;          /* as given to the cache */
	int64_t timeout_ms;               /* the longest any request may take on the network */
	uint64_t whole_file_max_bytes;    /* plain: files up to this size are staged and verified at open, larger read by range */
	bool no_passthrough;              /* do not even try FUSE passthrough */

	/* Gives the text of the hidden file .hfkv-status in the root: malloc'd JSON, NULL when it cannot be made. Called from
	 * threads of the session, must not block. NULL: the session's own counters are shown. */
	char *(*status_json)(void *context);
	void *status_context;

	/* Called once, from a thread of the session, when the kernel has completed its handshake: from then on
	 * the mount answers. NULL is fine. */
	void (*ready)(void *context);
	void *ready_context;
};

/* Layout kv, this process's owner, umask 0, metadata 30 s, absence 2 s, timeout 30 s, whole files up to 64 MiB. */
struct fs_session_settings fs_session_settings_default(void);

/* Mounts. INVALID: not a directory, or settings that contradict each other; FORBIDDEN: no right to mount (allow_other
 * without user_allow_other among them); UNAVAILABLE: no FUSE in the kernel or no fusermount3. Strings are copied. */
MUST_CHECK enum hfkv_status fs_session_open(const struct fs_session_settings *settings,
					    struct fs_session **ret_session, struct fault *fault);

/* Answers requests. Blocks until fs_session_stop or an unmount from outside (both OK). Starts threads: a caller that
 * daemonizes forks before. */
MUST_CHECK enum hfkv_status fs_session_run(struct fs_session *session, struct fault *fault);

/* Makes fs_session_run return soon. Async-signal-safe; any thread; any number of times; also before run. */
void fs_session_stop(struct fs_session *session);

/* Unmounts (lazily when busy), waits until every request in flight has been answered (they all end by timeout_ms), frees.
 * Scratch files and bodies never committed are gone. NULL is fine. */
void fs_session_close(struct fs_session *session);

/* ---- state, for `status` ---- */

enum fs_operation {
	FS_OP_LOOKUP, FS_OP_FORGET, FS_OP_GETATTR, FS_OP_SETATTR, FS_OP_MKDIR, FS_OP_UNLINK, FS_OP_RMDIR, FS_OP_RENAME,
	FS_OP_OPEN, FS_OP_CREATE, FS_OP_READ, FS_OP_WRITE, FS_OP_FLUSH, FS_OP_FSYNC, FS_OP_RELEASE, FS_OP_OPENDIR,
	FS_OP_READDIR, FS_OP_RELEASEDIR, FS_OP_STATFS, FS_OP_GETXATTR, FS_OP_LISTXATTR, FS_OP_FALLOCATE, FS_OP_REFUSED,
	FS_OP_COUNT
};

/* A short lower-case name, such as "lookup". Static storage. */
const char *fs_operation_name(enum fs_operation operation);

struct fs_session_counters {
	uint64_t requests[FS_OP_COUNT]; /* since open, as they reached the daemon */
	uint64_t errors;                /* requests answered with anything but success or "not found" */
	uint64_t inodes, open_files, scratch_files;
	uint64_t passthrough_opens;     /* opens that the kernel serves from staging without us */
	bool passthrough;               /* granted by kernel, libfuse and privilege */
};
/* Never blocks. */
void fs_session_counters_read(struct fs_session *session, struct fs_session_counters *ret_counters);

#endif
