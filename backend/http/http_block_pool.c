#include "backend/http/http_block_pool.h"

#include <stdlib.h>

#define HTTP_SPARE_BLOCKS 8

void http_block_pool_init(struct http_block_pool *pool, size_t max_used)
{
	*pool = (struct http_block_pool){ .max_used = max_used };
	pthread_mutex_init(&pool->mutex, NULL);
}

void http_block_pool_done(struct http_block_pool *pool)
{
	while (pool->spare) {
		struct http_block *block = pool->spare;
		pool->spare = block->next;
		free(block);
	}
	pthread_mutex_destroy(&pool->mutex);
}

struct http_block *http_block_get(struct http_block_pool *pool, bool must_have, bool *ret_full)
{
	struct http_block *block = NULL;
	*ret_full = false;
	{
		SCOPED_LOCK(&pool->mutex);
		if (!must_have && pool->n_used >= pool->max_used) {
			*ret_full = true;
			return NULL;
		}
		pool->n_used++;
		block = pool->spare;
		if (block) {
			pool->spare = block->next;
			pool->n_spare--;
		}
	}
	if (!block)
		block = malloc(sizeof(*block));
	if (block) {
		block->next = NULL;
		block->length = 0;
		return block;
	}
	SCOPED_LOCK(&pool->mutex);
	pool->n_used--;
	return NULL;
}

void http_block_put(struct http_block_pool *pool, struct http_block *block)
{
	if (!block)
		return;
	{
		SCOPED_LOCK(&pool->mutex);
		pool->n_used--;
		if (pool->n_spare < HTTP_SPARE_BLOCKS) {
			block->next = pool->spare;
			pool->spare = block;
			pool->n_spare++;
			return;
		}
	}
	free(block);
}
