/* Reconstruction queries, v1 and v2 (Xet protocol, api). */
#include "backend/local_server/json_writer.h"
#include "backend/local_server/reconstruction_plan.h"
#include "backend/local_server/routes.h"

#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A URL's ranges must fit a request line; more go into another URL of the same xorb. */
#define RANGES_PER_URL 180

struct url_maker {
	struct request *request;
	char origin[REQUEST_ORIGIN_BYTES];
	int64_t expires_at_s;
};

/* "s-e,s-e" of a run of ranges. */
static void write_range_list(const struct plan_range *ranges, uint32_t count, char text[URL_RANGES_BYTES])
{
	size_t length = 0;
	for (uint32_t i = 0; i < count; i++)
		length += (size_t)snprintf(text + length, URL_RANGES_BYTES - length, "%s%" PRIu32 "-%" PRIu32,
					   i ? "," : "", ranges[i].start_byte, ranges[i].end_byte - 1);
}

static void write_url(const struct url_maker *maker, const struct plan_xorb *xorb, const struct plan_range *ranges,
		      uint32_t count, struct json_writer *json)
{
	char list[URL_RANGES_BYTES] = "", hash[CONTENT_HASH_TEXT_BYTES], signature[URL_SIGNATURE_BYTES];
	char url[URL_RANGES_BYTES + REQUEST_ORIGIN_BYTES + 256];
	write_range_list(ranges, count, list);
	content_hash_format(&xorb->listing.hash, hash);
	if (!server_keys_sign_url(maker->request->shared->keys, &xorb->listing.hash, list, maker->expires_at_s,
				  signature))
		json->failed = true; /* cannot happen: RANGES_PER_URL keeps the list short enough */
	snprintf(url, sizeof(url), "%s/data/xorbs/%s?ranges=%s&expires=%" PRId64 "&signature=%s", maker->origin,
		 hash, list, maker->expires_at_s, json->failed ? "" : signature);
	json_write_text_field(json, "url", url);
}

static void write_span(struct json_writer *json, const char *key, uint32_t start, uint32_t end)
{
	json_write_key(json, key);
	json_write_open(json, '{');
	json_write_uint_field(json, "start", start);
	json_write_uint_field(json, "end", end);
	json_write_close(json, '}');
}

static void write_terms(const struct reconstruction_plan *plan, struct json_writer *json)
{
	json_write_uint_field(json, "offset_into_first_range", plan->skip_bytes);
	json_write_key(json, "terms");
	json_write_open(json, '[');
	for (uint32_t i = 0; i < plan->term_count; i++) {
		const struct plan_term *term = &plan->terms[i];
		char hash[CONTENT_HASH_TEXT_BYTES];
		content_hash_format(&term->xorb->listing.hash, hash);
		json_write_open(json, '{');
		json_write_text_field(json, "hash", hash);
		json_write_uint_field(json, "unpacked_length", term->raw_bytes);
		write_span(json, "range", term->first_chunk, term->end_chunk);
		json_write_close(json, '}');
	}
	json_write_close(json, ']');
}

/* v1: one URL for each range. */
static void write_xorb_v1(const struct url_maker *maker, const struct plan_xorb *xorb, struct json_writer *json)
{
	for (uint32_t i = 0; i < xorb->range_count; i++) {
		const struct plan_range *range = &xorb->ranges[i];
		json_write_open(json, '{');
		write_span(json, "range", range->first_chunk, range->end_chunk);
		write_url(maker, xorb, range, 1, json);
		write_span(json, "url_range", range->start_byte, range->end_byte - 1);
		json_write_close(json, '}');
	}
}

/* v2: one URL for many ranges. */
static void write_xorb_v2(const struct url_maker *maker, const struct plan_xorb *xorb, struct json_writer *json)
{
	for (uint32_t first = 0; first < xorb->range_count; first += RANGES_PER_URL) {
		uint32_t count =
		    xorb->range_count - first < RANGES_PER_URL ? xorb->range_count - first : RANGES_PER_URL;
		json_write_open(json, '{');
		write_url(maker, xorb, xorb->ranges + first, count, json);
		json_write_key(json, "ranges");
		json_write_open(json, '[');
		for (uint32_t i = first; i < first + count; i++) {
			const struct plan_range *range = &xorb->ranges[i];
			json_write_open(json, '{');
			write_span(json, "chunks", range->first_chunk, range->end_chunk);
			write_span(json, "bytes", range->start_byte, range->end_byte - 1);
			json_write_close(json, '}');
		}
		json_write_close(json, ']');
		json_write_close(json, '}');
	}
}

typedef void (*write_xorb)(const struct url_maker *maker, const struct plan_xorb *xorb, struct json_writer *json);

static void answer_plan(struct request *request, const struct reconstruction_plan *plan, const char *key,
			write_xorb write, struct reply *reply)
{
	int64_t now_s = clock_wall_ms() / 1000;
	struct url_maker maker = { .request = request };
	/* Expired on purpose when a test asks for it. */
	maker.expires_at_s = request->expire_given_urls ? now_s - 1 : now_s + request->shared->url_seconds;
	request_origin(request, maker.origin);
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	json_write_open(&json, '{');
	write_terms(plan, &json);
	json_write_key(&json, key);
	json_write_open(&json, '{');
	for (const struct plan_xorb *xorb = plan->xorbs; xorb; xorb = xorb->hh.next) {
		char hash[CONTENT_HASH_TEXT_BYTES];
		content_hash_format(&xorb->listing.hash, hash);
		json_write_key(&json, hash);
		json_write_open(&json, '[');
		write(&maker, xorb, &json);
		json_write_close(&json, ']');
	}
	json_write_close(&json, '}');
	json_write_close(&json, '}');
	reply_json_body(reply, 200, json_writer_ok(&json));
}

static void answer_file(struct request *request, const struct catalog_file *file, const char *key,
			write_xorb write, struct reply *reply)
{
	struct byte_range range;
	enum range_outcome outcome = byte_range_parse(request_header(request, "Range"), file->size_bytes, &range);
	if (outcome == RANGE_MALFORMED) {
		reply_error(reply, 400, NULL, "the Range header must be bytes=<first>-<last>");
		return;
	}
	if (outcome == RANGE_UNSATISFIABLE || file->size_bytes == 0) {
		reply_error(reply, 416, NULL, "the range begins at or past the end of the file");
		return;
	}
	struct fault fault = FAULT_NONE;
	CLEANUP(reconstruction_plan_freep) struct reconstruction_plan *plan = NULL;
	enum hfkv_status status = reconstruction_plan_new(request->shared->catalog, file, range, &plan, &fault);
	if (status == HFKV_OK)
		answer_plan(request, plan, key, write, reply);
	else
		reply_fault(reply, status, &fault);
}

static void answer(struct request *request, const char *key, write_xorb write, struct reply *reply)
{
	struct content_hash hash;
	struct catalog_file file = { 0 };
	struct fault fault = FAULT_NONE;
	if (!content_hash_parse(request->captures[0], &hash)) {
		reply_error(reply, 400, NULL, "a file hash is 64 hex digits");
		return;
	}
	enum hfkv_status status = catalog_file_find(request->shared->catalog, &hash, &file, &fault);
	if (status == HFKV_OK)
		answer_file(request, &file, key, write, reply);
	else if (status == HFKV_NOT_FOUND)
		reply_error(reply, 404, NULL, "there is no file of this hash");
	else
		reply_fault(reply, status, &fault);
	catalog_file_done(&file);
}

void cas_reconstruction_v1(struct request *request, struct reply *reply)
{
	answer(request, "fetch_info", write_xorb_v1, reply);
}

void cas_reconstruction_v2(struct request *request, struct reply *reply)
{
	answer(request, "xorbs", write_xorb_v2, reply);
}
