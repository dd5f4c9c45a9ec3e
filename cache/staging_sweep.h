/*
 * Clears a staging place of the private directories that dead processes of this user left (cache/staging_dir.h
 * tells how they look), in a thread of its own, so that 200,000 left-over files delay no start.
 *
 * A directory whose lock is held is somebody's; one without a lock file is left alone for a minute, as it may be
 * just being made. Failures are tolerated and named at debug level.
 */
#ifndef CACHE_STAGING_SWEEP_H
#define CACHE_STAGING_SWEEP_H

#include "common/cleanup.h"
#include "hfkv/hfkv_status.h"

struct staging_sweep;

/* Starts the thread; `place` is copied. */
MUST_CHECK enum hfkv_status staging_sweep_start(const char *place, struct staging_sweep **ret_sweep);

/* Stops within a few files, joins. NULL is fine. */
void staging_sweep_stop(struct staging_sweep *sweep);
DEFINE_CLEANUP(staging_sweep_stop, struct staging_sweep *);

/* Waits until the whole place was looked through; for tests. */
void staging_sweep_join_for_tests(struct staging_sweep *sweep);

#endif
