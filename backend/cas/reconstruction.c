#include "backend/cas/reconstruction.h"

#include "backend/xet/xet_limits.h"
#include "common/json_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_FETCH UINT32_MAX

/* Room for footers in what a range may cover: none is needed, but a server may be generous. */
#define FETCH_MAX_BYTES (2 * (uint64_t)XORB_ACCEPTED_BODY_BYTES)

/* A range that the answer offers. */
struct offer {
	struct reconstruction_fetch fetch;
	uint32_t fetch_index; /* NO_FETCH until a term uses it */
};

struct offers {
	struct offer *list; /* sorted by xorb and chunk_start once complete */
	size_t count, capacity;
};

static void offers_done(struct offers *offers)
{
	free(offers->list);
}

static enum hfkv_status malformed(struct fault *fault, const char *what)
{
	return fault_set(fault, HFKV_CORRUPT, "reconstruction: %s", what);
}

static enum hfkv_status out_of_memory(struct fault *fault)
{
	return fault_set(fault, HFKV_NO_MEMORY, "reconstruction: no memory");
}

/* A non-negative integer member up to `limit`. */
static bool get_number(const json_t *object, const char *key, uint64_t limit, uint64_t *ret_number)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > limit)
		return false;
	*ret_number = (uint64_t)json_integer_value(value);
	return true;
}

/* A member {"start":, "end":}. */
static bool get_range(const json_t *object, const char *key, uint64_t limit, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	const json_t *range = json_object_get(object, key);
	return get_number(range, "start", limit, ret_start) && get_number(range, "end", limit, ret_end);
}

static bool get_chunks(const json_t *object, const char *key, uint32_t *ret_start, uint32_t *ret_end)
{
	uint64_t start, end;
	if (!get_range(object, key, XORB_ACCEPTED_CHUNKS, &start, &end) || start >= end)
		return false;
	*ret_start = (uint32_t)start;
	*ret_end = (uint32_t)end;
	return true;
}

static enum hfkv_status add_offer(struct offers *offers, const struct reconstruction_fetch *fetch,
				  struct fault *fault)
{
	if (offers->count >= RECONSTRUCTION_MAX_TERMS)
		return fault_set(fault, HFKV_OVERSIZE, "reconstruction: more than %d ranges",
				 RECONSTRUCTION_MAX_TERMS);
	if (offers->count == offers->capacity) {
		size_t capacity = offers->capacity ? 2 * offers->capacity : 16;
		struct offer *list = realloc(offers->list, capacity * sizeof(*list));
		if (!list)
			return out_of_memory(fault);
		offers->list = list;
		offers->capacity = capacity;
	}
	offers->list[offers->count++] = (struct offer){ *fetch, NO_FETCH };
	return HFKV_OK;
}

/* What the members of one range are called. */
struct offer_names {
	const char *chunks, *bytes;
};

static const struct offer_names v1_names = { "range", "url_range" }, v2_names = { "chunks", "bytes" };

/* One range of an entry. `like` has its xorb and URL. */
static enum hfkv_status read_offer(struct offers *offers, const struct reconstruction_fetch *like,
				   const json_t *range, const struct offer_names *names, struct fault *fault)
{
	struct reconstruction_fetch fetch = *like;
	if (!fetch.url || !get_chunks(range, names->chunks, &fetch.chunk_start, &fetch.chunk_end) ||
	    !get_range(range, names->bytes, INT64_MAX, &fetch.first_byte, &fetch.last_byte))
		return malformed(fault, "a range to fetch lacks a member or has an impossible one");
	if (fetch.last_byte < fetch.first_byte || fetch.last_byte - fetch.first_byte >= FETCH_MAX_BYTES)
		return malformed(fault, "a range to fetch has an impossible length");
	return add_offer(offers, &fetch, fault);
}

/* All offers for one xorb. v1: a list of single ranges. v2: a list of URLs with ranges each. */
static enum hfkv_status read_xorb_offers(struct offers *offers, enum reconstruction_version version,
					 const char *name, const json_t *entries, struct fault *fault)
{
	struct reconstruction_fetch like = { .url = NULL };
	enum hfkv_status status = HFKV_OK;
	const json_t *entry, *range;
	size_t i, r;
	if (!content_hash_parse(name, &like.xorb))
		return malformed(fault, "a xorb has no proper hash");
	json_array_foreach(entries, i, entry)
	{
		like.url = json_string_value(json_object_get(entry, "url"));
		if (version == RECONSTRUCTION_V1)
			status = read_offer(offers, &like, entry, &v1_names, fault);
		else
			json_array_foreach(json_object_get(entry, "ranges"), r, range)
			{
				status = read_offer(offers, &like, range, &v2_names, fault);
				if (status != HFKV_OK)
					break;
			}
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

static int compare_offers(const void *left, const void *right)
{
	const struct reconstruction_fetch *a = &((const struct offer *)left)->fetch;
	const struct reconstruction_fetch *b = &((const struct offer *)right)->fetch;
	int order = memcmp(a->xorb.bytes, b->xorb.bytes, sizeof(a->xorb.bytes));
	if (order != 0)
		return order;
	if (a->chunk_start != b->chunk_start)
		return a->chunk_start < b->chunk_start ? -1 : 1;
	return a->chunk_end < b->chunk_end ? -1 : a->chunk_end > b->chunk_end;
}

static enum hfkv_status read_offers(struct offers *offers, enum reconstruction_version version,
				    const json_t *answer, struct fault *fault)
{
	json_t *xorbs = json_object_get(answer, version == RECONSTRUCTION_V1 ? "fetch_info" : "xorbs");
	const char *name;
	json_t *entries;
	if (!json_is_object(xorbs))
		return malformed(fault, "the answer does not say where the xorbs are");
	json_object_foreach(xorbs, name, entries)
	{
		enum hfkv_status status = read_xorb_offers(offers, version, name, entries, fault);
		if (status != HFKV_OK)
			return status;
	}
	if (offers->count > 0)
		qsort(offers->list, offers->count, sizeof(*offers->list), compare_offers);
	return HFKV_OK;
}

/* The offer that holds the term's chunks, the one that starts latest; NULL when there is none. */
static struct offer *find_offer(const struct offers *offers, const struct content_hash *xorb, uint32_t start,
				uint32_t end)
{
	const struct offer key = { .fetch = { .xorb = *xorb, .chunk_start = start, .chunk_end = UINT32_MAX } };
	size_t low = 0, high = offers->count;
	while (low < high) { /* ends behind every offer of this xorb that starts at or before `start` */
		size_t middle = low + (high - low) / 2;
		if (compare_offers(&offers->list[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0 && content_hash_equal(&offers->list[low - 1].fetch.xorb, xorb)) {
		low--;
		if (offers->list[low].fetch.chunk_end >= end)
			return &offers->list[low];
	}
	return NULL;
}

static enum hfkv_status read_term(struct reconstruction *plan, const struct offers *offers, const json_t *entry,
				  struct reconstruction_term *ret_term, struct fault *fault)
{
	struct content_hash xorb;
	uint64_t raw_bytes;
	struct reconstruction_term term = { .plan_offset = plan->total_bytes };
	const char *name = json_string_value(json_object_get(entry, "hash"));
	if (!name || !content_hash_parse(name, &xorb) ||
	    !get_chunks(entry, "range", &term.chunk_start, &term.chunk_end) ||
	    !get_number(entry, "unpacked_length", UINT32_MAX, &raw_bytes))
		return malformed(fault, "a term lacks a member or has an impossible one");
	if (raw_bytes == 0 || raw_bytes > (uint64_t)(term.chunk_end - term.chunk_start) * XET_CHUNK_MAX_BYTES)
		return malformed(fault, "a term has an impossible length");
	struct offer *offer = find_offer(offers, &xorb, term.chunk_start, term.chunk_end);
	if (!offer)
		return malformed(fault, "a term's chunks are in none of the ranges to fetch");
	if (offer->fetch_index == NO_FETCH) {
		offer->fetch_index = (uint32_t)plan->fetch_count++;
		plan->fetches[offer->fetch_index] = offer->fetch;
	}
	plan->fetches[offer->fetch_index].term_count++;
	term.fetch = offer->fetch_index;
	term.raw_bytes = (uint32_t)raw_bytes;
	plan->total_bytes += raw_bytes;
	*ret_term = term;
	return HFKV_OK;
}

static enum hfkv_status read_terms(struct reconstruction *plan, const struct offers *offers, const json_t *answer,
				   struct fault *fault)
{
	const json_t *terms = json_object_get(answer, "terms"), *entry;
	size_t count = json_array_size(terms), i;
	if (count == 0)
		return malformed(fault, "the answer has no terms");
	if (count > RECONSTRUCTION_MAX_TERMS)
		return fault_set(fault, HFKV_OVERSIZE, "reconstruction: more than %d terms",
				 RECONSTRUCTION_MAX_TERMS);
	plan->terms = calloc(count, sizeof(*plan->terms));
	plan->fetches = calloc(offers->count ? offers->count : 1, sizeof(*plan->fetches));
	plan->by_fetch = calloc(count, sizeof(*plan->by_fetch));
	if (!plan->terms || !plan->fetches || !plan->by_fetch)
		return out_of_memory(fault);
	json_array_foreach(terms, i, entry)
	{
		enum hfkv_status status = read_term(plan, offers, entry, &plan->terms[i], fault);
		if (status != HFKV_OK)
			return status;
		plan->term_count++;
	}
	if (!get_number(answer, "offset_into_first_range", plan->terms[0].raw_bytes - 1, &plan->skip_bytes))
		return malformed(fault, "offset_into_first_range is missing or outside the first term");
	return HFKV_OK;
}

static int compare_terms(const void *left, const void *right, void *context)
{
	const struct reconstruction_term *terms = context;
	const struct reconstruction_term *a = &terms[*(const uint32_t *)left],
					 *b = &terms[*(const uint32_t *)right];
	if (a->fetch != b->fetch)
		return a->fetch < b->fetch ? -1 : 1;
	if (a->chunk_start != b->chunk_start)
		return a->chunk_start < b->chunk_start ? -1 : 1;
	return a->plan_offset < b->plan_offset ? -1 : a->plan_offset > b->plan_offset;
}

static void group_by_fetch(struct reconstruction *plan)
{
	uint32_t first = 0;
	for (size_t i = 0; i < plan->term_count; i++)
		plan->by_fetch[i] = (uint32_t)i;
	qsort_r(plan->by_fetch, plan->term_count, sizeof(*plan->by_fetch), compare_terms, plan->terms);
	for (size_t i = 0; i < plan->fetch_count; i++) {
		plan->fetches[i].first_term = first;
		first += plan->fetches[i].term_count;
	}
}

enum hfkv_status reconstruction_parse(enum reconstruction_version version, const char *json, size_t length,
				      struct reconstruction **ret_plan, struct fault *fault)
{
	CLEANUP(reconstruction_freep) struct reconstruction *plan = calloc(1, sizeof(*plan));
	CLEANUP(offers_done) struct offers offers = { 0 };
	json_error_t error;
	if (!plan)
		return out_of_memory(fault);
	if (length > RECONSTRUCTION_MAX_JSON_BYTES)
		return fault_set(fault, HFKV_OVERSIZE, "reconstruction: an answer of %zu bytes", length);
	plan->text = json_text_load(json, length, &error);
	if (!plan->text)
		return fault_set(fault, HFKV_CORRUPT, "reconstruction: the answer is not JSON: %.100s",
				 error.text);
	enum hfkv_status status = read_offers(&offers, version, plan->text, fault);
	if (status == HFKV_OK)
		status = read_terms(plan, &offers, plan->text, fault);
	if (status != HFKV_OK)
		return status;
	group_by_fetch(plan);
	*ret_plan = TAKE_PTR(plan);
	return HFKV_OK;
}

void reconstruction_free(struct reconstruction *plan)
{
	if (!plan)
		return;
	free(plan->terms);
	free(plan->fetches);
	free(plan->by_fetch);
	json_decref(plan->text);
	free(plan);
}

const struct reconstruction_fetch *reconstruction_find(const struct reconstruction *plan,
						       const struct reconstruction_fetch *like)
{
	for (size_t i = 0; i < plan->fetch_count; i++) {
		const struct reconstruction_fetch *fetch = &plan->fetches[i];
		if (content_hash_equal(&fetch->xorb, &like->xorb) && fetch->chunk_start == like->chunk_start &&
		    fetch->chunk_end == like->chunk_end && fetch->first_byte == like->first_byte &&
		    fetch->last_byte == like->last_byte)
			return fetch;
	}
	return NULL;
}
