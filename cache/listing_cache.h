/*
 * Directory listings, kept for a time and true to own writes.
 *
 * A listing is one call of the store per directory, whoever asks meanwhile; it feeds the object_meta_cache, and
 * leaves out what that hides. Own writes and removals since the listing was asked for are kept beside it and
 * merged in when it is next wanted, so a store does not cost a listing. Bounded in directories and in names.
 *
 * Any thread. One lock; memory work only while it is held.
 */
#ifndef CACHE_LISTING_CACHE_H
#define CACHE_LISTING_CACHE_H

#include "cache/dir_listing.h"
#include "cache/object_meta_cache.h"

struct listing_cache;

struct listing_cache_settings {
	struct object_store *store;     /* borrowed for the life of the cache */
	struct object_meta_cache *meta; /* borrowed likewise */
	const char *prefix;             /* "" or without outer slashes; borrowed likewise */
	int64_t present_ttl_ms, absent_ttl_ms;
	size_t names_max; /* of all kept listings together */
};

MUST_CHECK enum hfkv_status listing_cache_new(const struct listing_cache_settings *settings,
					      struct listing_cache **ret_cache);
/* No call is in flight. NULL is fine. */
void listing_cache_free(struct listing_cache *cache);
DEFINE_CLEANUP(listing_cache_free, struct listing_cache *);

/* The listing of `directory` (relative to the prefix, "" for itself); the caller unrefs it. May block on the
 * network. INVALID for a path that no directory can have, OVERSIZE beyond DIR_LISTING_NAMES_MAX names. */
MUST_CHECK enum hfkv_status listing_cache_get(struct listing_cache *cache, const char *directory,
					      struct deadline deadline, struct dir_listing **ret_listing,
					      struct fault *fault);

/* Whether anything lies under `directory`: OK or NOT_FOUND. The prefix itself is always there. May block on the
 * network, for one page of a listing. */
MUST_CHECK enum hfkv_status listing_cache_directory_exists(struct listing_cache *cache, const char *directory,
							   struct deadline deadline, struct fault *fault);

/* An own write of the object at `path`, or its removal (info NULL), that is in the bucket. Never blocks. */
void listing_cache_note(struct listing_cache *cache, const char *path, const struct object_info *info);

uint64_t listing_cache_calls(struct listing_cache *cache);

#endif
