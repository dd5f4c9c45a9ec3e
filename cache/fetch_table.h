/*
 * Downloads each content once, whoever asks: single flight per content hash.
 *
 * The first asker downloads in his own thread, by his own deadline; the others wait, each by his own. When the
 * first one gives up at his deadline, one of those who still have time begins anew. So a stalled download holds up
 * nobody but those who want the same bytes, no download is left without somebody who wants it, and no thread is
 * needed.
 *
 * Any thread; every function blocks on the network. One lock; nothing else is done while it is held.
 */
#ifndef CACHE_FETCH_TABLE_H
#define CACHE_FETCH_TABLE_H

#include "backend/store/object_store.h"
#include "cache/staging_area.h"

struct fetch_table;

MUST_CHECK enum hfkv_status fetch_table_new(struct object_store *store, struct staging_area *staging,
					    struct fetch_table **ret_table);
/* No call is in flight. NULL is fine. */
void fetch_table_free(struct fetch_table *table);
DEFINE_CLEANUP(fetch_table_free, struct fetch_table *);

/* The content as a pinned, clean staged file: found, or downloaded whole and verified. The caller unrefs it. */
MUST_CHECK enum hfkv_status fetch_table_stage(struct fetch_table *table, const struct object_info *info,
					      struct deadline deadline, struct staged_file **ret_file,
					      struct fault *fault);

/* The content in the caller's memory of info->size_bytes: copied when staged, else downloaded straight into it. Is
 * staged besides only when others came to wait for the same bytes. */
MUST_CHECK enum hfkv_status fetch_table_load(struct fetch_table *table, const struct object_info *info,
					     uint8_t *into, struct deadline deadline, struct fault *fault);

struct fetch_counters {
	uint64_t downloads, downloaded_bytes, staged_hits, verify_failures;
};
struct fetch_counters fetch_table_counters(struct fetch_table *table);

#endif
