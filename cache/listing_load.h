/*
 * One listing of the store on its way into a dir_listing: names checked, metadata learned, hidden objects left
 * out.
 *
 * A plain structure for one load, in one thread; blocks on the network.
 */
#ifndef CACHE_LISTING_LOAD_H
#define CACHE_LISTING_LOAD_H

#include "cache/dir_listing.h"
#include "cache/object_meta_cache.h"

struct listing_load {
	/* what to load; all borrowed */
	struct object_store *store;
	struct object_meta_cache *meta;
	const char *prefix, *directory; /* directory is relative to the prefix */
	size_t names_max;               /* stop there and bring no listing; 0: never */
	int64_t fresh_until_ms;         /* for the listing */
	/* what came of it */
	enum hfkv_status status;
	struct fault fault;
	size_t names_seen;           /* hidden ones included */
	struct dir_listing *listing; /* the caller's; NULL when it failed or was stopped */
};

void listing_load_run(struct listing_load *load, struct deadline deadline);

/* "<prefix>/<path>", or what is not empty of the two, malloc'd; NULL: no memory. */
char *listing_full_path(const char *prefix, const char *path);

/* Whether an entry's name can be shown as one path segment: not empty, `.` or `..`, and without a slash. */
bool listing_name_is_shown(const char *name);

#endif
