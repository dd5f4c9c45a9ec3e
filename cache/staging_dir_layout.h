/*
 * What the maker of private staging directories and the sweeper of dead ones must agree on.
 */
#ifndef CACHE_STAGING_DIR_LAYOUT_H
#define CACHE_STAGING_DIR_LAYOUT_H

#include <stdio.h>
#include <unistd.h>

#define STAGING_LOCK_NAME    "lock"
#define STAGING_FILES_NAME   "files"
#define STAGING_PREFIX_BYTES 32

/* "hfkv-<uid>-": what every private directory of this user begins with. */
static inline void staging_dir_prefix(char prefix[STAGING_PREFIX_BYTES])
{
	snprintf(prefix, STAGING_PREFIX_BYTES, "hfkv-%u-", (unsigned)geteuid());
}

/* Opens the private directory `name` below `place_fd`: no link, owned by us, closed to others. -1 otherwise. */
int staging_dir_open_private(int place_fd, const char *name);

#endif
