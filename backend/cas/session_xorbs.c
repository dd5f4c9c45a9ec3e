#include "backend/cas/session_xorbs.h"

#include <stdlib.h>

/* Xorbs under way at once: enough to keep a connection busy while the next is hashed and the last is verified. */
#define IN_FLIGHT_MAX 4

/* Packed chunks held in memory, in all bodies together (raw ones are read from their sources again). A xorb is
 * closed at half of it, so that one can be on its way while the next is filled. */
#define PACKED_MAX_BYTES (UINT64_C(48) * 1024 * 1024)

enum hfkv_status session_xorbs_init(struct session_xorbs *xorbs, struct cas_client *client,
				    const struct cas_call *call, const struct upload_source *sources,
				    struct transfer_progress *progress, struct fault *fault)
{
	*xorbs = (struct session_xorbs){
		.client = client,
		.call = call,
		.sources = sources,
		.progress = progress,
	};
	return xorb_writer_new(&xorbs->writer, fault);
}

static void xorb_free(struct session_xorb *xorb)
{
	if (!xorb)
		return;
	cas_xorb_put_free(xorb->put);
	xorb_body_done(&xorb->body);
	xorb_listing_done(&xorb->listing);
	free(xorb);
}

void session_xorbs_done(struct session_xorbs *xorbs)
{
	for (uint32_t i = 0; i < xorbs->count; i++)
		xorb_free(xorbs->list[i]);
	free(xorbs->list);
	xorb_writer_free(xorbs->writer);
	*xorbs = (struct session_xorbs){ 0 };
}

static bool has_open(const struct session_xorbs *xorbs)
{
	return xorb_writer_chunk_count(xorbs->writer) > 0;
}

uint32_t session_xorbs_open_bytes(const struct session_xorbs *xorbs)
{
	return xorb_writer_raw_bytes(xorbs->writer);
}

static uint64_t open_packed_bytes(const struct session_xorbs *xorbs)
{
	return has_open(xorbs) ? xorbs->list[xorbs->count - 1]->body.packed_bytes : 0;
}

/* Blames a source where one is to blame: the body could not be read, or no longer has its hash. */
static enum hfkv_status explain_failure(struct session_xorbs *xorbs, struct session_xorb *xorb,
					enum hfkv_status status, struct fault *fault)
{
	if (transfer_progress_is_cancelled(xorbs->progress))
		return fault_set(fault, HFKV_CANCELLED, "the upload was cancelled");
	if (status == HFKV_IO && xorb->body.read_status != HFKV_OK) {
		xorbs->is_source_failure = true;
		xorbs->failed_source = xorb->body.failed_source;
		*fault = xorb->body.read_fault;
		return xorb->body.read_status;
	}
	if (status == HFKV_CORRUPT && fault->http_status == 400) {
		struct fault own = FAULT_NONE;
		enum hfkv_status checked =
		    xorb_body_check_sources(&xorb->body, &xorb->listing, &xorbs->failed_source, &own);
		if (checked != HFKV_OK) {
			xorbs->is_source_failure = true;
			*fault = own;
			return checked;
		}
	}
	return status;
}

/* Waits for the oldest xorb under way. */
static enum hfkv_status wait_oldest(struct session_xorbs *xorbs, struct fault *fault)
{
	struct session_xorb *xorb = xorbs->list[xorbs->first_unsent];
	struct fault own = FAULT_NONE;
	enum hfkv_status status = cas_xorb_put_wait(xorb->put, &own);
	cas_xorb_put_free(TAKE_PTR(xorb->put));
	xorbs->in_flight--;
	if (status != HFKV_OK) {
		status = explain_failure(xorbs, xorb, status, &own);
		if (fault)
			*fault = own;
		return status;
	}
	xorbs->first_unsent++;
	xorbs->packed_bytes -= xorb->body.packed_bytes;
	xorb_body_done(&xorb->body);
	return HFKV_OK;
}

static enum hfkv_status open_xorb(struct session_xorbs *xorbs, struct fault *fault)
{
	if (xorbs->count == xorbs->capacity) {
		uint32_t capacity = xorbs->capacity ? 2 * xorbs->capacity : 8;
		struct session_xorb **list = realloc(xorbs->list, capacity * sizeof(struct session_xorb *));
		if (!list)
			return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
		xorbs->list = list;
		xorbs->capacity = capacity;
	}
	struct session_xorb *xorb = calloc(1, sizeof(*xorb));
	if (!xorb)
		return fault_set(fault, HFKV_NO_MEMORY, "upload: no memory");
	xorb->body.sources = xorbs->sources;
	xorb->body.progress = xorbs->progress;
	xorbs->list[xorbs->count++] = xorb;
	return HFKV_OK;
}

enum hfkv_status session_xorbs_close(struct session_xorbs *xorbs, struct fault *fault)
{
	if (!has_open(xorbs))
		return HFKV_OK;
	while (xorbs->in_flight >= IN_FLIGHT_MAX) {
		enum hfkv_status status = wait_oldest(xorbs, fault);
		if (status != HFKV_OK)
			return status;
	}
	struct session_xorb *xorb = xorbs->list[xorbs->count - 1];
	xorb_writer_finish(xorbs->writer, &xorb->listing);
	struct http_body body = xorb_body_for_http(&xorb->body);
	enum hfkv_status status =
	    cas_xorb_put_start(xorbs->client, &xorb->listing.hash, &body, xorbs->call, &xorb->put, fault);
	if (status == HFKV_OK)
		xorbs->in_flight++;
	return status;
}

/* Makes room for `bytes` more of packed chunks: by waiting, and when nothing is under way by sending what there
 * is. */
static enum hfkv_status limit_packed(struct session_xorbs *xorbs, uint32_t bytes, struct fault *fault)
{
	while (xorbs->packed_bytes + bytes > PACKED_MAX_BYTES) {
		enum hfkv_status status = HFKV_OK;
		if (xorbs->in_flight == 0)
			status = session_xorbs_close(xorbs, fault);
		if (status == HFKV_OK)
			status = wait_oldest(xorbs, fault);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

enum hfkv_status session_xorbs_add(struct session_xorbs *xorbs, struct chunk_packer *packer,
				   const struct new_chunk *chunk, struct chunk_place *ret_place,
				   struct fault *fault)
{
	struct xorb_record record;
	const uint8_t *payload;
	enum hfkv_status status = HFKV_OK;
	chunk_packer_pack(packer, chunk->cut.bytes, chunk->cut.raw_bytes, &record, &payload);
	uint32_t kept_bytes = payload ? record.payload_bytes : 0;
	if (!xorb_writer_fits(xorbs->writer, chunk->cut.raw_bytes) ||
	    open_packed_bytes(xorbs) >= PACKED_MAX_BYTES / 2)
		status = session_xorbs_close(xorbs, fault);
	if (status == HFKV_OK)
		status = limit_packed(xorbs, kept_bytes, fault);
	if (status == HFKV_OK && !has_open(xorbs))
		status = open_xorb(xorbs, fault);
	if (status != HFKV_OK)
		return status;
	struct session_xorb *xorb = xorbs->list[xorbs->count - 1];
	status = xorb_body_add(&xorb->body, &record, chunk->source, chunk->cut.offset, payload, fault);
	if (status != HFKV_OK)
		return status;
	xorbs->packed_bytes += kept_bytes;
	ret_place->xorb = xorbs->count - 1;
	return xorb_writer_add(xorbs->writer, &chunk->hash, &record, &ret_place->index, fault);
}

enum hfkv_status session_xorbs_wait_all(struct session_xorbs *xorbs, struct fault *fault)
{
	while (xorbs->in_flight > 0) {
		enum hfkv_status status = wait_oldest(xorbs, fault);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}
