/*
 * Received bytes on their way from the loop to a stream's owner: fixed-size blocks, counted and reused.
 *
 * Any thread. Blocks are large so that a reader handles a decoder whole pieces; only touched pages cost memory.
 */
#ifndef BACKEND_HTTP_HTTP_BLOCK_POOL_H
#define BACKEND_HTTP_HTTP_BLOCK_POOL_H

#include "backend/http/http_client.h"

#include <pthread.h>

struct http_block {
	struct http_block *next;
	size_t length;
	uint8_t bytes[HTTP_BLOCK_BYTES];
};

struct http_block_pool {
	pthread_mutex_t mutex;
	struct http_block *spare; /* at most HTTP_SPARE_BLOCKS */
	size_t n_spare, n_used, max_used;
};

void http_block_pool_init(struct http_block_pool *pool, size_t max_used);
/* No block is in use any more. */
void http_block_pool_done(struct http_block_pool *pool);

/* An empty block. With must_have the maximum is passed over, so that every stream can move. *ret_full tells a full
 * pool from missing memory when NULL comes back. */
struct http_block *http_block_get(struct http_block_pool *pool, bool must_have, bool *ret_full);
/* NULL is fine. */
void http_block_put(struct http_block_pool *pool, struct http_block *block);

#endif
