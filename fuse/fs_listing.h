/*
 * One directory's listing as it was when reading it began: names of the bucket and of this mount, merged, each once, in
 * byte order of the shown names.
 */
#ifndef FUSE_FS_LISTING_H
#define FUSE_FS_LISTING_H

#include "fuse/fs_state.h"

#define FS_LISTING_MAX (4 * 1024 * 1024) /* names; a larger directory is refused with NO_MEMORY */

struct fs_listed {
	char *name; /* as shown */
	struct object_info info;
	int64_t fresh_until_ms;
	bool is_directory;
	bool is_local; /* known to this mount only: scratch, or a directory it keeps */
};

struct fs_listing {
	struct fs_listed *entries;
	size_t count, capacity;
};

/* Takes a listing of `directory`, whose path is `path`. May block on the network. */
MUST_CHECK enum hfkv_status fs_listing_take(struct fs_session *session, struct fs_inode *directory, const char *path,
					    struct fs_listing *ret_listing, struct deadline deadline,
					    struct fault *fault);
void fs_listing_done(struct fs_listing *listing);

#endif
