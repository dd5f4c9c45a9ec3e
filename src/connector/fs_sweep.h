/*
 * Removes temporaries that dead writers left in the fs connector's directories: files with our temporary names
 * that nobody has written to for a day. Other programs' files are never touched.
 */
#ifndef SRC_CONNECTOR_FS_SWEEP_H
#define SRC_CONNECTOR_FS_SWEEP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FS_SWEEP_AGE_MS (24 * 60 * 60 * 1000LL)

/* Sweeps one directory as of `now_ms` (Unix epoch) and returns how many files went. Stops early when *stop
 * becomes true. What cannot be read or removed stays. Blocks on the disk. */
size_t fs_sweep_directory(const char *directory, int64_t now_ms, const atomic_bool *stop);

#endif
