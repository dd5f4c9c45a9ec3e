#include "backend/cas/xet_upload_session.h"

#include "backend/cas/session_files.h"
#include "backend/xet/merkle_hash.h"

#include <stdlib.h>

/* A batch this large is spread over several xorbs, so that they are hashed, sent and verified side by side. */
#define SPREAD_FROM_BYTES (UINT64_C(48) * 1024 * 1024)
#define SPREAD_XORBS      3
#define XORB_ROOM_BYTES   (UINT64_C(63) * 1024 * 1024) /* what a xorb holds, its headers and an odd chunk aside */

/* Times that a batch is begun again without the sources that spoiled it. */
#define ATTEMPTS_MAX 4

/* The whole call. */
struct session {
	struct cas_client *client;
	const struct xet_upload *upload;
	struct cas_call call;
	struct http_cancel own_cancel;
	struct transfer_progress progress;
	struct upload_source *sources; /* one an item */
};

/* One attempt at all items that have not failed. */
struct attempt {
	struct session *session;
	struct session_xorbs xorbs;
	struct chunk_index index;
	struct chunk_packer *packer;
	struct source_cutter cutter;
	struct session_file *files;  /* one an item */
	struct session_file **named; /* the same, NULL for items that have failed */
	uint64_t xorb_target_bytes;  /* a xorb of this size may be closed between two sources */
	uint32_t spoiler;            /* item that made the attempt fail; valid when is_spoiled */
	bool is_spoiled;
};

static void attempt_done(struct attempt *attempt)
{
	session_xorbs_done(&attempt->xorbs);
	chunk_index_done(&attempt->index);
	chunk_packer_free(attempt->packer);
	source_cutter_done(&attempt->cutter);
	for (size_t i = 0; attempt->files && i < attempt->session->upload->item_count; i++)
		session_file_done(&attempt->files[i]);
	free(attempt->files);
	free(attempt->named);
}

/* Whether an item takes part. Its status is OK until it fails. */
static bool takes_part(const struct session *session, size_t item)
{
	return session->upload->items[item].status == HFKV_OK;
}

static uint64_t choose_target(const struct session *session)
{
	uint64_t total = 0;
	for (size_t i = 0; i < session->upload->item_count; i++)
		if (takes_part(session, i))
			total += session->sources[i].size_bytes;
	uint64_t xorbs = (total + XORB_ROOM_BYTES - 1) / XORB_ROOM_BYTES;
	if (total >= SPREAD_FROM_BYTES && xorbs < SPREAD_XORBS)
		xorbs = SPREAD_XORBS;
	return xorbs ? total / xorbs : 0;
}

static enum hfkv_status attempt_init(struct attempt *attempt, struct session *session, struct fault *fault)
{
	size_t count = session->upload->item_count;
	*attempt = (struct attempt){ .session = session, .xorb_target_bytes = choose_target(session) };
	attempt->files = calloc(count, sizeof(*attempt->files));
	attempt->named = calloc(count, sizeof(struct session_file *));
	if (!attempt->files || !attempt->named)
		return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	enum hfkv_status status = chunk_packer_new(&attempt->packer, fault);
	if (status == HFKV_OK)
		status = session_xorbs_init(&attempt->xorbs, session->client, &session->call, session->sources,
					    &session->progress, fault);
	return status;
}

/* Between two sources: close the open xorb when it has its share, or when the next would be torn in two. */
static enum hfkv_status close_between(struct attempt *attempt, uint64_t next_bytes, struct fault *fault)
{
	uint64_t open = session_xorbs_open_bytes(&attempt->xorbs);
	bool has_share = open + next_bytes / 2 >= attempt->xorb_target_bytes;
	bool tears =
	    open + next_bytes > XORB_ROOM_BYTES && next_bytes <= XORB_ROOM_BYTES && open >= XORB_ROOM_BYTES / 4;
	return open > 0 && (has_share || tears) ? session_xorbs_close(&attempt->xorbs, fault) : HFKV_OK;
}

/* Whoever waits may have given up while we only hashed. */
static enum hfkv_status check_time(const struct session *session, struct fault *fault)
{
	if (atomic_load(&session->call.cancel->fired))
		return fault_set(fault, HFKV_CANCELLED, "the upload was cancelled");
	if (deadline_passed(session->call.deadline))
		return fault_set(fault, HFKV_TIMEOUT, "the upload did not end before its deadline");
	return HFKV_OK;
}

/* Finds the chunk in the session, or stores it. */
static enum hfkv_status place_chunk(struct attempt *attempt, const struct new_chunk *chunk,
				    struct chunk_place *ret_place, struct fault *fault)
{
	if (chunk_index_find(&attempt->index, &chunk->hash, ret_place)) {
		if (!transfer_progress_add(&attempt->session->progress, chunk->cut.raw_bytes))
			return fault_set(fault, HFKV_CANCELLED, "the upload was cancelled");
		return HFKV_OK;
	}
	enum hfkv_status status = session_xorbs_add(&attempt->xorbs, attempt->packer, chunk, ret_place, fault);
	if (status == HFKV_OK && !chunk_index_add(&attempt->index, &chunk->hash, *ret_place))
		status = fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	return status;
}

/* First pass over one source: cut, hash, store what is new. */
static enum hfkv_status add_item(struct attempt *attempt, uint32_t item, struct fault *fault)
{
	struct session_file *file = &attempt->files[item];
	struct content_hash hash = { { 0 } };
	struct merkle_root root;
	merkle_root_init(&root);
	source_cutter_begin(&attempt->cutter, &attempt->session->sources[item]);
	chunk_packer_start_source(attempt->packer);
	for (;;) {
		struct new_chunk chunk = { .source = item };
		struct chunk_place place;
		bool more = false;
		enum hfkv_status status = check_time(attempt->session, fault);
		if (status != HFKV_OK)
			return status;
		status = source_cutter_next(&attempt->cutter, &chunk.cut, &more, fault);
		if (status != HFKV_OK) {
			attempt->is_spoiled = status == HFKV_CHANGED || status == HFKV_IO;
			attempt->spoiler = item;
			return status;
		}
		if (!more)
			break;
		if (!chunk.cut.repeats)
			merkle_hash_xet_chunk(chunk.cut.bytes, chunk.cut.raw_bytes, &hash);
		chunk.hash = hash;
		merkle_root_add(&root, &chunk.hash, chunk.cut.raw_bytes);
		status = place_chunk(attempt, &chunk, &place, fault);
		if (status == HFKV_OK)
			status = session_file_add(file, place, chunk.cut.raw_bytes, fault);
		if (status != HFKV_OK)
			return status;
	}
	struct content_hash root_hash;
	merkle_root_finish(&root, &root_hash);
	merkle_hash_file(attempt->session->sources[item].size_bytes > 0 ? &root_hash : NULL, &file->hash);
	attempt->named[item] = file;
	return HFKV_OK;
}

static enum hfkv_status upload_all(struct attempt *attempt, struct fault *fault)
{
	const struct session *session = attempt->session;
	enum hfkv_status status = HFKV_OK;
	for (size_t i = 0; i < session->upload->item_count && status == HFKV_OK; i++) {
		if (!takes_part(session, i))
			continue;
		status = close_between(attempt, session->sources[i].size_bytes, fault);
		if (status == HFKV_OK)
			status = add_item(attempt, (uint32_t)i, fault);
	}
	if (status == HFKV_OK)
		status = session_xorbs_close(&attempt->xorbs, fault);
	if (status == HFKV_OK)
		status = session_xorbs_wait_all(&attempt->xorbs, fault);
	if (status == HFKV_OK)
		status =
		    session_files_register(attempt->named, session->upload->item_count, &attempt->xorbs, fault);
	return status;
}

static void fail_item(struct xet_upload_item *item, enum hfkv_status status, const struct fault *fault)
{
	item->status = status;
	item->fault = *fault;
}

/* OK: the attempt's outcome is final for every item. BUSY: one item spoiled it and has failed; try again
 * without. */
static enum hfkv_status run_attempt(struct session *session)
{
	CLEANUP(attempt_done) struct attempt attempt;
	struct fault fault = FAULT_NONE;
	struct xet_upload_item *items = session->upload->items;
	enum hfkv_status status = attempt_init(&attempt, session, &fault);
	if (status == HFKV_OK)
		status = upload_all(&attempt, &fault);
	if (attempt.xorbs.is_source_failure) {
		attempt.is_spoiled = true;
		attempt.spoiler = attempt.xorbs.failed_source;
	}
	if (status != HFKV_OK && attempt.is_spoiled) {
		transfer_progress_restart(&session->progress);
		fail_item(&items[attempt.spoiler], status, &fault);
		return HFKV_BUSY;
	}
	for (size_t i = 0; i < session->upload->item_count; i++) {
		if (!takes_part(session, i))
			continue;
		if (status == HFKV_OK)
			items[i].hash = attempt.files[i].hash;
		else
			fail_item(&items[i], status, &fault);
	}
	return HFKV_OK;
}

static bool any_takes_part(const struct session *session)
{
	for (size_t i = 0; i < session->upload->item_count; i++)
		if (takes_part(session, i))
			return true;
	return false;
}

/* What spoiled the last attempt is also what the rest is told. */
static void fail_rest(struct session *session)
{
	for (size_t i = 0; i < session->upload->item_count; i++)
		if (takes_part(session, i)) {
			struct fault fault = FAULT_NONE;
			enum hfkv_status status = fault_set(
			    &fault, HFKV_BUSY, "'%s': too many other files of the batch changed during the upload",
			    session->sources[i].name);
			fail_item(&session->upload->items[i], status, &fault);
		}
}

static enum hfkv_status first_failure(const struct xet_upload *upload, struct fault *fault)
{
	for (size_t i = 0; i < upload->item_count; i++)
		if (upload->items[i].status != HFKV_OK) {
			if (fault)
				*fault = upload->items[i].fault;
			return upload->items[i].status;
		}
	return HFKV_OK;
}

static enum hfkv_status session_init(struct session *session, struct cas_client *client,
				     const struct xet_upload *upload, struct fault *fault)
{
	*session = (struct session){ .client = client, .upload = upload, .call = upload->call };
	transfer_progress_init(&session->progress, upload->progress, upload->progress_context);
	if (!session->call.cancel)
		session->call.cancel = &session->own_cancel;
	session->sources = calloc(upload->item_count, sizeof(*session->sources));
	if (!session->sources)
		return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	for (size_t i = 0; i < upload->item_count; i++) {
		struct xet_upload_item *item = &upload->items[i];
		session->sources[i] =
		    (struct upload_source){ item->name, item->memory, item->fd, item->size_bytes };
		item->status = HFKV_OK;
		item->hash = (struct content_hash){ 0 };
		item->fault = FAULT_NONE;
	}
	return HFKV_OK;
}

static void session_done(struct session *session)
{
	transfer_progress_done(&session->progress);
	free(session->sources);
}

enum hfkv_status xet_upload_session_run(struct cas_client *client, const struct xet_upload *upload,
					struct fault *fault)
{
	if (upload->item_count == 0)
		return HFKV_OK;
	CLEANUP(session_done) struct session session;
	enum hfkv_status status = session_init(&session, client, upload, fault);
	if (status != HFKV_OK) {
		for (size_t i = 0; i < upload->item_count; i++)
			upload->items[i].status = status;
		return status;
	}
	for (unsigned attempts = 1; any_takes_part(&session) && run_attempt(&session) == HFKV_BUSY; attempts++)
		if (attempts == ATTEMPTS_MAX) {
			fail_rest(&session);
			break;
		}
	return first_failure(upload, fault);
}
