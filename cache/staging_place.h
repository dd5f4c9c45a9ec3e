/*
 * Where staging goes when nobody says: /dev/shm when it can hold what is needed, else /var/tmp.
 *
 * Touches disk only. Any thread.
 */
#ifndef CACHE_STAGING_PLACE_H
#define CACHE_STAGING_PLACE_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

#define STAGING_DEFAULT_CAP_BYTES (4ULL << 30) /* a default limit is never larger */

struct staging_place {
	char *path; /* an existing directory; the caller frees it */
	uint64_t free_bytes;
};

/* `given` (made with mode 0700 when missing, parents too), or with NULL the default place for `needed_bytes`.
 * Falling back to /var/tmp is logged as one warning that says how to do better. */
MUST_CHECK enum hfkv_status staging_place_choose(const char *given, uint64_t needed_bytes,
						 struct staging_place *ret_place, struct fault *fault);

/* Bytes of free space that staging leaves to others on a filesystem of this size: 1/16, at most 64 MiB. */
uint64_t staging_place_margin(uint64_t filesystem_bytes);

/* Half of what is free, at most STAGING_DEFAULT_CAP_BYTES, at least needed_bytes. */
uint64_t staging_place_default_limit(uint64_t free_bytes, uint64_t needed_bytes);

/* Free and total bytes of the filesystem that holds `fd` or `path` (path NULL: fd). False with errno on failure.
 */
bool staging_place_space(const char *path, int fd, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

#endif
