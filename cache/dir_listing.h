/*
 * One level of a directory as a sorted snapshot: names in byte order, each once. Buckets may hold an object `a`
 * beside objects below `a/`: then the name comes twice, first as the file, then as the directory.
 *
 * Built once, then immutable and reference counted; any thread.
 */
#ifndef CACHE_DIR_LISTING_H
#define CACHE_DIR_LISTING_H

#include "backend/store/object_store.h"
#include "common/cleanup.h"

#define DIR_LISTING_NAMES_MAX 1000000 /* of one directory */

struct dir_name {
	const char *name;
	bool is_directory;
	struct object_info info; /* files only */
};

struct dir_listing;

struct dir_listing *dir_listing_ref(struct dir_listing *listing);
void dir_listing_unref(struct dir_listing *listing);
DEFINE_CLEANUP(dir_listing_unref, struct dir_listing *);

size_t dir_listing_count(const struct dir_listing *listing);
/* Borrowed while a reference is held. */
struct dir_name dir_listing_at(const struct dir_listing *listing, size_t index);
/* Whether it has this directory. */
bool dir_listing_has_directory(const struct dir_listing *listing, const char *name);
/* On clock_now_ms: until then it needs no new question. */
int64_t dir_listing_fresh_until_ms(const struct dir_listing *listing);

/* Collects the names of one listing. Owner thread only. */
struct dir_listing_builder;

struct dir_listing_builder *dir_listing_builder_new(void);
void dir_listing_builder_free(struct dir_listing_builder *builder);
DEFINE_CLEANUP(dir_listing_builder_free, struct dir_listing_builder *);

/* Adds a name, copied; info NULL: a directory. Of equal names the one added last stays. OVERSIZE beyond the limit.
 */
MUST_CHECK enum hfkv_status dir_listing_builder_add(struct dir_listing_builder *builder, const char *name,
						    const struct object_info *info);
/* Takes a file's name out, whether or not it was added before. */
MUST_CHECK enum hfkv_status dir_listing_builder_drop(struct dir_listing_builder *builder, const char *name);

/* Makes the snapshot; the builder is empty afterwards. */
MUST_CHECK enum hfkv_status dir_listing_builder_finish(struct dir_listing_builder *builder, int64_t fresh_until_ms,
						       struct dir_listing **ret_listing);

#endif
