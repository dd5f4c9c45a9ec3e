#include "backend/cas/xorb_fetch.h"

#include "backend/xet/merkle_hash.h"
#include "backend/xet/xorb_reader.h"
#include "common/file_io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A fetch under way. Terms are visited through plan->by_fetch, where they are ordered by their first chunk. */
struct fetch_state {
	const struct xorb_fetch *job;
	const uint32_t *terms;    /* indices of the fetch's terms */
	uint32_t first_open_term; /* terms before this one have all their chunks */
	uint64_t *term_bytes;     /* bytes delivered so far, for each of the fetch's terms */
	uint64_t counted_bytes;   /* told to progress by this try */
};

static const struct reconstruction_term *term_at(const struct fetch_state *state, uint32_t place)
{
	return &state->job->plan->terms[state->terms[place]];
}

/* The next place after `from` whose term holds `chunk`; term_count when there is none. */
static uint32_t next_use(const struct fetch_state *state, uint32_t from, uint32_t chunk)
{
	uint32_t count = state->job->fetch->term_count;
	for (uint32_t place = from; place < count && term_at(state, place)->chunk_start <= chunk; place++)
		if (chunk < term_at(state, place)->chunk_end)
			return place;
	return count;
}

/* Where the next chunk of a term begins in the asked range. */
static int64_t use_position(const struct fetch_state *state, uint32_t place)
{
	return state->job->plan_start + (int64_t)(term_at(state, place)->plan_offset + state->term_bytes[place]);
}

static bool fits_whole(const struct fetch_target *target, int64_t position, uint32_t raw_bytes)
{
	return position >= 0 && (uint64_t)position + raw_bytes <= target->length_bytes;
}

static enum xorb_chunk_wish want_chunk(void *context, uint32_t index, uint32_t raw_bytes, uint8_t **ret_place)
{
	struct fetch_state *state = context;
	const struct xorb_fetch *job = state->job;
	uint32_t place = next_use(state, state->first_open_term, job->fetch->chunk_start + index);
	if (place == job->fetch->term_count)
		return XORB_CHUNK_SKIP;
	int64_t position = use_position(state, place);
	/* A chunk longer than its term leaves room for is refused by take_chunk: keep it off its neighbours. */
	if (!job->target->memory || !fits_whole(job->target, position, raw_bytes) ||
	    state->term_bytes[place] + raw_bytes > term_at(state, place)->raw_bytes)
		return XORB_CHUNK_LEND;
	*ret_place = job->target->memory + position;
	return XORB_CHUNK_HERE;
}

/* Puts the part of a chunk that lies inside the asked range where it belongs. */
static enum hfkv_status deliver(const struct fetch_target *target, const uint8_t *bytes, uint32_t raw_bytes,
				int64_t position, struct fault *fault)
{
	uint64_t skip = position < 0 ? (uint64_t)-position : 0;
	if (skip >= raw_bytes || position + (int64_t)skip >= (int64_t)target->length_bytes)
		return HFKV_OK;
	uint64_t start = (uint64_t)(position + (int64_t)skip), length = raw_bytes - skip;
	if (length > target->length_bytes - start)
		length = target->length_bytes - start;
	if (!target->memory)
		return file_io_write_at(target->fd, bytes + skip, length, target->fd_offset + start)
			   ? HFKV_OK
			   : fault_set_errno(fault, errno, "writing %" PRIu64 " bytes of the file", length);
	if (target->memory + start != bytes + skip)
		memcpy(target->memory + start, bytes + skip, length);
	return HFKV_OK;
}

/* One use of a chunk: its bytes delivered, its term's length checked. */
static enum hfkv_status serve_use(struct fetch_state *state, uint32_t place, uint32_t chunk, const uint8_t *bytes,
				  uint32_t raw_bytes, struct fault *fault)
{
	const struct reconstruction_term *term = term_at(state, place);
	uint64_t done = state->term_bytes[place] + raw_bytes;
	if (done > term->raw_bytes || (chunk + 1 == term->chunk_end && done != term->raw_bytes))
		return fault_set(fault, HFKV_CORRUPT, "xorb: chunks %u to %u do not have the %u bytes announced",
				 term->chunk_start, term->chunk_end, term->raw_bytes);
	enum hfkv_status status = deliver(state->job->target, bytes, raw_bytes, use_position(state, place), fault);
	state->term_bytes[place] = done;
	return status;
}

static enum hfkv_status take_chunk(void *context, uint32_t index, const uint8_t *bytes, uint32_t raw_bytes,
				   struct fault *fault)
{
	struct fetch_state *state = context;
	const struct xorb_fetch *job = state->job;
	uint32_t chunk = job->fetch->chunk_start + index, count = job->fetch->term_count;
	if (job->proofs) {
		merkle_hash_xet_chunk(bytes, raw_bytes, &job->proofs[index].hash);
		job->proofs[index].raw_bytes = raw_bytes;
	}
	for (uint32_t place = next_use(state, state->first_open_term, chunk); place < count;
	     place = next_use(state, place + 1, chunk)) {
		enum hfkv_status status = serve_use(state, place, chunk, bytes, raw_bytes, fault);
		if (status != HFKV_OK)
			return status;
		state->counted_bytes += raw_bytes;
		if (!transfer_progress_add(job->progress, raw_bytes))
			return fault_set(fault, HFKV_CANCELLED, "the download was cancelled");
	}
	while (state->first_open_term < count && term_at(state, state->first_open_term)->chunk_end <= chunk + 1)
		state->first_open_term++;
	return HFKV_OK;
}

static enum hfkv_status decode_stream(struct fetch_state *state, struct http_stream *stream,
				      struct xorb_reader *reader, struct fault *fault)
{
	const struct reconstruction_fetch *fetch = state->job->fetch;
	for (;;) {
		const uint8_t *bytes;
		size_t length;
		enum hfkv_status status = http_stream_next(stream, &bytes, &length, fault);
		if (status != HFKV_OK)
			return status;
		if (length == 0)
			break;
		status = xorb_reader_feed(reader, bytes, length, fault);
		if (status != HFKV_OK)
			return status;
		/* Checked here, not at the end, so that no chunk beyond the plan is looked at. */
		if (xorb_reader_chunk_count(reader) > fetch->chunk_end - fetch->chunk_start)
			break;
	}
	enum hfkv_status status = xorb_reader_finish(reader, fault);
	if (status != HFKV_OK)
		return status;
	if (xorb_reader_chunk_count(reader) != fetch->chunk_end - fetch->chunk_start)
		return fault_set(fault, HFKV_CORRUPT, "xorb: the range holds %u chunks, %u were announced",
				 xorb_reader_chunk_count(reader), fetch->chunk_end - fetch->chunk_start);
	return HFKV_OK;
}

static const struct xorb_reader_calls reader_calls = { .want = want_chunk, .take = take_chunk };

enum hfkv_status xorb_fetch_try(const struct xorb_fetch *fetch, struct fault *fault)
{
	CLEANUP(free_pointer) uint64_t *term_bytes = calloc(fetch->fetch->term_count, sizeof(*term_bytes));
	CLEANUP(xorb_reader_freep) struct xorb_reader *reader = NULL;
	CLEANUP(http_stream_closep) struct http_stream *stream = NULL;
	struct fetch_state state = {
		.job = fetch,
		.terms = fetch->plan->by_fetch + fetch->fetch->first_term,
		.term_bytes = term_bytes,
	};
	if (!term_bytes)
		return fault_set(fault, HFKV_NO_MEMORY, "download: no memory");
	enum hfkv_status status = xorb_reader_new(&reader_calls, &state, &reader, fault);
	if (status == HFKV_OK)
		status = cas_open_fetch(fetch->client, fetch->fetch, fetch->call, &stream, fault);
	if (status == HFKV_OK)
		status = decode_stream(&state, stream, reader, fault);
	if (status != HFKV_OK) {
		char text[CONTENT_HASH_TEXT_BYTES];
		content_hash_format(&fetch->fetch->xorb, text);
		if (status == HFKV_CORRUPT)
			fault_add_context(fault, "xorb %.16s", text);
		transfer_progress_undo(fetch->progress, state.counted_bytes);
	}
	return status;
}
