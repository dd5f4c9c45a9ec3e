#include "common/work_pool.h"

#include "common/clock.h"

#include <stdio.h>

#define DEFAULT_STACK_BYTES (256 * 1024)

struct work_pool {
	pthread_mutex_t mutex;
	pthread_cond_t work_arrived; /* for idle threads */
	pthread_cond_t thread_ended; /* for work_pool_free */
	struct work_item *first, *last;
	size_t queued, threads, idle;
	bool stopping;
	struct work_pool_settings settings;
	char name[10];
};

enum hfkv_status work_pool_new(const struct work_pool_settings *settings, struct work_pool **ret_pool)
{
	struct work_pool *pool = calloc(1, sizeof(*pool));
	if (!pool)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&pool->mutex, NULL);
	condition_init(&pool->work_arrived);
	condition_init(&pool->thread_ended);
	pool->settings = *settings;
	snprintf(pool->name, sizeof(pool->name), "%s", settings->name);
	pool->settings.name = pool->name;
	*ret_pool = pool;
	return HFKV_OK;
}

/* Lock held. NULL when there is nothing to do: idle too long, or stopping. */
static struct work_item *take_next(struct work_pool *pool)
{
	struct deadline idle_end = deadline_after_ms(pool->settings.idle_ms);
	pool->idle++;
	while (!pool->first && !pool->stopping)
		if (!deadline_wait(&pool->work_arrived, &pool->mutex, idle_end))
			break;
	pool->idle--;
	struct work_item *item = pool->first;
	if (item) {
		pool->first = item->next;
		if (!pool->first)
			pool->last = NULL;
		pool->queued--;
	}
	return item;
}

static void *thread_main(void *argument)
{
	struct work_pool *pool = argument;
	pthread_setname_np(pthread_self(), pool->name);
	pthread_mutex_lock(&pool->mutex);
	struct work_item *item;
	while ((item = take_next(pool))) {
		pthread_mutex_unlock(&pool->mutex);
		item->run(item);
		pthread_mutex_lock(&pool->mutex);
	}
	pool->threads--;
	pthread_cond_signal(&pool->thread_ended);
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

/* Lock held. A failure to start one matters only when there is no thread at all. */
static bool start_thread(struct work_pool *pool)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	size_t stack_bytes = pool->settings.stack_bytes ? pool->settings.stack_bytes : DEFAULT_STACK_BYTES;
	pthread_attr_setstacksize(&attributes, stack_bytes);
	pthread_t thread;
	bool started = pthread_create(&thread, &attributes, thread_main, pool) == 0;
	pthread_attr_destroy(&attributes);
	if (started)
		pool->threads++;
	return started;
}

enum hfkv_status work_pool_submit(struct work_pool *pool, struct work_item *item)
{
	SCOPED_LOCK(&pool->mutex);
	if (pool->stopping)
		return HFKV_CANCELLED;
	if (pool->queued >= pool->settings.max_queued)
		return HFKV_BUSY;
	/* An idle thread that was already promised a queued item does not count. */
	bool needs_thread = pool->idle <= pool->queued && pool->threads < pool->settings.max_threads;
	if (needs_thread && !start_thread(pool) && pool->threads == 0)
		return HFKV_NO_MEMORY;
	item->next = NULL;
	if (pool->last)
		pool->last->next = item;
	else
		pool->first = item;
	pool->last = item;
	pool->queued++;
	pthread_cond_signal(&pool->work_arrived);
	return HFKV_OK;
}

void work_pool_free(struct work_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->stopping = true;
	struct work_item *waiting = pool->first;
	pool->first = pool->last = NULL;
	pool->queued = 0;
	pthread_cond_broadcast(&pool->work_arrived);
	while (pool->threads > 0)
		pthread_cond_wait(&pool->thread_ended, &pool->mutex);
	pthread_mutex_unlock(&pool->mutex);
	while (waiting) {
		struct work_item *next = waiting->next;
		waiting->cancel(waiting);
		waiting = next;
	}
	pthread_mutex_destroy(&pool->mutex);
	pthread_cond_destroy(&pool->work_arrived);
	pthread_cond_destroy(&pool->thread_ended);
	free(pool);
}
