/* A file with given text under a temporary name, removed by the test that made it. */
#ifndef TESTS_UNIT_CACHE_SCRATCH_FILE_H
#define TESTS_UNIT_CACHE_SCRATCH_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scratch_file {
	char path[64];
};

static inline struct scratch_file scratch_file_with(const char *text)
{
	struct scratch_file file = { "/tmp/hfkv-unit-XXXXXX" };
	int fd = mkstemp(file.path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return file;
}

#endif
