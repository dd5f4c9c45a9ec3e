/*
 * What staging_area.c and staged_file.c share: the structures, and the budget that both move.
 * Private to those two.
 */
#ifndef CACHE_STAGING_AREA_PARTS_H
#define CACHE_STAGING_AREA_PARTS_H

#include "cache/staging_area.h"
#include "cache/staging_dir.h"
#include "cache/staging_lru.h"
#include "cache/staging_sweep.h"

#include <stdatomic.h>
#include <uthash.h>

struct staged_file {
	struct staging_area *area;
	enum staging_purpose purpose;
	uint64_t number;                /* unique in the area, part of names */
	_Atomic uint64_t charged_bytes; /* what the budget counts for it; changed with the area's lock held */
	/* The rest with the area's lock held, but for fd, which is fixed while a reference is held. */
	int fd; /* -1: clean and unreferenced */
	unsigned references;
	bool clean;               /* in the area's table; references 0 also means: in its lru */
	bool named;               /* has a directory entry, under the name that its state gives it */
	struct content_hash hash; /* valid when clean */
	struct staging_lru_node recency;
	UT_hash_handle hh; /* clean files, by hash */
};

struct staging_area {
	struct staging_dir *dir;
	struct staging_sweep *sweep;
	uint64_t limit_bytes, write_limit_bytes;
	bool has_nameless; /* O_TMPFILE files can be made and given a name here */
	bool guards_space; /* others share the filesystem */

	pthread_mutex_t mutex;
	struct staged_file *by_hash; /* uthash */
	struct staging_lru lru;
	uint64_t used_bytes;  /* sum of charged_bytes over all files */
	uint64_t write_bytes; /* of these, bodies of writers */
	uint64_t file_count, next_number, evictions;
};

#define STAGED_NAME_BYTES (CONTENT_HASH_TEXT_BYTES + 24)

/* The name of a file in the files directory: of a body, or of clean content. */
void staged_file_body_name(const struct staged_file *file, char name[STAGED_NAME_BYTES]);
void staged_file_clean_name(const struct staged_file *file, char name[STAGED_NAME_BYTES]);

/* Charges `more_bytes` more to `file`; false when they cannot be had. Lock not held. */
MUST_CHECK bool staging_area_charge(struct staging_area *area, struct staged_file *file, uint64_t more_bytes);

/* Frees a file that is in no table, with its name, descriptor and charge gone from the books. Lock not held. */
void staged_file_dispose(struct staged_file *file);

#endif
