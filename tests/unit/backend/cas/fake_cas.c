#include "tests/unit/backend/cas/fake_cas.h"

#include "backend/xet/merkle_hash.h"
#include "backend/xet/shard_reader.h"
#include "backend/xet/xorb_validator.h"
#include "common/byte_buf.h"
#include "tests/unit/backend/http/loopback_server.h"
#include "tests/unit/cmocka_prelude.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XORBS_MAX 256
#define FILES_MAX 1024
#define TERMS_MAX 4096

struct fake_xorb {
	struct xorb_listing listing;
	uint8_t *body;
};

struct fake_file {
	struct content_hash hash;
	struct shard_term *terms;
	uint32_t term_count;
};

struct fake_cas {
	struct loopback_server *server;
	pthread_mutex_t mutex; /* over everything below */
	struct fake_xorb xorbs[XORBS_MAX];
	uint32_t xorb_count;
	struct fake_file files[FILES_MAX];
	uint32_t file_count;
	struct fake_cas_faults faults;
	struct fake_cas_counts counts;
	int64_t token_seconds;
	uint32_t term_chunks;
	unsigned tokens, plans; /* given out ever */
	char token[32];
};

static bool use_up(unsigned *count)
{
	return *count > 0 && (*count)--;
}

static struct fake_xorb *find_xorb(struct fake_cas *cas, const struct content_hash *hash)
{
	for (uint32_t i = 0; i < cas->xorb_count; i++)
		if (content_hash_equal(&cas->xorbs[i].listing.hash, hash))
			return &cas->xorbs[i];
	return NULL;
}

static struct fake_file *find_file(struct fake_cas *cas, const struct content_hash *hash)
{
	for (uint32_t i = 0; i < cas->file_count; i++)
		if (content_hash_equal(&cas->files[i].hash, hash))
			return &cas->files[i];
	return NULL;
}

/* ---- intake ---- */

static bool put_xorb(struct fake_cas *cas, struct loopback_exchange *exchange, const char *name)
{
	struct content_hash hash;
	struct xorb_listing listing = { 0 };
	struct xorb_validator *validator = NULL;
	cas->counts.xorb_puts++;
	bool is_good = content_hash_parse(name, &hash) && xorb_validator_new(&validator, NULL) == HFKV_OK &&
		       xorb_validator_feed(validator, exchange->body, exchange->body_length, NULL) == HFKV_OK &&
		       xorb_validator_finish(validator, &listing, NULL) == HFKV_OK &&
		       content_hash_equal(&listing.hash, &hash);
	xorb_validator_free(validator);
	if (!is_good || cas->xorb_count == XORBS_MAX) {
		xorb_listing_done(&listing);
		return loopback_answer(exchange, "400 Bad Request", "", "{\"error\":\"bad xorb\"}");
	}
	if (find_xorb(cas, &hash)) {
		xorb_listing_done(&listing);
		return loopback_answer(exchange, "200 OK", "", "{\"was_inserted\":false}");
	}
	struct fake_xorb *xorb = &cas->xorbs[cas->xorb_count++];
	xorb->listing = listing;
	xorb->body = malloc(exchange->body_length);
	memcpy(xorb->body, exchange->body, exchange->body_length);
	return loopback_answer(exchange, "200 OK", "", "{\"was_inserted\":true}");
}

/* The checks of the service: every xorb is here, every range hash and the file hash are right. */
static bool term_is_true(struct fake_cas *cas, const struct shard_term *term, struct merkle_root *root)
{
	struct fake_xorb *xorb = find_xorb(cas, &term->xorb);
	struct range_hash range;
	struct content_hash hash;
	uint32_t bytes = 0;
	if (!xorb || term->chunk_start >= term->chunk_end || term->chunk_end > xorb->listing.chunk_count)
		return false;
	range_hash_init(&range);
	for (uint32_t i = term->chunk_start; i < term->chunk_end; i++) {
		range_hash_add(&range, &xorb->listing.chunks[i].hash);
		merkle_root_add(root, &xorb->listing.chunks[i].hash, xorb_listing_raw_bytes(&xorb->listing, i));
		bytes += xorb_listing_raw_bytes(&xorb->listing, i);
	}
	range_hash_finish(&range, &hash);
	return bytes == term->raw_bytes && content_hash_equal(&hash, &term->range_hash);
}

static bool take_file(struct fake_cas *cas, const struct shard_file *file)
{
	struct merkle_root root;
	struct content_hash hash;
	struct fake_file taken = { .hash = file->hash, .term_count = file->term_count };
	taken.terms = calloc(file->term_count + 1, sizeof(*taken.terms));
	merkle_root_init(&root);
	bool is_true = file->flags & SHARD_FILE_HAS_VERIFICATION;
	for (uint32_t i = 0; i < file->term_count && is_true; i++) {
		shard_file_term(file, i, &taken.terms[i]);
		is_true = term_is_true(cas, &taken.terms[i], &root);
	}
	merkle_root_finish(&root, &hash);
	merkle_hash_file(file->term_count ? &hash : NULL, &hash);
	if (!is_true || !content_hash_equal(&hash, &file->hash) || find_file(cas, &hash) ||
	    cas->file_count == FILES_MAX) {
		free(taken.terms);
		return is_true && find_file(cas, &hash);
	}
	cas->files[cas->file_count++] = taken;
	return true;
}

static bool take_shard(struct fake_cas *cas, const struct loopback_exchange *exchange)
{
	struct shard_reader reader;
	struct shard_file file;
	struct shard_xorb xorb;
	size_t cursor = 0;
	if (shard_reader_open(exchange->body, exchange->body_length, &reader, NULL) != HFKV_OK ||
	    reader.has_footer)
		return false;
	while (shard_reader_next_xorb(&reader, &cursor, &xorb))
		if (!find_xorb(cas, &xorb.hash))
			return false;
	cursor = 0;
	while (shard_reader_next_file(&reader, &cursor, &file))
		if (!take_file(cas, &file))
			return false;
	return true;
}

static bool put_shard(struct fake_cas *cas, struct loopback_exchange *exchange, int version)
{
	static const char going_on[] =
	    "{\"type\":\"validating\",\"verified\":1,\"total\":2}\n{\"type\":\"new_kind\"}\n";
	char answer[512];
	const char *last = "{\"type\":\"result\"}";
	cas->counts.shard_puts++;
	if (version == 1) {
		if (!take_shard(cas, exchange))
			return loopback_answer(exchange, "400 Bad Request", "", "{}");
		return loopback_answer(exchange, "200 OK", "", "{\"result\":1}");
	}
	if (use_up(&cas->faults.retry_shards))
		last = "{\"type\":\"error\",\"message\":\"busy\",\"retryable\":true}";
	else if (use_up(&cas->faults.silent_shards))
		last = "";
	else if (cas->faults.refuse_shards)
		last = "{\"type\":\"error\",\"message\":\"no such luck\"}\n";
	else if (!take_shard(cas, exchange))
		return loopback_answer(exchange, "400 Bad Request", "", "{}");
	snprintf(answer, sizeof(answer), "%s%s", going_on, last);
	return loopback_answer(exchange, "200 OK", "", answer);
}

/* ---- reconstruction ---- */

/* Terms for a byte range, in whole chunks. */
struct fake_plan {
	struct shard_term terms[TERMS_MAX];
	uint32_t count;
	uint64_t skip_bytes;
};

static void add_chunk(struct fake_plan *plan, const struct content_hash *xorb, uint32_t chunk, uint32_t bytes,
		      uint32_t term_chunks)
{
	struct shard_term *last = plan->count ? &plan->terms[plan->count - 1] : NULL;
	if (last && content_hash_equal(&last->xorb, xorb) && last->chunk_end == chunk &&
	    (term_chunks == 0 || last->chunk_end - last->chunk_start < term_chunks)) {
		last->chunk_end++;
		last->raw_bytes += bytes;
	} else if (plan->count < TERMS_MAX) {
		plan->terms[plan->count++] = (struct shard_term){
			.xorb = *xorb, .chunk_start = chunk, .chunk_end = chunk + 1, .raw_bytes = bytes
		};
	}
}

static void make_plan(struct fake_cas *cas, const struct fake_file *file, uint64_t first, uint64_t last,
		      struct fake_plan *plan)
{
	uint64_t at = 0;
	plan->count = 0;
	for (uint32_t i = 0; i < file->term_count; i++) {
		const struct shard_term *term = &file->terms[i];
		const struct xorb_listing *listing = &find_xorb(cas, &term->xorb)->listing;
		for (uint32_t chunk = term->chunk_start; chunk < term->chunk_end; chunk++) {
			uint32_t bytes = xorb_listing_raw_bytes(listing, chunk);
			if (at + bytes > first && at <= last) {
				if (plan->count == 0)
					plan->skip_bytes = first - at;
				add_chunk(plan, &term->xorb, chunk, bytes, cas->term_chunks);
			}
			at += bytes;
		}
	}
}

/* Chunks to fetch. */
struct chunk_span {
	uint32_t low, high;
};

/* What to fetch of one xorb: without a limit on terms one range that covers them all, else one a term. */
static uint32_t collect_spans(const struct fake_cas *cas, const struct fake_plan *plan,
			      const struct content_hash *xorb, struct chunk_span *spans)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < plan->count; i++) {
		struct chunk_span span = { plan->terms[i].chunk_start, plan->terms[i].chunk_end };
		if (!content_hash_equal(&plan->terms[i].xorb, xorb))
			continue;
		if (cas->term_chunks > 0 || count == 0) {
			spans[count++] = span;
			continue;
		}
		spans[0].low = span.low < spans[0].low ? span.low : spans[0].low;
		spans[0].high = span.high > spans[0].high ? span.high : spans[0].high;
	}
	if (cas->faults.move_ranges && cas->plans > 1 && spans[0].low > 0)
		spans[0].low--;
	return count;
}

static bool append_span(const struct xorb_listing *listing, const struct chunk_span *span, const char *url,
			int version, struct byte_buf *json)
{
	uint32_t first = xorb_listing_record_start(listing, span->low);
	uint32_t last = listing->chunks[span->high - 1].record_end - 1;
	if (version == 1)
		return byte_buf_printf(json,
				       "{\"range\":{\"start\":%u,\"end\":%u},\"url\":\"%s\","
				       "\"url_range\":{\"start\":%u,\"end\":%u}}",
				       span->low, span->high, url, first, last);
	return byte_buf_printf(json, "{\"chunks\":{\"start\":%u,\"end\":%u},\"bytes\":{\"start\":%u,\"end\":%u}}",
			       span->low, span->high, first, last);
}

static bool append_ranges(struct fake_cas *cas, const struct fake_plan *plan, uint32_t at, int version,
			  struct byte_buf *json)
{
	static struct chunk_span spans[TERMS_MAX]; /* under the lock */
	const struct content_hash *xorb = &plan->terms[at].xorb;
	char text[CONTENT_HASH_TEXT_BYTES], url[256];
	content_hash_format(xorb, text);
	snprintf(url, sizeof(url), "%s%s?plan=%u", loopback_server_url(cas->server, "/data/"), text, cas->plans);
	uint32_t count = collect_spans(cas, plan, xorb, spans);
	bool ok = byte_buf_printf(json, "\"%s\":[", text);
	if (version == 2)
		ok = ok && byte_buf_printf(json, "{\"url\":\"%s\",\"ranges\":[", url);
	for (uint32_t i = 0; i < count; i++)
		ok = ok && byte_buf_append_text(json, i ? "," : "") &&
		     append_span(&find_xorb(cas, xorb)->listing, &spans[i], url, version, json);
	return ok && byte_buf_append_text(json, version == 2 ? "]}]" : "]");
}

static bool is_first_use(const struct fake_plan *plan, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (content_hash_equal(&plan->terms[i].xorb, &plan->terms[at].xorb))
			return false;
	return true;
}

static bool format_plan(struct fake_cas *cas, const struct fake_plan *plan, int version, struct byte_buf *json)
{
	bool ok = byte_buf_printf(json, "{\"offset_into_first_range\":%" PRIu64 ",\"terms\":[", plan->skip_bytes);
	for (uint32_t i = 0; i < plan->count && ok; i++) {
		char text[CONTENT_HASH_TEXT_BYTES];
		content_hash_format(&plan->terms[i].xorb, text);
		ok = byte_buf_printf(
		    json, "%s{\"hash\":\"%s\",\"range\":{\"start\":%u,\"end\":%u},\"unpacked_length\":%u}",
		    i ? "," : "", text, plan->terms[i].chunk_start, plan->terms[i].chunk_end,
		    plan->terms[i].raw_bytes);
	}
	ok = ok && byte_buf_printf(json, "],\"%s\":{", version == 1 ? "fetch_info" : "xorbs");
	const char *comma = "";
	for (uint32_t i = 0; i < plan->count && ok && !cas->faults.drop_fetch_info; i++)
		if (is_first_use(plan, i)) {
			ok = byte_buf_append_text(json, comma) && append_ranges(cas, plan, i, version, json);
			comma = ",";
		}
	return ok && byte_buf_append_text(json, "}}");
}

static bool get_plan(struct fake_cas *cas, struct loopback_exchange *exchange, int version, const char *name)
{
	static struct fake_plan plan; /* under the lock */
	struct byte_buf json = BYTE_BUF_INIT(16 << 20);
	struct content_hash hash;
	char range[80];
	uint64_t first = 0, last = UINT64_MAX;
	struct fake_file *file = content_hash_parse(name, &hash) ? find_file(cas, &hash) : NULL;
	*(version == 1 ? &cas->counts.plans_v1 : &cas->counts.plans_v2) += 1;
	if (!file)
		return loopback_answer(exchange, "404 Not Found", "", "{}");
	if (loopback_field(exchange, "Range", range, sizeof(range)))
		assert_int_equal(sscanf(range, "bytes=%" SCNu64 "-%" SCNu64, &first, &last), 2);
	cas->plans++;
	make_plan(cas, file, first, last, &plan);
	if (plan.count == 0)
		return loopback_answer(exchange, "416 Range Not Satisfiable", "", "{}");
	assert_true(format_plan(cas, &plan, version, &json));
	bool ok = loopback_answer(exchange, "200 OK", "", byte_buf_text(&json));
	byte_buf_done(&json);
	return ok;
}

/* A data request's answer, made under the lock and sent without it. */
struct data_answer {
	char header[256];
	uint8_t *body; /* NULL: refused */
	size_t length, send_length;
};

static void make_data(struct fake_cas *cas, struct loopback_exchange *exchange, struct data_answer *answer)
{
	char range[80], name[CONTENT_HASH_TEXT_BYTES];
	struct content_hash hash;
	unsigned first, last;
	SCOPED_LOCK(&cas->mutex);
	snprintf(name, sizeof(name), "%s", exchange->target + strlen("/data/"));
	struct fake_xorb *xorb = content_hash_parse(name, &hash) ? find_xorb(cas, &hash) : NULL;
	cas->counts.data_gets++;
	if (loopback_field(exchange, "Authorization", answer->header, sizeof(answer->header)))
		cas->counts.with_auth_on_data++;
	if (use_up(&cas->faults.expire_urls) || !xorb ||
	    !loopback_field(exchange, "Range", range, sizeof(range)) ||
	    sscanf(range, "bytes=%u-%u", &first, &last) != 2 || last >= xorb->listing.records_bytes ||
	    first > last)
		return;
	answer->length = answer->send_length = last - first + 1;
	snprintf(answer->header, sizeof(answer->header),
		 "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %u-%u/%u\r\nContent-Length: %zu\r\n\r\n",
		 first, last, xorb->listing.records_bytes, answer->length);
	answer->body = malloc(answer->length);
	memcpy(answer->body, xorb->body + first, answer->length);
	cas->counts.data_bytes += (unsigned)answer->length;
	if (use_up(&cas->faults.cut_bodies))
		answer->send_length /= 2;
	if (use_up(&cas->faults.flip_bytes))
		answer->body[answer->length - 1] ^= 1;
}

static bool get_data(struct fake_cas *cas, struct loopback_exchange *exchange)
{
	struct data_answer answer = { .body = NULL };
	make_data(cas, exchange, &answer);
	if (!answer.body)
		return loopback_answer(exchange, "403 Forbidden", "", "expired");
	bool ok = loopback_send(exchange, answer.header) &&
		  loopback_send_bytes(exchange, answer.body, answer.send_length);
	free(answer.body);
	return ok && answer.send_length == answer.length;
}

/* ---- the server ---- */

static bool is_authorized(struct fake_cas *cas, const struct loopback_exchange *exchange)
{
	char given[128], wanted[128];
	snprintf(wanted, sizeof(wanted), "Bearer %s", cas->token);
	return loopback_field(exchange, "Authorization", given, sizeof(given)) && strcmp(given, wanted) == 0 &&
	       !use_up(&cas->faults.reject_tokens);
}

static bool handle(struct loopback_exchange *exchange, void *context)
{
	struct fake_cas *cas = context;
	const char *target = exchange->target;
	if (strncmp(target, "/data/", 6) == 0)
		return get_data(cas, exchange);
	int version = target[2] - '0';
	SCOPED_LOCK(&cas->mutex);
	if (use_up(&cas->faults.fail_calls))
		return loopback_answer(exchange, "503 Service Unavailable", "", "");
	if (!is_authorized(cas, exchange))
		return loopback_answer(exchange, "401 Unauthorized", "", "{}");
	if (cas->faults.v1_only && strncmp(target, "/v2/", 4) == 0)
		return loopback_answer(exchange, "404 Not Found", "", "{}");
	if (strncmp(target, "/v1/xorbs/default/", 18) == 0)
		return put_xorb(cas, exchange, target + 18);
	if (strncmp(target + 3, "/shards", 7) == 0)
		return put_shard(cas, exchange, version);
	if (strncmp(target + 3, "/reconstructions/", 17) == 0)
		return get_plan(cas, exchange, version, target + 20);
	return loopback_answer(exchange, "404 Not Found", "", "{}");
}

static enum hfkv_status give_access(void *context, enum cas_scope scope, struct deadline deadline,
				    struct cas_access *ret_access, struct fault *fault)
{
	struct fake_cas *cas = context;
	(void)scope, (void)deadline, (void)fault;
	SCOPED_LOCK(&cas->mutex);
	cas->counts.token_fetches++;
	snprintf(cas->token, sizeof(cas->token), "token-%u", cas->tokens++);
	/* A trailing slash, as some servers give. */
	*ret_access = (struct cas_access){
		.url = strdup(loopback_server_url(cas->server, "/")),
		.token = secret_new(cas->token, strlen(cas->token)),
		.expires_at_s = clock_wall_ms() / 1000 + cas->token_seconds,
	};
	return HFKV_OK;
}

struct fake_cas *fake_cas_start(void)
{
	struct fake_cas *cas = calloc(1, sizeof(*cas));
	assert_non_null(cas);
	pthread_mutex_init(&cas->mutex, NULL);
	cas->token_seconds = 3600;
	cas->server = loopback_server_start(handle, cas);
	return cas;
}

void fake_cas_stop(struct fake_cas *cas)
{
	loopback_server_stop(cas->server);
	for (uint32_t i = 0; i < cas->xorb_count; i++) {
		xorb_listing_done(&cas->xorbs[i].listing);
		free(cas->xorbs[i].body);
	}
	for (uint32_t i = 0; i < cas->file_count; i++)
		free(cas->files[i].terms);
	pthread_mutex_destroy(&cas->mutex);
	free(cas);
}

struct cas_client *fake_cas_client(struct fake_cas *cas, struct http_client *http)
{
	struct cas_client *client = NULL;
	const struct cas_client_settings settings = {
		.http = http,
		.fetch_access = give_access,
		.fetch_context = cas,
	};
	assert_int_equal(cas_client_new(&settings, &client, NULL), HFKV_OK);
	return client;
}

void fake_cas_set_faults(struct fake_cas *cas, struct fake_cas_faults faults)
{
	SCOPED_LOCK(&cas->mutex);
	cas->faults = faults;
}

struct fake_cas_counts fake_cas_counts(struct fake_cas *cas)
{
	SCOPED_LOCK(&cas->mutex);
	return cas->counts;
}

void fake_cas_reset_counts(struct fake_cas *cas)
{
	SCOPED_LOCK(&cas->mutex);
	cas->counts = (struct fake_cas_counts){ 0 };
}

void fake_cas_set_token_seconds(struct fake_cas *cas, int64_t seconds)
{
	SCOPED_LOCK(&cas->mutex);
	cas->token_seconds = seconds;
}

void fake_cas_set_term_chunks(struct fake_cas *cas, uint32_t chunks)
{
	SCOPED_LOCK(&cas->mutex);
	cas->term_chunks = chunks;
}

uint32_t fake_cas_xorb_count(struct fake_cas *cas)
{
	SCOPED_LOCK(&cas->mutex);
	return cas->xorb_count;
}

bool fake_cas_has_file(struct fake_cas *cas, const struct content_hash *file)
{
	SCOPED_LOCK(&cas->mutex);
	return find_file(cas, file) != NULL;
}
