#include "backend/cas/chunk_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256
#define NO_XORB        UINT32_MAX

struct chunk_index_slot {
	struct content_hash hash;
	struct chunk_place place; /* xorb is NO_XORB in an empty slot */
};

void chunk_index_done(struct chunk_index *index)
{
	free(index->slots);
	*index = (struct chunk_index){ 0 };
}

/* The slot that holds `hash`, or the empty one where it belongs. The table is never full. A hash is random
 * already. */
static struct chunk_index_slot *slot_of(const struct chunk_index *index, const struct content_hash *hash)
{
	uint64_t word;
	memcpy(&word, hash->bytes, sizeof(word));
	for (size_t at = word & (index->capacity - 1);; at = (at + 1) & (index->capacity - 1)) {
		struct chunk_index_slot *slot = &index->slots[at];
		if (slot->place.xorb == NO_XORB || content_hash_equal(&slot->hash, hash))
			return slot;
	}
}

bool chunk_index_find(const struct chunk_index *index, const struct content_hash *hash,
		      struct chunk_place *ret_place)
{
	if (index->used == 0)
		return false;
	const struct chunk_index_slot *slot = slot_of(index, hash);
	if (slot->place.xorb == NO_XORB)
		return false;
	*ret_place = slot->place;
	return true;
}

static bool grow(struct chunk_index *index)
{
	struct chunk_index larger = { .capacity = index->capacity ? 2 * index->capacity : FIRST_CAPACITY };
	larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < larger.capacity; i++)
		larger.slots[i].place.xorb = NO_XORB;
	for (size_t i = 0; i < index->capacity; i++)
		if (index->slots[i].place.xorb != NO_XORB)
			*slot_of(&larger, &index->slots[i].hash) = index->slots[i];
	larger.used = index->used;
	free(index->slots);
	*index = larger;
	return true;
}

bool chunk_index_add(struct chunk_index *index, const struct content_hash *hash, struct chunk_place place)
{
	if (4 * (index->used + 1) > 3 * index->capacity && !grow(index))
		return false;
	*slot_of(index, hash) = (struct chunk_index_slot){ *hash, place };
	index->used++;
	return true;
}
