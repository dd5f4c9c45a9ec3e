#include "backend/xet/bg4.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <openssl/evp.h>
#include <stdlib.h>

static void expect_hex(const uint8_t *got, size_t length, const char *hex)
{
	struct bytes want = vectors_from_hex(hex);
	assert_int_equal(length, want.length);
	assert_memory_equal(got, want.data, length);
	bytes_done(&want);
}

static void expect_sha256(const uint8_t *got, size_t length, const char *hex)
{
	uint8_t digest[32];
	assert_int_equal(EVP_Digest(got, length, digest, NULL, EVP_sha256(), NULL), 1);
	expect_hex(digest, sizeof(digest), hex);
}

static void grouping_follows_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("bg4.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		const json_t *gen = json_object_get(one, "gen");
		struct bytes in = gen ? vectors_generate(gen) : vectors_from_hex(vectors_text(one, "in_hex"));
		uint8_t *out = malloc(in.length + 1), *back = malloc(in.length + 1);
		bg4_split(in.data, in.length, out);
		if (gen)
			expect_sha256(out, in.length, vectors_text(one, "out_sha256"));
		else
			expect_hex(out, in.length, vectors_text(one, "out_hex"));
		bg4_join(out, in.length, back);
		assert_memory_equal(back, in.data, in.length);
		free(out);
		free(back);
		bytes_done(&in);
	}
	assert_true(index > 10);
	json_decref(file);
}

static void join_undoes_split_for_every_length(void **state)
{
	(void)state;
	for (size_t length = 0; length < 300; length++) {
		struct bytes in = vectors_random(length, length);
		uint8_t *grouped = malloc(length ? length : 1), *joined = malloc(length ? length : 1);
		bg4_split(in.data, length, grouped);
		bg4_join(grouped, length, joined);
		assert_memory_equal(joined, in.data, length);
		free(grouped);
		free(joined);
		bytes_done(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grouping_follows_the_vectors),
		cmocka_unit_test(join_undoes_split_for_every_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
