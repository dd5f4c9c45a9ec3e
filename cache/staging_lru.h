/*
 * Recency of clean staged files, apart from everything else: which one was used longest ago.
 *
 * Nodes are embedded in the files; the list owns nothing. The caller's lock protects it. A node is in one list or
 * none.
 */
#ifndef CACHE_STAGING_LRU_H
#define CACHE_STAGING_LRU_H

#include <stdbool.h>
#include <stddef.h>

struct staging_lru_node {
	struct staging_lru_node *newer, *older;
	bool listed;
};

struct staging_lru {
	struct staging_lru_node *newest, *oldest;
	size_t count;
};

/* Puts a node that is in no list at the newest end. */
void staging_lru_add(struct staging_lru *lru, struct staging_lru_node *node);

/* Takes a node out; harmless when it is in no list. */
void staging_lru_remove(struct staging_lru *lru, struct staging_lru_node *node);

/* Takes out the node used longest ago; NULL when empty. */
struct staging_lru_node *staging_lru_take_oldest(struct staging_lru *lru);

#endif
