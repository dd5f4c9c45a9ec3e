/* A directory of a test's own under $TMPDIR, removed with all that is in it. Main thread only. */
#ifndef TESTS_UNIT_SCRATCH_DIR_H
#define TESTS_UNIT_SCRATCH_DIR_H

#include "common/attributes.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_PATH_BYTES 256

static int scratch_remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
	(void)info;
	(void)type;
	(void)place;
	return remove(path);
}

/* Fills `path`; asserts nothing: "" when it failed. */
MAYBE_UNUSED static inline void scratch_dir_make(char path[SCRATCH_PATH_BYTES])
{
	const char *root = getenv("TMPDIR");
	snprintf(path, SCRATCH_PATH_BYTES, "%s/hfkv-test-XXXXXX", root ? root : "/tmp");
	if (!mkdtemp(path))
		path[0] = '\0';
}

MAYBE_UNUSED static inline void scratch_dir_remove(const char *path)
{
	nftw(path, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
