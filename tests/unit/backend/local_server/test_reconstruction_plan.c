/* Plans over a made-up xorb of ten chunks of 100 bytes, whose records take 20 bytes each. */
#include "tests/unit/backend/local_server/scratch_directory.h"

#include "backend/local_server/reconstruction_plan.h"

#define CHUNKS       10
#define CHUNK_BYTES  100
#define RECORD_BYTES 20

static const struct content_hash xorb_hash = { { 7 } };

static struct catalog *open_catalog(void **state)
{
	struct catalog *catalog = NULL;
	struct xorb_listing_chunk chunks[CHUNKS] = { 0 };
	for (uint32_t i = 0; i < CHUNKS; i++) {
		chunks[i].raw_end = (i + 1) * CHUNK_BYTES;
		chunks[i].record_end = (i + 1) * RECORD_BYTES;
	}
	struct xorb_listing xorb = { .hash = xorb_hash, .chunk_count = CHUNKS, .chunks = chunks };
	bool inserted = false;
	assert_int_equal(catalog_open(*state, false, &catalog, NULL), HFKV_OK);
	assert_int_equal(catalog_xorb_add(catalog, &xorb, &inserted, NULL), HFKV_OK);
	return catalog;
}

static struct catalog_term term(uint32_t first, uint32_t end)
{
	return (struct catalog_term){ .xorb = xorb_hash,
				      .first_xet_chunk = first,
				      .end_xet_chunk = end,
				      .raw_bytes = (end - first) * CHUNK_BYTES };
}

static struct reconstruction_plan *plan_for(struct catalog *catalog, struct catalog_term *terms, uint32_t count,
					    uint64_t start, uint64_t end)
{
	struct catalog_file file = { .terms = terms, .term_count = count };
	for (uint32_t i = 0; i < count; i++)
		file.size_bytes += terms[i].raw_bytes;
	struct reconstruction_plan *plan = NULL;
	assert_int_equal(reconstruction_plan_new(catalog, &file, (struct byte_range){ start, end }, &plan, NULL),
			 HFKV_OK);
	return plan;
}

static void expect_range(const struct plan_xorb *xorb, uint32_t index, uint32_t first, uint32_t end)
{
	assert_int_equal(xorb->ranges[index].first_chunk, first);
	assert_int_equal(xorb->ranges[index].end_chunk, end);
	assert_int_equal(xorb->ranges[index].start_byte, first * RECORD_BYTES);
	assert_int_equal(xorb->ranges[index].end_byte, end * RECORD_BYTES);
}

static void ranges_join_where_they_touch(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	struct catalog_term terms[] = { term(8, 10), term(0, 2), term(1, 4), term(4, 5), term(6, 7) };
	CLEANUP(reconstruction_plan_freep) struct reconstruction_plan *plan = plan_for(catalog, terms, 5, 0, 900);
	assert_int_equal(plan->term_count, 5);
	assert_int_equal(plan->skip_bytes, 0);
	assert_int_equal(HASH_COUNT(plan->xorbs), 1);
	assert_int_equal(plan->xorbs->range_count, 3);
	expect_range(plan->xorbs, 0, 0, 5);
	expect_range(plan->xorbs, 1, 6, 7);
	expect_range(plan->xorbs, 2, 8, 10);
}

static void terms_are_cut_to_the_chunks_asked(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	struct catalog_term terms[] = { term(0, 4), term(5, 9) };
	/* bytes 250..520 of the file: chunks 2, 3 of the first term, 5 and 6 of the second */
	CLEANUP(reconstruction_plan_freep)
	struct reconstruction_plan *plan = plan_for(catalog, terms, 2, 250, 520);
	assert_int_equal(plan->term_count, 2);
	assert_int_equal(plan->skip_bytes, 50);
	assert_true(plan->terms[0].first_chunk == 2 && plan->terms[0].end_chunk == 4 &&
		    plan->terms[0].raw_bytes == 200);
	assert_true(plan->terms[1].first_chunk == 5 && plan->terms[1].end_chunk == 7 &&
		    plan->terms[1].raw_bytes == 200);
}

static void every_range_of_a_file_is_covered(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	struct catalog_term terms[] = { term(3, 5), term(0, 1), term(9, 10) };
	for (uint64_t start = 0; start < 400; start += 33) {
		for (uint64_t end = start + 1; end <= 400; end += 57) {
			CLEANUP(reconstruction_plan_freep)
			struct reconstruction_plan *plan = plan_for(catalog, terms, 3, start, end);
			uint64_t covered = 0;
			for (uint32_t i = 0; i < plan->term_count; i++)
				covered += plan->terms[i].raw_bytes;
			assert_int_equal(plan->skip_bytes, start % CHUNK_BYTES);
			assert_int_equal(covered, (end + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES -
						      start / CHUNK_BYTES * CHUNK_BYTES);
		}
	}
}

static void a_catalog_that_contradicts_itself_is_told(void **state)
{
	CLEANUP(catalog_closep) struct catalog *catalog = open_catalog(state);
	struct catalog_term outside = term(9, 11), unknown = term(0, 1);
	unknown.xorb.bytes[0] = 8;
	struct catalog_term *bad[] = { &outside, &unknown };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct catalog_file file = { .terms = bad[i], .term_count = 1, .size_bytes = bad[i]->raw_bytes };
		struct reconstruction_plan *plan = NULL;
		struct byte_range range = { 0, file.size_bytes };
		assert_int_equal(reconstruction_plan_new(catalog, &file, range, &plan, NULL), HFKV_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranges_join_where_they_touch, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(terms_are_cut_to_the_chunks_asked, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(every_range_of_a_file_is_covered, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(a_catalog_that_contradicts_itself_is_told, scratch_make,
						scratch_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
