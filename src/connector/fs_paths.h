/*
 * Where the fs connector keeps what: which base path a key belongs to, its file, and names for temporaries.
 *
 * With several base paths, abs(chunk_hash) mod n picks one, as LMCache's fs connector does, so that both find each
 * other's files. Immutable after creation but for a counter; any thread.
 */
#ifndef SRC_CONNECTOR_FS_PATHS_H
#define SRC_CONNECTOR_FS_PATHS_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define FS_TEMPORARY_PREFIX ".hfkv-"
#define FS_TEMPORARY_SUFFIX ".tmp"

struct fs_paths;

/* Copies its arguments. relative_tmp_dir NULL: temporaries lie beside the files. */
MUST_CHECK enum hfkv_status fs_paths_new(char *const *base_paths, size_t count, const char *relative_tmp_dir,
					 struct fs_paths **ret_paths, struct fault *fault);
void fs_paths_free(struct fs_paths *paths);
DEFINE_CLEANUP(fs_paths_free, struct fs_paths *);

/* Makes the directories that are missing (0777 less umask, parents too) and checks that each is a directory
 * that may be written. Blocks on the disk. */
MUST_CHECK enum hfkv_status fs_paths_prepare(const struct fs_paths *paths, struct fault *fault);

/* mkdir -p: OK when the directory is there afterwards. Blocks on the disk. */
MUST_CHECK enum hfkv_status fs_make_directories(const char *path, const char *what, struct fault *fault);

size_t fs_paths_count(const struct fs_paths *paths);
/* Base path n, and the directory of its temporaries; borrowed. */
const char *fs_paths_base(const struct fs_paths *paths, size_t n);
const char *fs_paths_tmp_dir(const struct fs_paths *paths, size_t n);

/* The base path of `key`. A key without a chunk hash where LMCache has it belongs to the first. */
size_t fs_paths_choose(const struct fs_paths *paths, const char *key);

/* The file of `key` under its base path. INVALID or OVERSIZE when it has no file name. */
MUST_CHECK enum hfkv_status fs_paths_file(const struct fs_paths *paths, const char *key, char path[PATH_MAX],
					  struct fault *fault);

/* A new name for a temporary on the file system of base path n: unique over threads, processes and hosts. */
void fs_paths_temporary(struct fs_paths *paths, size_t n, char path[PATH_MAX]);

#endif
