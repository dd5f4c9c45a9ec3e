/*
 * A name in a directory of the mount together with what it may stand for, and the steps that lookups, creates,
 * renames and removals share: finding the inode of a name as one caller may see it, and giving names to inodes.
 *
 * May take the table's lock and inode mutexes; never blocks.
 */
#ifndef FUSE_FS_PLACE_H
#define FUSE_FS_PLACE_H

#include "fuse/fs_state.h"

struct fs_place {
	struct fs_inode *directory; /* borrowed */
	const char *name;           /* borrowed */
	enum fs_name_kind kind;
	char *path; /* owned: the object's or the directory's path in the cache */
};

/* 0, or an errno as fs_name_classify gives them; ENOENT when the directory has lost its own name. */
int fs_place_resolve(struct fs_session *session, struct fs_inode *directory, const char *name, struct fs_place *ret_place);
void fs_place_done(struct fs_place *place);

/* As fs_place_resolve for a name about to be made: the bucket must be able to hold its path. */
int fs_place_resolve_new(struct fs_session *session, struct fs_inode *directory, const char *name,
			 struct fs_place *ret_place);

/* The object path under which the inode's body is, or would be, stored; malloc'd. NULL: it has no such name. */
char *fs_place_object_path(struct fs_session *session, struct fs_inode *inode);

/* The inode that waits under the name for thread `thread` to open it; with a reference; NULL: none. */
struct fs_inode *fs_place_find_reserved(struct fs_session *session, const struct fs_place *place, pid_t thread);
/* The body that the process of `thread` is writing under the name and has not closed; with a reference; NULL: none. */
struct fs_inode *fs_place_find_private(struct fs_session *session, const struct fs_place *place, pid_t thread);
/* Whether anybody writes under the name: then no answer about it may be kept. */
bool fs_place_has_private(struct fs_session *session, const struct fs_place *place);

/* The inode for the object `info` under the name: the one that is there when it has this content, else a new one. With a
 * reference; NULL: no memory. */
struct fs_inode *fs_place_adopt(struct fs_session *session, const struct fs_place *place, const struct object_info *info);

/* The inode for the directory under the name, known to exist for `holds_ms`. With a reference; NULL: no memory. */
struct fs_inode *fs_place_adopt_directory(struct fs_session *session, const struct fs_place *place, int64_t holds_ms);

/* Makes `inode` the current one of the name; what it displaces loses its body when nothing has it open. */
MUST_CHECK enum hfkv_status fs_place_take(struct fs_session *session, const struct fs_place *place,
					  struct fs_inode *inode, bool keep);

/* The inode lost its name for good: it is never committed, and its body goes with the last handle. */
void fs_place_orphan(struct fs_session *session, struct fs_inode *inode);

/* A file inode of `role` with start attributes and limits for the place; with a reference; NULL: no memory. */
struct fs_inode *fs_place_new_file(struct fs_session *session, const struct fs_place *place, enum fs_role role);

/* Reserves a new inode of `role` under the name for the open that thread `thread` is about to repeat. `original` (may be NULL)
 * is what a SHADOW stands for. With a reference; NULL: no memory. */
struct fs_inode *fs_place_reserve(struct fs_session *session, const struct fs_place *place, enum fs_role role,
				  struct fs_inode *original, pid_t thread);

#endif
