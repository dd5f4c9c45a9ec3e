/*
 * What an L2 adapter knows to be stored: bytes by key, in total and by cache salt, and how recently each key was
 * used.
 *
 * It counts a key once, however often it is stored. At most `max_keys` are kept: beyond, the least recently used
 * is forgotten, with its bytes. Not thread-safe: the adapter's lock is held in every call.
 */
#ifndef SRC_CONNECTOR_USAGE_LEDGER_H
#define SRC_CONNECTOR_USAGE_LEDGER_H

#include "common/cleanup.h"
#include "hfkv/hfkv_connector.h"

#include <stdbool.h>

struct usage_ledger;

/* NULL: no memory. */
struct usage_ledger *usage_ledger_new(size_t max_keys);
void usage_ledger_free(struct usage_ledger *ledger);
DEFINE_CLEANUP(usage_ledger_free, struct usage_ledger *);

/* Counts `key` with `bytes` (replacing what was counted for it) as the most recently used. True when it was not
 * known. */
bool usage_ledger_note(struct usage_ledger *ledger, const char *key, uint64_t bytes);
/* As note for a key found in a listing: the least recently used of all, and nothing happens when it is known. */
bool usage_ledger_note_oldest(struct usage_ledger *ledger, const char *key, uint64_t bytes);
/* Makes a known key the most recently used. */
bool usage_ledger_touch(struct usage_ledger *ledger, const char *key);
/* A moment, to be given to usage_ledger_forget. Any thread. */
uint64_t usage_ledger_moment(const struct usage_ledger *ledger);
/* Forgets a key that was seen as absent by someone who began to look at `since`, and returns its bytes; 0 when it
 * is unknown, or was noted or touched after `since`: then it came meanwhile, and stays. */
uint64_t usage_ledger_forget(struct usage_ledger *ledger, const char *key, uint64_t since);

uint64_t usage_ledger_total_bytes(const struct usage_ledger *ledger);
size_t usage_ledger_key_count(const struct usage_ledger *ledger);

/* Visits keys from the least recently used on; the ledger must not change. Anything but OK ends it and is
 * returned. */
enum hfkv_status usage_ledger_visit_keys(const struct usage_ledger *ledger, hfkv_visit visit, void *context);
/* Visits (salt, bytes), "" for keys without one. */
enum hfkv_status usage_ledger_visit_salts(const struct usage_ledger *ledger, hfkv_visit visit, void *context);

#endif
