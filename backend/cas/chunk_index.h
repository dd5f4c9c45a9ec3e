/*
 * Where each chunk of an upload session lies, by its hash: how a session finds that it has a chunk already.
 *
 * An open-addressing table that only grows. One thread at a time.
 */
#ifndef BACKEND_CAS_CHUNK_INDEX_H
#define BACKEND_CAS_CHUNK_INDEX_H

#include "common/attributes.h"
#include "common/content_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk_place {
	uint32_t xorb;  /* number of the xorb in its session */
	uint32_t index; /* of the chunk in the xorb */
};

/* Fields are the module's. Start with all zero. */
struct chunk_index {
	struct chunk_index_slot *slots;
	size_t capacity, used; /* capacity is 0 or a power of two */
};

void chunk_index_done(struct chunk_index *index);

bool chunk_index_find(const struct chunk_index *index, const struct content_hash *hash,
		      struct chunk_place *ret_place);

/* `hash` is not in it yet. False: no memory, nothing changed. */
MUST_CHECK bool chunk_index_add(struct chunk_index *index, const struct content_hash *hash,
				struct chunk_place place);

#endif
