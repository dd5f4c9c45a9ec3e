/*
 * The local side of put and get: files to read from, and targets that appear whole or not at all.
 *
 * "-" is a standard stream. What cannot be read or written at offsets (a pipe, a terminal) goes through an unnamed
 * file in TMPDIR (else /tmp), so that a put knows its size and a get hands over verified bytes only.
 * Owner thread only; different objects in different threads.
 */
#ifndef SRC_CLI_LOCAL_FILE_H
#define SRC_CLI_LOCAL_FILE_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct local_source {
	int fd; /* to be read with pread from 0 */
	uint64_t size_bytes;
};

MUST_CHECK enum hfkv_status local_source_open(const char *name, struct local_source *ret_source, struct fault *fault);

struct local_target {
	const char *name; /* borrowed */
	int fd;           /* to be written with pwrite from `offset` */
	uint64_t offset;
	char *temporary_name; /* the file behind fd has this name until the commit; NULL: none */
	bool is_stream;       /* commit copies fd to `stream_fd` */
	int stream_fd;
};

/* For `name`, or standard output for "-". An existing file is replaced at the commit. */
MUST_CHECK enum hfkv_status local_target_open(const char *name, struct local_target *ret_target, struct fault *fault);

/* `size_bytes` were written: the target gets its name, or the stream its bytes. */
MUST_CHECK enum hfkv_status local_target_commit(struct local_target *target, uint64_t size_bytes, struct fault *fault);

/* Releases it; what was not committed is gone. Fits CLEANUP. */
void local_target_done(struct local_target *target);

/* Makes the directory of `path` and those above it, from `base_length` bytes on. */
MUST_CHECK enum hfkv_status local_make_directories(const char *path, size_t base_length, struct fault *fault);

#endif
