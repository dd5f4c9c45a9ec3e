#include "backend/cas/session_files.h"

#include "backend/xet/merkle_hash.h"
#include "backend/xet/shard_writer.h"

#include <stdlib.h>

/* A term's length is a u32 in a shard, and must not pass what a xorb can hold. */
#define RUN_MAX_BYTES XORB_ACCEPTED_RAW_BYTES

void session_file_done(struct session_file *file)
{
	free(file->runs);
	*file = (struct session_file){ 0 };
}

enum hfkv_status session_file_add(struct session_file *file, struct chunk_place place, uint32_t raw_bytes,
				  struct fault *fault)
{
	struct file_run *last = file->run_count > 0 ? &file->runs[file->run_count - 1] : NULL;
	if (last && last->xorb == place.xorb && last->chunk_end == place.index &&
	    last->raw_bytes <= RUN_MAX_BYTES - raw_bytes) {
		last->chunk_end++;
		last->raw_bytes += raw_bytes;
		return HFKV_OK;
	}
	if (file->run_count == file->run_capacity) {
		size_t capacity = file->run_capacity ? 2 * file->run_capacity : 2;
		struct file_run *runs = realloc(file->runs, capacity * sizeof(*runs));
		if (!runs)
			return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
		file->runs = runs;
		file->run_capacity = capacity;
	}
	file->runs[file->run_count++] = (struct file_run){ place.xorb, place.index, place.index + 1, raw_bytes };
	return HFKV_OK;
}

/* ---- shards ---- */

/* A shard being made, and sent when it is full. */
struct shard_stage {
	const struct session_xorbs *xorbs;
	struct shard_writer *writer;
	bool is_empty;
};

static void stage_done(struct shard_stage *stage)
{
	shard_writer_free(stage->writer);
}

/* Sends the shard as far as it is, and begins the next. */
static enum hfkv_status send_stage(struct shard_stage *stage, struct fault *fault)
{
	CLEANUP(byte_buf_done) struct byte_buf shard = BYTE_BUF_INIT(SHARD_MAX_BYTES);
	enum hfkv_status status = shard_writer_finish(stage->writer, &shard, fault);
	if (status == HFKV_OK)
		status = cas_put_shard(stage->xorbs->client, shard.data, shard.length, stage->xorbs->call, fault);
	if (status != HFKV_OK)
		return status;
	shard_writer_free(TAKE_PTR(stage->writer));
	stage->is_empty = true;
	return shard_writer_new(&stage->writer, fault);
}

static enum hfkv_status add_xorb(struct shard_stage *stage, const struct xorb_listing *listing,
				 struct fault *fault)
{
	enum hfkv_status status = shard_writer_add_xorb(stage->writer, listing, fault);
	if (status == HFKV_OVERSIZE && !stage->is_empty) {
		status = send_stage(stage, fault);
		if (status == HFKV_OK)
			status = shard_writer_add_xorb(stage->writer, listing, fault);
	}
	stage->is_empty = false;
	return status;
}

static void make_term(const struct session_xorbs *xorbs, const struct file_run *run, struct shard_term *ret_term)
{
	const struct xorb_listing *listing = &xorbs->list[run->xorb]->listing;
	struct range_hash range;
	range_hash_init(&range);
	for (uint32_t chunk = run->chunk_start; chunk < run->chunk_end; chunk++)
		range_hash_add(&range, &listing->chunks[chunk].hash);
	range_hash_finish(&range, &ret_term->range_hash);
	ret_term->xorb = listing->hash;
	ret_term->raw_bytes = run->raw_bytes;
	ret_term->chunk_start = run->chunk_start;
	ret_term->chunk_end = run->chunk_end;
}

static enum hfkv_status add_file(struct shard_stage *stage, const struct session_file *file, struct fault *fault)
{
	CLEANUP(free_pointer) struct shard_term *terms = calloc(file->run_count + 1, sizeof(*terms));
	if (!terms)
		return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	for (size_t i = 0; i < file->run_count; i++)
		make_term(stage->xorbs, &file->runs[i], &terms[i]);
	enum hfkv_status status = shard_writer_add_file(stage->writer, &file->hash, terms, file->run_count, fault);
	if (status == HFKV_OVERSIZE && !stage->is_empty) {
		status = send_stage(stage, fault);
		if (status == HFKV_OK)
			status = shard_writer_add_file(stage->writer, &file->hash, terms, file->run_count, fault);
	}
	stage->is_empty = false;
	return status;
}

static int compare_files(const void *left, const void *right)
{
	return content_hash_compare(&(*(struct session_file *const *)left)->hash,
				    &(*(struct session_file *const *)right)->hash);
}

static enum hfkv_status fill_stage(struct shard_stage *stage, struct session_file **sorted, size_t count,
				   struct fault *fault)
{
	enum hfkv_status status = HFKV_OK;
	for (uint32_t i = 0; i < stage->xorbs->count && status == HFKV_OK; i++)
		status = add_xorb(stage, &stage->xorbs->list[i]->listing, fault);
	for (size_t i = 0; i < count && status == HFKV_OK; i++)
		if (i == 0 || !content_hash_equal(&sorted[i]->hash, &sorted[i - 1]->hash))
			status = add_file(stage, sorted[i], fault);
	return status;
}

enum hfkv_status session_files_register(struct session_file *const *files, size_t count,
					const struct session_xorbs *xorbs, struct fault *fault)
{
	CLEANUP(free_pointer) struct session_file **sorted = calloc(count + 1, sizeof(struct session_file *));
	CLEANUP(stage_done) struct shard_stage stage = { .xorbs = xorbs, .is_empty = true };
	size_t sorted_count = 0;
	if (!sorted)
		return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	for (size_t i = 0; i < count; i++)
		if (files[i])
			sorted[sorted_count++] = files[i];
	if (sorted_count == 0)
		return HFKV_OK;
	qsort(sorted, sorted_count, sizeof(struct session_file *), compare_files);
	enum hfkv_status status = shard_writer_new(&stage.writer, fault);
	if (status == HFKV_OK)
		status = fill_stage(&stage, sorted, sorted_count, fault);
	if (status == HFKV_OK && !stage.is_empty)
		status = send_stage(&stage, fault);
	return status;
}
