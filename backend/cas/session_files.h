/*
 * What an upload session knows of its files: hashes and terms, and the shards made of them. Private to
 * backend/cas.
 *
 * One thread at a time.
 */
#ifndef BACKEND_CAS_SESSION_FILES_H
#define BACKEND_CAS_SESSION_FILES_H

#include "backend/cas/session_xorbs.h"

/* Consecutive chunks of one xorb. */
struct file_run {
	uint32_t xorb; /* number in the session */
	uint32_t chunk_start, chunk_end;
	uint32_t raw_bytes;
};

/* Fields are the module's, but for `hash`. Start with all zero. */
struct session_file {
	struct content_hash hash; /* zero for an empty file */
	struct file_run *runs;
	size_t run_count, run_capacity;
};

void session_file_done(struct session_file *file);

/* The file's next chunk lies there. NO_MEMORY. */
MUST_CHECK enum hfkv_status session_file_add(struct session_file *file, struct chunk_place place,
					     uint32_t raw_bytes, struct fault *fault);

/* Registers files and xorbs, in one shard where they fit into one. Every xorb is at the CAS already. Files of
 * equal content are named once; entries of `files` that are NULL are left out. */
MUST_CHECK enum hfkv_status session_files_register(struct session_file *const *files, size_t count,
						   const struct session_xorbs *xorbs, struct fault *fault);

#endif
