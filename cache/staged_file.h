/*
 * One file in the staging directory: a downloaded object, or a body on its way to the bucket.
 *
 * Reference counted; a reference pins the file (it is not evicted). A file starts as a private body. Once
 * published (cache/staging_area.h) it is clean cache under its content hash and never changes again. Any thread.
 * The memory of the area outlives its files: release all references before closing the cache.
 */
#ifndef CACHE_STAGED_FILE_H
#define CACHE_STAGED_FILE_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <stdint.h>

struct staged_file;

struct staged_file *staged_file_ref(struct staged_file *file);
/* Drops a reference; NULL is fine. The last one of an unpublished body frees its bytes; a clean file stays as
 * cache. */
void staged_file_unref(struct staged_file *file);
DEFINE_CLEANUP(staged_file_unref, struct staged_file *);

/* The descriptor, close-on-exec, borrowed while a reference is held: read and write for a body, and for a file
 * that was a body when the reference was taken; possibly read only for a file found clean. */
int staged_file_fd(const struct staged_file *file);

/* The size by fstat: also right while the kernel writes past us (passthrough). */
uint64_t staged_file_size(const struct staged_file *file);

/* Makes sure that the body may hold `total_bytes` within the staging limit, evicting clean files. OK or NO_SPACE.
 * Memory and the staging filesystem only. A writer through the daemon calls it before each write that grows the
 * file; asking for less than is reserved already costs nothing. */
MUST_CHECK enum hfkv_status staged_file_reserve(struct staged_file *file, uint64_t total_bytes);

#endif
