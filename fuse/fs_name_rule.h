/*
 * What a name in the mount may stand for: the one written rule about names (docs/SEMANTICS.md, "Names").
 *
 * kv layout
 *   X.data                       the KV chunk whose key X decodes to; never a directory
 *   hidden names, X.tmp          scratch, or a local directory; never looked for in the bucket
 *   anything in a scratch directory (a hidden one, or one named by tmp_dir): the same, X.data included
 *   any other name               a sub-prefix shown as directory, else scratch or a local directory
 * plain layout
 *   every name                   an object or a directory of that very name
 *
 * Objects and sub-prefixes whose name fits none of these are not shown, and cannot be reached.
 * Pure functions; any thread.
 */
#ifndef FUSE_FS_NAME_RULE_H
#define FUSE_FS_NAME_RULE_H

#include "fuse/fs_session.h"

#define FS_STATUS_FILE_NAME ".hfkv-status" /* in the root; never listed; no other file may have the name there */

struct fs_name_rule {
	enum fs_layout layout;
	const char *tmp_dir; /* NULL: none */
};

enum fs_name_kind {
	FS_NAME_OBJECT, /* an object of the bucket (plain: or a directory) */
	FS_NAME_LOCAL,  /* lives in this mount only */
	FS_NAME_EITHER, /* a directory of the bucket, or local */
};

/* Says what `name` in the directory at path `directory` ("" for the root) stands for. *ret_path is the malloc'd object path
 * for OBJECT, else the path of the directory it may be. Returns 0 or an errno: ENAMETOOLONG, EINVAL (a name that nothing
 * can have: a .data name that is no key's, a reserved one, bytes that are not UTF-8 in the plain layout), ENOMEM. */
int fs_name_classify(const struct fs_name_rule *rule, const char *directory, const char *name,
		     enum fs_name_kind *ret_kind, char **ret_path);

/* Whether everything below the directory at `path` is scratch. */
bool fs_name_is_scratch_directory(const struct fs_name_rule *rule, const char *path);

/* The name under which a listing shows the bucket's entry `name`, malloc'd; NULL when it is not shown. */
char *fs_name_of_listed(const struct fs_name_rule *rule, const char *directory, const char *name, bool is_directory);

#endif
