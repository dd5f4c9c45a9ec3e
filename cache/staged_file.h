/*
 * One file in the staging directory: a downloaded object, or a body on its way to the bucket.
 *
 * Reference counted; a reference pins the file (it is not evicted). A published staged file never changes again.
 * The descriptor is open for reading and writing, close-on-exec, borrowed while a reference is held.
 * Any thread.
 */
#ifndef CACHE_STAGED_FILE_H
#define CACHE_STAGED_FILE_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <stdint.h>

struct staged_file;

struct staged_file *staged_file_ref(struct staged_file *file);
/* Drops a reference; NULL is fine. The last one of an unpublished body frees its bytes. */
void staged_file_unref(struct staged_file *file);
DEFINE_CLEANUP(staged_file_unref, struct staged_file *);

int staged_file_fd(const struct staged_file *file);

/* The size by fstat: also right while the kernel writes past us (passthrough). */
uint64_t staged_file_size(const struct staged_file *file);

/* Makes sure that the file may hold `total_bytes` within the staging limit, evicting clean files. OK or NO_SPACE. Memory only.
 * A writer through the daemon calls it before each write that grows the file. */
MUST_CHECK enum hfkv_status staged_file_reserve(struct staged_file *file, uint64_t total_bytes);

#endif
