/*
 * The staging directory's budget and content: bodies being written or downloaded, and clean files by content hash.
 *
 * Bytes are reserved before they are written. Reserving evicts clean, unpinned files, least recently used first,
 * and says NO_SPACE when the limit or the filesystem's free-space margin cannot be kept. Bodies of writers leave
 * one KV chunk's worth of the limit to readers. Sizes count in whole pages.
 *
 * Bodies are nameless files (O_TMPFILE), so a killed daemon leaves nothing of them; where the filesystem has none,
 * they carry a temporary name. A published file gets the name <content hash>-<number>, and its descriptor is
 * closed while nobody holds it: the number of staged files is not bounded by the descriptor limit.
 *
 * Any thread. One lock, innermost of the cache's: nothing else is locked and no system call is made while it is
 * held.
 */
#ifndef CACHE_STAGING_AREA_H
#define CACHE_STAGING_AREA_H

#include "cache/staged_file.h"
#include "common/content_hash.h"

#include <stdbool.h>

struct staging_area;

struct staging_area_settings {
	const char *directory;  /* NULL: the default place (cache/staging_place.h); borrowed during the call */
	const char *label;      /* borrowed during the call */
	uint64_t limit_bytes;   /* 0: a default that fits the place */
	uint64_t largest_bytes; /* of one object that must fit, 0 when there is no size rule */
	bool private_tmpfs;     /* a tmpfs of our own with size= the limit, when we may mount one */
};

/* Makes the private directory and starts the clean-up of dead ones. INVALID when the limit cannot hold one object.
 */
MUST_CHECK enum hfkv_status staging_area_new(const struct staging_area_settings *settings,
					     struct staging_area **ret_area, struct fault *fault);

/* No file of it is referenced any more. Removes the directory. NULL is fine. */
void staging_area_free(struct staging_area *area);
DEFINE_CLEANUP(staging_area_free, struct staging_area *);

enum staging_purpose { STAGING_FOR_READ, STAGING_FOR_WRITE };

/* An empty body, with `expected_bytes` reserved. The caller holds its only reference. */
MUST_CHECK enum hfkv_status staging_area_new_body(struct staging_area *area, enum staging_purpose purpose,
						  uint64_t expected_bytes, struct staged_file **ret_file,
						  struct fault *fault);

/* The clean file with this content, pinned; NULL when there is none. Makes it the most recently used. */
struct staged_file *staging_area_find(struct staging_area *area, const struct content_hash *hash);

/* Makes `body`, whole and nobody's to write any more, the clean file of its content. Does nothing when there is
 * one already, or when the directory refuses the name: the body then lives as long as its references. */
void staging_area_publish(struct staging_area *area, struct staged_file *body, const struct content_hash *hash);

struct staging_usage {
	uint64_t used_bytes, limit_bytes; /* reserved and clean bytes together */
	uint64_t files;                   /* clean files and bodies */
	uint64_t evictions;
};
struct staging_usage staging_area_usage(struct staging_area *area);

/* Borrowed for the life of the area. */
const char *staging_area_path(const struct staging_area *area);
bool staging_area_is_private_tmpfs(const struct staging_area *area);

/* Waits for the clean-up of dead directories; for tests. */
void staging_area_join_sweep_for_tests(struct staging_area *area);

#endif
