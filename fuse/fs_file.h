/*
 * What the mount knows of one file's body: its role, its bytes in staging, who has it open and how.
 *
 * Plain values inside struct fs_inode, guarded by fs_inode.mutex. The rules of the roles:
 *
 *   COMMITTED  the content `info` of an object; never changes; readers only
 *   SCRATCH    a local body under a scratch name; seen by all, never uploaded; becomes COMMITTED by rename
 *   WRITER     a body written under an object's own name; seen only by the process that writes it until it is published,
 *              and by others never under this inode while a write handle is open
 *   SHADOW     a write open without truncation of a COMMITTED object: takes times and modes, kv: refuses writes,
 *              plain: becomes a WRITER with a copy of the content at the first write
 */
#ifndef FUSE_FS_FILE_H
#define FUSE_FS_FILE_H

#include "cache/kv_cache.h"

#include <sys/types.h>
#include <time.h>

struct fs_inode;

enum fs_role { FS_ROLE_COMMITTED, FS_ROLE_SCRATCH, FS_ROLE_WRITER, FS_ROLE_SHADOW };

struct fs_attributes {
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
	struct timespec accessed, modified, changed;
};

struct fs_file {
	enum fs_role role;
	struct object_info info;   /* COMMITTED, SHADOW; WRITER once published */
	struct staged_file *body;  /* NULL: not staged now; held while open, and by SCRATCH and WRITER until dropped */
	uint64_t limit_bytes;      /* no write may end beyond */
	uint64_t reserved_bytes;   /* of staging, for body */
	struct fs_inode *original; /* SHADOW: the inode that readers use, referenced */

	uint32_t opens;            /* handles of any kind */
	uint32_t writers;          /* of them, those that may change body */
	uint32_t unsealed;         /* of writers, those without a FLUSH since their last write */
	uint32_t writes_in_flight; /* threads that are writing into body now */

	bool beginning;         /* body made, its first handle not entered yet */
	bool changed;           /* since the last publish */
	bool published;         /* WRITER: `info` is in the bucket (or on its way) under the name */
	bool publishing;        /* kv_cache_publish is running on body */
	bool body_is_shared;    /* the cache has body: a write needs a copy first */
	bool removed;           /* its name was removed or taken: never commit */
	enum hfkv_status failed; /* of a write that did not fit: the body is never committed */

	bool passthrough; /* how its open handles do I/O; decided when opens goes from 0 to 1 */
	int backing_id;   /* the kernel's, while passthrough and open; 0: none */

	pid_t creator;         /* thread that opened or will open it */
	bool reserved;         /* waits for that thread's open */
	int64_t expires_at_ms; /* scratch without handles, reservations; 0: never */
};

#endif
