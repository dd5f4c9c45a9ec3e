#include "src/cli/object_fetch.h"

#include "common/cleanup.h"
#include "src/cli/local_file.h"
#include "src/cli/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Objects under way at once: enough to hide round trips, few enough to keep buffers small. */
#define FETCH_THREADS_MAX 4
#define THREAD_STACK_BYTES ((size_t)256 * 1024)

struct fetch_run {
	struct object_store *store;
	struct object_fetch_list *list;
	struct progress progress;
	atomic_size_t next;
	atomic_bool failed; /* take no further items */
};

enum hfkv_status object_fetch_list_add(struct object_fetch_list *list, const char *path, const char *target,
				       struct fault *fault)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 16;
		struct object_fetch *items = reallocarray(list->items, capacity, sizeof(*items));
		if (!items)
			return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", capacity);
		list->items = items;
		list->capacity = capacity;
	}
	struct object_fetch *item = &list->items[list->count];
	*item = (struct object_fetch){ .path = strdup(path), .target = strdup(target), .fault = FAULT_NONE };
	list->count++;
	if (!item->path || !item->target)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for '%s'", path);
	return HFKV_OK;
}

void object_fetch_list_done(struct object_fetch_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].path);
		free(list->items[i].target);
	}
	free(list->items);
	*list = (struct object_fetch_list){ 0 };
}

/* Running totals of one object become increments of the whole. */
struct item_progress {
	struct progress *whole;
	_Atomic uint64_t reported;
};

static bool report_item(void *context, uint64_t bytes_done)
{
	struct item_progress *item = context;
	uint64_t before = atomic_load(&item->reported);
	while (bytes_done > before && !atomic_compare_exchange_weak(&item->reported, &before, bytes_done))
		;
	if (bytes_done > before)
		progress_add(item->whole, bytes_done - before);
	return true;
}

static enum hfkv_status fetch_one(struct fetch_run *run, struct object_fetch *item)
{
	CLEANUP(local_target_done) struct local_target target = { .fd = -1, .stream_fd = -1 };
	struct item_progress progress = { .whole = &run->progress };
	enum hfkv_status status = local_target_open(item->target, &target, &item->fault);
	if (status != HFKV_OK) /* not found means an object to the caller, never a local directory */
		return status == HFKV_NOT_FOUND ? HFKV_IO : status;
	struct object_sink sink = { .fd = target.fd, .fd_offset = target.offset };
	status = object_store_read_whole(run->store, &item->info, &sink, report_item, &progress, DEADLINE_NONE,
					 &item->fault);
	if (status == HFKV_OK)
		status = local_target_commit(&target, item->info.size_bytes, &item->fault);
	return status;
}

static void *fetch_items(void *argument)
{
	struct fetch_run *run = argument;
	while (!atomic_load(&run->failed)) {
		size_t index = atomic_fetch_add(&run->next, 1);
		if (index >= run->list->count)
			break;
		struct object_fetch *item = &run->list->items[index];
		item->status = fetch_one(run, item);
		if (item->status != HFKV_OK)
			atomic_store(&run->failed, true);
	}
	return NULL;
}

/* The caller's thread works too, so one that cannot be started costs speed only. */
static void run_threads(struct fetch_run *run, size_t wanted)
{
	pthread_t threads[FETCH_THREADS_MAX];
	size_t started = 0;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	while (started + 1 < wanted && pthread_create(&threads[started], &attributes, fetch_items, run) == 0)
		started++;
	pthread_attr_destroy(&attributes);
	fetch_items(run);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static enum hfkv_status first_failure(const struct object_fetch_list *list, struct fault *fault)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct object_fetch *item = &list->items[i];
		if (item->status == HFKV_OK || item->status == HFKV_CANCELLED)
			continue;
		return fault_set(fault, item->status, "cannot fetch '%s': %s", item->path,
				 fault_text(&item->fault, item->status));
	}
	return HFKV_OK;
}

enum hfkv_status object_fetch_many(struct object_store *store, struct object_fetch_list *list, struct fault *fault)
{
	uint64_t total_bytes = 0;
	for (size_t i = 0; i < list->count; i++) {
		total_bytes += list->items[i].info.size_bytes;
		list->items[i].status = HFKV_CANCELLED; /* until its turn comes */
	}
	struct fetch_run run = { .store = store, .list = list };
	progress_begin(&run.progress, "fetching", total_bytes);
	run_threads(&run, list->count < FETCH_THREADS_MAX ? list->count : FETCH_THREADS_MAX);
	progress_end(&run.progress);
	return first_failure(list, fault);
}
