#include "backend/cas/reconstruction.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdio.h>
#include <string.h>

static struct reconstruction *parse_json(enum reconstruction_version version, const json_t *json)
{
	struct reconstruction *plan = NULL;
	struct fault fault = FAULT_NONE;
	char *text = json_dumps(json, 0);
	if (reconstruction_parse(version, text, strlen(text), &plan, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	free(text);
	return plan;
}

/* Every term of the answer, in its place, over a fetch that the answer offers for it. */
static void check_plan(const json_t *answer, const struct reconstruction *plan)
{
	const json_t *terms = json_object_get(answer, "terms"), *term;
	size_t index;
	uint64_t offset = 0;
	assert_int_equal(plan->skip_bytes, vectors_number(answer, "offset_into_first_range"));
	assert_int_equal(plan->term_count, json_array_size(terms));
	json_array_foreach(terms, index, term)
	{
		const struct reconstruction_term *got = &plan->terms[index];
		const struct reconstruction_fetch *fetch = &plan->fetches[got->fetch];
		const json_t *range = json_object_get(term, "range");
		vectors_expect_hash(&fetch->xorb, vectors_text(term, "hash"));
		assert_int_equal(got->chunk_start, vectors_number(range, "start"));
		assert_int_equal(got->chunk_end, vectors_number(range, "end"));
		assert_int_equal(got->raw_bytes, vectors_number(term, "unpacked_length"));
		assert_int_equal(got->plan_offset, offset);
		assert_true(fetch->chunk_start <= got->chunk_start && got->chunk_end <= fetch->chunk_end);
		assert_string_not_equal(fetch->url, "");
		offset += got->raw_bytes;
	}
	assert_int_equal(plan->total_bytes, offset);
}

/* The terms of each fetch are grouped under it, and no fetch is there twice. */
static void check_groups(const struct reconstruction *plan)
{
	size_t seen = 0;
	for (size_t i = 0; i < plan->fetch_count; i++) {
		const struct reconstruction_fetch *fetch = &plan->fetches[i];
		assert_true(fetch->term_count > 0);
		assert_ptr_equal(reconstruction_find(plan, fetch), fetch);
		for (uint32_t t = 0; t < fetch->term_count; t++)
			assert_int_equal(plan->terms[plan->by_fetch[fetch->first_term + t]].fetch, i);
		seen += fetch->term_count;
	}
	assert_int_equal(seen, plan->term_count);
}

static void answers_of_the_vectors_become_plans(void **state)
{
	(void)state;
	json_t *file = vectors_load("reconstruction.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		const json_t *v1_answer = json_object_get(one, "v1"), *v2_answer = json_object_get(one, "v2");
		struct reconstruction *v1 = parse_json(RECONSTRUCTION_V1, v1_answer);
		struct reconstruction *v2 = parse_json(RECONSTRUCTION_V2, v2_answer);
		check_plan(v1_answer, v1);
		check_plan(v2_answer, v2);
		check_groups(v1);
		check_groups(v2);
		assert_int_equal(v1->fetch_count, v2->fetch_count);
		for (size_t i = 0; i < v1->fetch_count; i++)
			assert_non_null(reconstruction_find(v2, &v1->fetches[i]));
		reconstruction_free(v1);
		reconstruction_free(v2);
	}
	assert_true(index > 5);
	json_decref(file);
}

#define HASH_A "00000000000000000000000000000000000000000000000000000000000000aa"
#define TERM   "{\"hash\":\"" HASH_A "\",\"unpacked_length\":10,\"range\":{\"start\":1,\"end\":2}}"
#define RANGES                                                                                                    \
	"{\"" HASH_A "\":[{\"url\":\"http://h/x\",\"ranges\":[{\"chunks\":{\"start\":0,\"end\":4},"               \
	"\"bytes\":{\"start\":0,\"end\":99}}]}]}"

static void answers_that_cannot_be_followed_are_refused(void **state)
{
	(void)state;
	static const char *const answers[] = {
		"",
		"null",
		"[]",
		"{",
		"{}",
		"\"x\"",
		"{\"offset_into_first_range\":0,\"terms\":[],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[" TERM "]}",
		"{\"offset_into_first_range\":0,\"terms\":[" TERM "],\"xorbs\":{}}",
		"{\"offset_into_first_range\":10,\"terms\":[" TERM "],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":-1,\"terms\":[" TERM "],\"xorbs\":" RANGES "}",
		"{\"terms\":[" TERM "],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[{}],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[{\"hash\":\"" HASH_A
		"\",\"unpacked_length\":10,\"range\":{\"start\":3,\"end\":5}}],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[{\"hash\":\"" HASH_A
		"\",\"unpacked_length\":10,\"range\":{\"start\":2,\"end\":2}}],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[{\"hash\":\"" HASH_A
		"\",\"unpacked_length\":0,\"range\":{\"start\":1,\"end\":2}}],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[{\"hash\":\"" HASH_A
		"\",\"unpacked_length\":131073,\"range\":{\"start\":1,\"end\":2}}],\"xorbs\":" RANGES "}",
		"{\"offset_into_first_range\":0,\"terms\":[" TERM "],\"xorbs\":{\"" HASH_A
		"\":[{\"url\":\"http://h/x\",\"ranges\":[{\"chunks\":{\"start\":0,\"end\":4},"
		"\"bytes\":{\"start\":9,\"end\":8}}]}]}}",
		"{\"offset_into_first_range\":0,\"terms\":[" TERM "],\"xorbs\":{\"" HASH_A
		"\":[{\"ranges\":[{\"chunks\":{\"start\":0,\"end\":4},\"bytes\":{\"start\":0,\"end\":8}}]}]}}",
		"{\"offset_into_first_range\":0,\"terms\":[" TERM "],\"xorbs\":{\"" HASH_A
		"\":[{\"url\":\"http://h/x\",\"ranges\":[{\"chunks\":{\"start\":0,\"end\":4},"
		"\"bytes\":{\"start\":0,\"end\":9223372036854775807}}]}]}}",
		"{\"offset_into_first_range\":0,\"terms\":[" TERM "],\"xorbs\":{\"short\":[]}}",
	};
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct reconstruction *plan = NULL;
		struct fault fault = FAULT_NONE;
		if (reconstruction_parse(RECONSTRUCTION_V2, answers[i], strlen(answers[i]), &plan, &fault) !=
		    HFKV_CORRUPT)
			fail_msg("taken: %s", answers[i]);
		assert_null(plan);
		assert_string_not_equal(fault.text, "");
	}
}

static void equal_ranges_of_several_terms_are_one_fetch(void **state)
{
	(void)state;
	static const char answer[] =
	    "{\"offset_into_first_range\":9,\"terms\":[" TERM "," TERM "," TERM "],\"xorbs\":" RANGES "}";
	struct reconstruction *plan = NULL;
	assert_int_equal(reconstruction_parse(RECONSTRUCTION_V2, answer, strlen(answer), &plan, NULL), HFKV_OK);
	assert_int_equal(plan->fetch_count, 1);
	assert_int_equal(plan->fetches[0].term_count, 3);
	assert_int_equal(plan->total_bytes, 30);
	reconstruction_free(plan);
}

/* Every prefix of a good answer is refused, and the whole is not. */
static void a_cut_answer_is_refused(void **state)
{
	(void)state;
	static const char answer[] = "{\"offset_into_first_range\":0,\"terms\":[" TERM "],\"xorbs\":" RANGES "}";
	for (size_t length = 0; length <= strlen(answer); length++) {
		struct reconstruction *plan = NULL;
		enum hfkv_status status = reconstruction_parse(RECONSTRUCTION_V2, answer, length, &plan, NULL);
		assert_int_equal(status, length == strlen(answer) ? HFKV_OK : HFKV_CORRUPT);
		reconstruction_free(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_the_vectors_become_plans),
		cmocka_unit_test(answers_that_cannot_be_followed_are_refused),
		cmocka_unit_test(equal_ranges_of_several_terms_are_one_fetch),
		cmocka_unit_test(a_cut_answer_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
