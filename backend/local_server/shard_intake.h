/*
 * Takes in a shard: proves every file in it against the xorbs that are stored, then registers them all at once.
 *
 * Proved: form (shard_reader), every named xorb is known, terms lie inside them and have the stated bytes, each
 * term's verification hash, each file's hash recomputed from its chunks, and that xorb blocks say what the xorbs
 * hold.
 */
#ifndef BACKEND_LOCAL_SERVER_SHARD_INTAKE_H
#define BACKEND_LOCAL_SERVER_SHARD_INTAKE_H

#include "backend/local_server/catalog.h"

/* INVALID: the shard does not hold (the fault says where). *ret_inserted: how many of its files were new. */
MUST_CHECK enum hfkv_status shard_intake(struct catalog *catalog, const void *bytes, size_t length,
					 size_t *ret_inserted, size_t *ret_files, struct fault *fault);

#endif
