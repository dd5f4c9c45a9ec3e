/*
 * What is known of each object for a time: present with size and content hash, or absent.
 *
 * Presence holds longer than absence. Answers of the store pass the size rule here, in one place: a wrong-size
 * object is absent. Nothing makes an absence but an answer of the store that lacks the path, or an own delete.
 *
 * Own writes and deletes win over answers to questions that were asked before them: every write is stamped with
 * a generation, a question carries the generation at which it was asked, and an older answer is dropped.
 *
 * Bounded in entries; the least recently used go first. Any thread; one lock, nothing else is done while it is
 * held.
 */
#ifndef CACHE_OBJECT_META_CACHE_H
#define CACHE_OBJECT_META_CACHE_H

#include "backend/store/object_store.h"
#include "cache/kv_chunk_check.h"

struct object_meta_cache;

struct object_meta_settings {
	size_t entries_max;
	int64_t present_ttl_ms, absent_ttl_ms;
	struct kv_chunk_check *check; /* borrowed for the life of the cache */
};

/* What is known of one path. */
struct object_meta {
	enum hfkv_status status; /* OK: present, info is valid; NOT_FOUND: absent */
	struct object_info info;
	int64_t fresh_until_ms; /* on clock_now_ms */
};

MUST_CHECK enum hfkv_status object_meta_cache_new(const struct object_meta_settings *settings,
						  struct object_meta_cache **ret_cache);
void object_meta_cache_free(struct object_meta_cache *cache);
DEFINE_CLEANUP(object_meta_cache_free, struct object_meta_cache *);

/* False when nothing fresh is known. */
MUST_CHECK bool object_meta_cache_get(struct object_meta_cache *cache, const char *path,
				      struct object_meta *ret_meta);

/* To be taken before the store is asked, and given with its answer. */
uint64_t object_meta_cache_generation(struct object_meta_cache *cache);

/* Takes an answer of the store in (info NULL: it lacks the path) and gives what holds after it: the answer under
 * the size rule, or the own write that came after the question. */
struct object_meta object_meta_cache_learn(struct object_meta_cache *cache, const char *path,
					   const struct object_info *info, uint64_t asked_generation);

/* An own write or delete that is in the bucket. Any size: the writer checked it. */
void object_meta_cache_wrote(struct object_meta_cache *cache, const char *path, const struct object_info *info);
void object_meta_cache_removed(struct object_meta_cache *cache, const char *path);

/* Nothing is known any more: an own write with unknown outcome, or bytes that did not match. Earlier questions
 * count for nothing either. */
void object_meta_cache_forget(struct object_meta_cache *cache, const char *path);

/* Entries held. */
size_t object_meta_cache_count(struct object_meta_cache *cache);

#endif
