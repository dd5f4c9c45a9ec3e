#include "cache/staging_lru.h"

void staging_lru_add(struct staging_lru *lru, struct staging_lru_node *node)
{
	node->newer = NULL;
	node->older = lru->newest;
	if (lru->newest)
		lru->newest->newer = node;
	else
		lru->oldest = node;
	lru->newest = node;
	node->listed = true;
	lru->count++;
}

void staging_lru_remove(struct staging_lru *lru, struct staging_lru_node *node)
{
	if (!node->listed)
		return;
	if (node->newer)
		node->newer->older = node->older;
	else
		lru->newest = node->older;
	if (node->older)
		node->older->newer = node->newer;
	else
		lru->oldest = node->newer;
	*node = (struct staging_lru_node){ NULL, NULL, false };
	lru->count--;
}

struct staging_lru_node *staging_lru_take_oldest(struct staging_lru *lru)
{
	struct staging_lru_node *node = lru->oldest;
	if (node)
		staging_lru_remove(lru, node);
	return node;
}
