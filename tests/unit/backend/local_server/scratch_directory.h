/*
 * A directory of a test's own, removed with everything in it. Failures fail the test.
 */
#ifndef TESTS_UNIT_BACKEND_LOCAL_SERVER_SCRATCH_DIRECTORY_H
#define TESTS_UNIT_BACKEND_LOCAL_SERVER_SCRATCH_DIRECTORY_H

#include "tests/unit/cmocka_prelude.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int scratch_remove_entry(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)stat, (void)type, (void)where;
	return remove(path);
}

/* A cmocka setup: *state becomes the path. */
static inline int scratch_make(void **state)
{
	char path[] = "/tmp/hfkv-unit-XXXXXX";
	*state = mkdtemp(path) ? strdup(path) : NULL;
	return *state ? 0 : -1;
}

/* The teardown that belongs to it. */
static inline int scratch_remove(void **state)
{
	int code = nftw(*state, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return code;
}

#endif
