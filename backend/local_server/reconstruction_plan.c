#include "backend/local_server/reconstruction_plan.h"

#include <string.h>

void reconstruction_plan_free(struct reconstruction_plan *plan)
{
	if (!plan)
		return;
	struct plan_xorb *xorb, *next;
	HASH_ITER(hh, plan->xorbs, xorb, next)
	{
		HASH_DEL(plan->xorbs, xorb);
		xorb_listing_done(&xorb->listing);
		free(xorb->ranges);
		free(xorb);
	}
	free(plan->terms);
	free(plan);
}

static enum hfkv_status find_xorb(struct reconstruction_plan *plan, struct catalog *catalog,
				  const struct content_hash *hash, struct plan_xorb **ret_xorb,
				  struct fault *fault)
{
	struct plan_xorb *xorb;
	HASH_FIND(hh, plan->xorbs, hash, sizeof(*hash), xorb);
	if (xorb) {
		*ret_xorb = xorb;
		return HFKV_OK;
	}
	xorb = calloc(1, sizeof(*xorb));
	if (!xorb)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a reconstruction");
	enum hfkv_status status = catalog_xorb_find(catalog, hash, &xorb->listing, fault);
	if (status != HFKV_OK) {
		free(xorb);
		return status == HFKV_NOT_FOUND
			   ? fault_set(fault, HFKV_CORRUPT, "a file names a xorb that the catalog does not have")
			   : status;
	}
	HASH_ADD(hh, plan->xorbs, listing.hash, sizeof(xorb->listing.hash), xorb);
	*ret_xorb = xorb;
	return HFKV_OK;
}

static uint32_t raw_bytes_of(const struct plan_term *term)
{
	return term->xorb->listing.chunks[term->end_chunk - 1].raw_end -
	       xorb_listing_raw_start(&term->xorb->listing, term->first_chunk);
}

/* Adds the chunks of `source` that [start, end) of its bytes touches. */
static enum hfkv_status add_term(struct reconstruction_plan *plan, struct catalog *catalog,
				 const struct catalog_term *source, struct byte_range part, struct fault *fault)
{
	struct plan_term term = { .first_chunk = source->first_xet_chunk, .end_chunk = source->end_xet_chunk };
	enum hfkv_status status = find_xorb(plan, catalog, &source->xorb, &term.xorb, fault);
	if (status != HFKV_OK)
		return status;
	const struct xorb_listing *listing = &term.xorb->listing;
	if (term.first_chunk >= term.end_chunk || term.end_chunk > listing->chunk_count)
		return fault_set(fault, HFKV_CORRUPT, "a file names chunks that its xorb does not have");
	uint32_t base = xorb_listing_raw_start(listing, term.first_chunk);
	while (listing->chunks[term.first_chunk].raw_end - base <= part.start &&
	       term.first_chunk + 1 < term.end_chunk)
		term.first_chunk++;
	while (term.end_chunk - 1 > term.first_chunk &&
	       xorb_listing_raw_start(listing, term.end_chunk - 1) - base >= part.end)
		term.end_chunk--;
	term.raw_bytes = raw_bytes_of(&term);
	if (plan->term_count == 0)
		plan->skip_bytes = part.start - (xorb_listing_raw_start(listing, term.first_chunk) - base);
	plan->terms[plan->term_count++] = term;
	term.xorb->range_count++;
	return HFKV_OK;
}

static enum hfkv_status add_terms(struct reconstruction_plan *plan, struct catalog *catalog,
				  const struct catalog_file *file, struct byte_range range, struct fault *fault)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < file->term_count && at < range.end; i++) {
		uint64_t next = at + file->terms[i].raw_bytes;
		if (next > range.start) {
			struct byte_range part = { range.start > at ? range.start - at : 0,
						   range.end < next ? range.end - at : next - at };
			enum hfkv_status status = add_term(plan, catalog, &file->terms[i], part, fault);
			if (status != HFKV_OK)
				return status;
		}
		at = next;
	}
	return plan->term_count > 0 ? HFKV_OK
				    : fault_set(fault, HFKV_CORRUPT, "a file has fewer bytes than its size");
}

static int compare_ranges(const void *a, const void *b)
{
	const struct plan_range *left = a, *right = b;
	if (left->first_chunk != right->first_chunk)
		return left->first_chunk < right->first_chunk ? -1 : 1;
	return 0;
}

/* Sorts the ranges of a xorb, joins what overlaps or touches, and looks up the bytes. */
static void settle_ranges(struct plan_xorb *xorb)
{
	qsort(xorb->ranges, xorb->range_count, sizeof(*xorb->ranges), compare_ranges);
	uint32_t kept = 0;
	for (uint32_t i = 1; i < xorb->range_count; i++) {
		struct plan_range *last = &xorb->ranges[kept], *range = &xorb->ranges[i];
		if (range->first_chunk > last->end_chunk)
			xorb->ranges[++kept] = *range;
		else if (range->end_chunk > last->end_chunk)
			last->end_chunk = range->end_chunk;
	}
	xorb->range_count = kept + 1;
	for (uint32_t i = 0; i < xorb->range_count; i++) {
		struct plan_range *range = &xorb->ranges[i];
		range->start_byte = xorb_listing_record_start(&xorb->listing, range->first_chunk);
		range->end_byte = xorb->listing.chunks[range->end_chunk - 1].record_end;
	}
}

static enum hfkv_status make_ranges(struct reconstruction_plan *plan, struct fault *fault)
{
	for (struct plan_xorb *xorb = plan->xorbs; xorb; xorb = xorb->hh.next) {
		xorb->ranges = calloc(xorb->range_count, sizeof(*xorb->ranges));
		if (!xorb->ranges)
			return fault_set(fault, HFKV_NO_MEMORY, "no memory for a reconstruction");
		xorb->range_count = 0;
	}
	for (uint32_t i = 0; i < plan->term_count; i++) {
		struct plan_term *term = &plan->terms[i];
		term->xorb->ranges[term->xorb->range_count++] =
		    (struct plan_range){ .first_chunk = term->first_chunk, .end_chunk = term->end_chunk };
	}
	for (struct plan_xorb *xorb = plan->xorbs; xorb; xorb = xorb->hh.next)
		settle_ranges(xorb);
	return HFKV_OK;
}

enum hfkv_status reconstruction_plan_new(struct catalog *catalog, const struct catalog_file *file,
					 struct byte_range range, struct reconstruction_plan **ret_plan,
					 struct fault *fault)
{
	CLEANUP(reconstruction_plan_freep) struct reconstruction_plan *plan = calloc(1, sizeof(*plan));
	if (!plan)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a reconstruction");
	plan->terms = calloc(file->term_count ? file->term_count : 1, sizeof(*plan->terms));
	if (!plan->terms)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a reconstruction");
	enum hfkv_status status = add_terms(plan, catalog, file, range, fault);
	if (status == HFKV_OK)
		status = make_ranges(plan, fault);
	if (status == HFKV_OK)
		*ret_plan = TAKE_PTR(plan);
	return status;
}
