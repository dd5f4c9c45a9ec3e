#include "fuse/range_reader.h"

#include <string.h>

#define FIRST_WINDOW_BYTES (1024 * 1024) /* of a random read; doubled while reading goes on from where it ended */
#define WINDOWS            2             /* the kernel's read-ahead may ask for neighbours out of order */

struct window {
	uint64_t offset;
	uint64_t length; /* 0: nothing in it */
	uint8_t *bytes;  /* of RANGE_WINDOW_BYTES */
};

struct range_reader {
	pthread_mutex_t mutex; /* held during a fetch: readers of one handle wait for the same bytes */
	struct kv_cache *cache;
	struct object_info object;
	struct window windows[WINDOWS];
	unsigned newest;
	uint64_t next_bytes;   /* how much the next fetch takes */
	uint64_t expected_at;  /* where the last fetch ended */
};

struct range_reader *range_reader_new(struct kv_cache *cache, const struct object_info *object)
{
	struct range_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	pthread_mutex_init(&reader->mutex, NULL);
	reader->cache = cache;
	reader->object = *object;
	reader->next_bytes = FIRST_WINDOW_BYTES;
	return reader;
}

void range_reader_free(struct range_reader *reader)
{
	if (!reader)
		return;
	for (unsigned i = 0; i < WINDOWS; i++)
		free(reader->windows[i].bytes);
	pthread_mutex_destroy(&reader->mutex);
	free(reader);
}

static const struct window *window_at(const struct range_reader *reader, uint64_t offset)
{
	for (unsigned i = 0; i < WINDOWS; i++) {
		const struct window *window = &reader->windows[i];
		if (offset >= window->offset && offset - window->offset < window->length)
			return window;
	}
	return NULL;
}

/* The mutex is held. */
static enum hfkv_status fetch(struct range_reader *reader, uint64_t offset, struct deadline deadline,
			      struct fault *fault)
{
	bool goes_forward = offset == reader->expected_at;
	reader->next_bytes = goes_forward ? reader->next_bytes * 2 : FIRST_WINDOW_BYTES;
	if (reader->next_bytes > RANGE_WINDOW_BYTES)
		reader->next_bytes = RANGE_WINDOW_BYTES;
	reader->newest = (reader->newest + 1) % WINDOWS;
	struct window *window = &reader->windows[reader->newest];
	window->length = 0;
	if (!window->bytes)
		window->bytes = malloc(RANGE_WINDOW_BYTES);
	if (!window->bytes)
		return HFKV_NO_MEMORY;
	uint64_t wanted = reader->object.size_bytes - offset, got = 0;
	if (wanted > reader->next_bytes)
		wanted = reader->next_bytes;
	enum hfkv_status status = kv_cache_read_range(reader->cache, &reader->object, offset, wanted, window->bytes,
						      &got, deadline, fault);
	if (status != HFKV_OK)
		return status;
	if (got < wanted)
		return fault_set(fault, HFKV_CORRUPT, "%llu bytes came where %llu were asked",
				 (unsigned long long)got, (unsigned long long)wanted);
	window->offset = offset;
	window->length = got;
	reader->expected_at = offset + got;
	return HFKV_OK;
}

enum hfkv_status range_reader_read(struct range_reader *reader, uint64_t offset, size_t length, void *into,
				   size_t *ret_bytes, struct deadline deadline, struct fault *fault)
{
	size_t done = 0;
	SCOPED_LOCK(&reader->mutex);
	while (done < length && offset + done < reader->object.size_bytes) {
		uint64_t at = offset + done;
		const struct window *window = window_at(reader, at);
		if (!window) {
			enum hfkv_status status = fetch(reader, at, deadline, fault);
			if (status != HFKV_OK)
				return status;
			continue;
		}
		size_t bytes = (size_t)(window->offset + window->length - at);
		if (bytes > length - done)
			bytes = length - done;
		memcpy((char *)into + done, window->bytes + (at - window->offset), bytes);
		done += bytes;
	}
	*ret_bytes = done;
	return HFKV_OK;
}
