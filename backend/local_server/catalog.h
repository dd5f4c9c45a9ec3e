/*
 * What the server knows, apart from the bytes: buckets, their objects, the chunk lists of xorbs and the
 * terms of files. One of the two seams of the server: another database takes the place of
 * catalog_sqlite*.c by giving the same functions. No SQL, no row and no file name shows here.
 *
 * Any thread, any number at once. Every call may block on the disk. A change is durable and visible to every later
 * call when its function has returned OK, and not there at all otherwise. What a visitor is given is borrowed
 * during the visit; a visitor must not call the catalog.
 */
#ifndef BACKEND_LOCAL_SERVER_CATALOG_H
#define BACKEND_LOCAL_SERVER_CATALOG_H

#include "backend/xet/xorb_listing.h"
#include "common/cleanup.h"
#include "common/content_hash.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CATALOG_NAME_BYTES 97 /* longest namespace or bucket name, and the NUL */

struct catalog;
/* `location`: a directory the catalog may fill as it likes. `durable`: commits survive a power loss. */
MUST_CHECK enum hfkv_status catalog_open(const char *location, bool durable, struct catalog **ret_catalog,
					 struct fault *fault);
void catalog_close(struct catalog *catalog);
DEFINE_CLEANUP(catalog_close, struct catalog *);

struct catalog_bucket {
	int64_t id; /* never used again after the bucket is deleted */
	char owner[CATALOG_NAME_BYTES], name[CATALOG_NAME_BYTES];
	bool is_private;
	int64_t created_at_ms, updated_at_ms; /* Unix epoch; updated_at grows with every change of the bucket */
	uint64_t size_bytes, file_count;
};

/* EXISTS: there already; *ret_bucket is filled for OK and EXISTS. */
MUST_CHECK enum hfkv_status catalog_bucket_create(struct catalog *catalog, const char *owner, const char *name,
						  bool is_private, struct catalog_bucket *ret_bucket,
						  struct fault *fault);
MUST_CHECK enum hfkv_status catalog_bucket_find(struct catalog *catalog, const char *owner, const char *name,
						struct catalog_bucket *ret_bucket, struct fault *fault);
/* NOT_FOUND also for a bucket that was deleted since. */
MUST_CHECK enum hfkv_status catalog_bucket_find_id(struct catalog *catalog, int64_t id,
						   struct catalog_bucket *ret_bucket, struct fault *fault);

struct catalog_bucket_query {
	const char *owner;
	const char *search; /* part of the name; "" : all */
	const char *after;  /* names behind this one; "" : all */
	unsigned limit;
	void (*visit)(void *context, const struct catalog_bucket *bucket);
	void *context;
};
/* Visits buckets in byte order of their names. */
MUST_CHECK enum hfkv_status catalog_bucket_list(struct catalog *catalog, const struct catalog_bucket_query *query,
						struct fault *fault);
MUST_CHECK enum hfkv_status catalog_bucket_set_private(struct catalog *catalog, int64_t id, bool is_private,
						       struct fault *fault);
/* EXISTS: the new name is taken. */
MUST_CHECK enum hfkv_status catalog_bucket_rename(struct catalog *catalog, int64_t id, const char *owner,
						  const char *name, struct fault *fault);
/* Deletes the bucket and its objects; xorbs and files stay. */
MUST_CHECK enum hfkv_status catalog_bucket_delete(struct catalog *catalog, int64_t id, struct fault *fault);

struct catalog_object {
	const char *path; /* UTF-8, NUL-terminated, no NUL inside */
	size_t path_bytes;
	struct content_hash hash;
	uint64_t size_bytes;
	int64_t modified_at_ms; /* what the client said; -1: nothing */
	int64_t uploaded_at_ms;
	const char *content_type; /* NULL: unknown */
};

struct catalog_look_up {
	const char *const *paths;
	size_t count;
	void (*visit)(void *context, size_t index, const struct catalog_object *object);
	void *context;
};
/* Visits those of the paths that exist, with their index. */
MUST_CHECK enum hfkv_status catalog_objects_find(struct catalog *catalog, int64_t bucket,
						 const struct catalog_look_up *look_up, struct fault *fault);

enum catalog_scan_next {
	CATALOG_SCAN_ON,
	CATALOG_SCAN_SKIP /* to the first path >= `skip_to` */,
	CATALOG_SCAN_STOP
};
struct catalog_scan {
	const char *from; /* first path wanted, inclusive; any bytes */
	size_t from_bytes;
	const char *prefix; /* only paths that begin with these bytes */
	enum catalog_scan_next (*visit)(void *context, const struct catalog_object *object, char *skip_to,
					size_t *skip_to_bytes); /* room for CATALOG_SCAN_BOUND_BYTES */
	void *context;
};
#define CATALOG_SCAN_BOUND_BYTES 1100
/* Visits objects in byte order of their paths. */
MUST_CHECK enum hfkv_status catalog_objects_scan(struct catalog *catalog, int64_t bucket,
						 const struct catalog_scan *scan, struct fault *fault);

enum catalog_change_kind { CATALOG_ADD, CATALOG_DELETE };
struct catalog_change {
	enum catalog_change_kind kind;
	const char *path;         /* borrowed until return */
	struct content_hash hash; /* ADD: a known file, or all zero for an empty object */
	int64_t modified_at_ms;   /* ADD: -1 when not said */
	const char *content_type; /* ADD: may be NULL */
	enum hfkv_status status;  /* in: anything but OK skips the change. out: OK, or NOT_FOUND: hash unknown */
};
/* Applies the changes in order, in one step. Deleting what is not there is OK. */
MUST_CHECK enum hfkv_status catalog_objects_change(struct catalog *catalog, int64_t bucket,
						   struct catalog_change *changes, size_t count,
						   struct fault *fault);

/* A run of a xorb's chunks that gives a piece of a file. */
struct catalog_term {
	struct content_hash xorb;
	uint32_t first_xet_chunk, end_xet_chunk; /* end exclusive */
	uint32_t raw_bytes;
};
struct catalog_file {
	struct content_hash hash;
	uint64_t size_bytes;
	uint32_t term_count;
	struct catalog_term *terms; /* owned */
};
void catalog_file_done(struct catalog_file *file);

/* *ret_inserted: false when it was known already. */
MUST_CHECK enum hfkv_status catalog_xorb_add(struct catalog *catalog, const struct xorb_listing *xorb,
					     bool *ret_inserted, struct fault *fault);
MUST_CHECK enum hfkv_status catalog_xorb_exists(struct catalog *catalog, const struct content_hash *hash,
						struct fault *fault);
/* The caller frees with xorb_listing_done. */
MUST_CHECK enum hfkv_status catalog_xorb_find(struct catalog *catalog, const struct content_hash *hash,
					      struct xorb_listing *ret_xorb, struct fault *fault);

/* All or none; those that are known already stay as they are. *ret_inserted: how many were new. */
MUST_CHECK enum hfkv_status catalog_files_add(struct catalog *catalog, const struct catalog_file *files,
					      size_t count, size_t *ret_inserted, struct fault *fault);
/* The caller frees with catalog_file_done. */
MUST_CHECK enum hfkv_status catalog_file_find(struct catalog *catalog, const struct content_hash *hash,
					      struct catalog_file *ret_file, struct fault *fault);

#endif
