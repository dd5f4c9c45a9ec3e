/*
 * The private directory of one cache below a staging place, and the removal of those that dead processes left.
 *
 * <place>/hfkv-<uid>-<label>-<pid>-<random>/lock    held by flock(2) while its process lives
 *                                          /files/  the staged files; may be a tmpfs of our own
 *
 * Places such as /dev/shm and /tmp are writable for everybody: the directory is made with mode 0700, opened
 * without following links, and its owner is checked; everything inside goes by descriptor (openat), never by path.
 * Process ids in the name are for people: the lock alone tells alive from dead, also across containers that share
 * the place.
 *
 * Owner thread only, but for staging_dir_fd and _path, which any thread may ask.
 */
#ifndef CACHE_STAGING_DIR_H
#define CACHE_STAGING_DIR_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct staging_dir;

struct staging_dir_settings {
	const char *place;    /* an existing directory; borrowed during the call */
	const char *label;    /* part of the name; bytes other than letters, digits and `_` become `_`; borrowed */
	uint64_t tmpfs_bytes; /* above 0: mount a tmpfs of this size on files/; when refused, go on without */
};

/* Disk only. */
MUST_CHECK enum hfkv_status staging_dir_open(const struct staging_dir_settings *settings,
					     struct staging_dir **ret_dir, struct fault *fault);

/* Removes the directory and what is in it. NULL is fine. */
void staging_dir_close(struct staging_dir *dir);
DEFINE_CLEANUP(staging_dir_close, struct staging_dir *);

/* The files directory; borrowed. */
int staging_dir_fd(const struct staging_dir *dir);
/* Absolute or as the place was given; borrowed. */
const char *staging_dir_path(const struct staging_dir *dir);
bool staging_dir_is_private_tmpfs(const struct staging_dir *dir);

#endif
