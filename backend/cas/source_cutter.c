#include "backend/cas/source_cutter.h"

#include "backend/xet/xet_limits.h"
#include "common/file_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Large against a chunk, small against the second-level cache. */
#define WINDOW_BYTES (4 * XET_CHUNK_MAX_BYTES)

void source_cutter_done(struct source_cutter *cutter)
{
	free(cutter->window);
	cutter->window = NULL;
}

void source_cutter_begin(struct source_cutter *cutter, const struct upload_source *source)
{
	*cutter = (struct source_cutter){ .source = source, .window = cutter->window };
}

enum hfkv_status upload_source_read(const struct upload_source *source, uint64_t offset, void *buffer,
				    size_t length, struct fault *fault)
{
	if (source->memory) {
		memcpy(buffer, source->memory + offset, length);
		return HFKV_OK;
	}
	int64_t got = file_io_read_at(source->fd, buffer, length, offset);
	if (got < 0)
		return fault_set_errno(fault, errno, "reading '%s'", source->name);
	if ((uint64_t)got < length)
		return fault_set(fault, HFKV_CHANGED, "'%s' became shorter while it was uploaded", source->name);
	return HFKV_OK;
}

/* More bytes of the file behind the open chunk. There is something left to read. */
static enum hfkv_status fill_window(struct source_cutter *cutter, struct fault *fault)
{
	size_t open = cutter->filled - cutter->start;
	uint64_t offset = cutter->chunk_offset + open, left = cutter->source->size_bytes - offset;
	if (!cutter->window)
		cutter->window = malloc(WINDOW_BYTES);
	if (!cutter->window)
		return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	memmove(cutter->window, cutter->window + cutter->start, open);
	cutter->scanned -= cutter->start;
	cutter->start = 0;
	size_t wanted = left < WINDOW_BYTES - open ? (size_t)left : WINDOW_BYTES - open;
	enum hfkv_status status = upload_source_read(cutter->source, offset, cutter->window + open, wanted, fault);
	cutter->filled = status == HFKV_OK ? open + wanted : open;
	return status;
}

static void emit(struct source_cutter *cutter, const uint8_t *bytes, size_t length, struct cut_chunk *ret_chunk)
{
	*ret_chunk = (struct cut_chunk){ .bytes = bytes, .raw_bytes = (uint32_t)length, .offset = cutter->chunk_offset };
	cutter->chunk_offset += length;
}

/* Where a chunk ends depends on its own bytes alone: the bytes of the last chunk once more are cut like it. A chunk that
 * only the end of the source ended has nothing behind it. */
static bool last_chunk_again(const struct source_cutter *cutter, const uint8_t *start, uint64_t left)
{
	size_t length = cutter->last_length;
	return length > 0 && left >= length && memcmp(start, start - length, length) == 0;
}

static void cut_memory(struct source_cutter *cutter, struct cut_chunk *ret_chunk)
{
	const uint8_t *start = cutter->source->memory + cutter->chunk_offset;
	uint64_t left = cutter->source->size_bytes - cutter->chunk_offset;
	bool cut, repeats = last_chunk_again(cutter, start, left);
	if (!repeats)
		cutter->last_length = xet_chunker_next(&cutter->chunker, start, left, &cut);
	emit(cutter, start, cutter->last_length, ret_chunk);
	ret_chunk->repeats = repeats;
}

static enum hfkv_status cut_file(struct source_cutter *cutter, struct cut_chunk *ret_chunk, struct fault *fault)
{
	for (;;) {
		bool cut = false;
		cutter->scanned += xet_chunker_next(&cutter->chunker, cutter->window + cutter->scanned,
						    cutter->filled - cutter->scanned, &cut);
		size_t length = cutter->scanned - cutter->start;
		if (cut || cutter->chunk_offset + length == cutter->source->size_bytes) {
			emit(cutter, cutter->window + cutter->start, length, ret_chunk);
			cutter->start = cutter->scanned;
			return HFKV_OK;
		}
		enum hfkv_status status = fill_window(cutter, fault);
		if (status != HFKV_OK)
			return status;
	}
}

enum hfkv_status source_cutter_next(struct source_cutter *cutter, struct cut_chunk *ret_chunk, bool *ret_more,
				    struct fault *fault)
{
	*ret_more = cutter->chunk_offset < cutter->source->size_bytes;
	if (!*ret_more)
		return HFKV_OK;
	if (!cutter->source->memory)
		return cut_file(cutter, ret_chunk, fault);
	cut_memory(cutter, ret_chunk);
	return HFKV_OK;
}
