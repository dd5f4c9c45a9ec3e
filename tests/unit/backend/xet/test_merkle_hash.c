#include "backend/xet/merkle_hash.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <string.h>

static void hash_strings_follow_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("hash_string.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes raw = vectors_from_hex(vectors_text(one, "raw_bytes_hex"));
		struct content_hash hash;
		assert_int_equal(raw.length, sizeof(hash.bytes));
		memcpy(hash.bytes, raw.data, raw.length);
		vectors_expect_hash(&hash, vectors_text(one, "xet_string"));
		assert_int_equal(merkle_hash_is_dedup_eligible(&hash), vectors_number(one, "mod1024") == 0);
		bytes_done(&raw);
	}
	assert_true(index > 0);
	json_decref(file);
}

static void chunk_hashes_follow_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("chunk_hash.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes input = vectors_generate(json_object_get(one, "gen"));
		struct content_hash hash;
		merkle_hash_xet_chunk(input.data, input.length, &hash);
		vectors_expect_hash(&hash, vectors_text(one, "chunk_hash"));
		assert_int_equal(merkle_hash_is_dedup_eligible(&hash),
				 json_is_true(json_object_get(one, "dedup_eligible")));
		bytes_done(&input);
	}
	assert_true(index > 0);
	json_decref(file);
}

static void keyed_hashes_follow_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("hmac.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes key = vectors_from_hex(vectors_text(one, "key_raw_hex"));
		struct content_hash message = vectors_hash(one, "msg"), out;
		merkle_hash_keyed(key.data, &message, &out);
		vectors_expect_hash(&out, vectors_text(one, "out"));
		bytes_done(&key);
	}
	assert_true(index > 0);
	json_decref(file);
}

static void add_generated_leaves(struct merkle_root *root, const json_t *gen)
{
	uint64_t seed = vectors_number(gen, "seed"), count = vectors_number(gen, "count");
	for (uint64_t i = 0; i < count; i++) {
		uint8_t text[16];
		struct content_hash hash;
		for (size_t b = 0; b < 8; b++) {
			text[b] = (uint8_t)(seed >> (8 * b));
			text[8 + b] = (uint8_t)(i >> (8 * b));
		}
		merkle_hash_xet_chunk(text, sizeof(text), &hash);
		merkle_root_add(root, &hash, (i * 7919 + 1) % 131072 + 1);
	}
}

static void merkle_roots_follow_the_vectors(void **state)
{
	(void)state;
	json_t *file = vectors_load("merkle.json"), *one, *leaf;
	struct bytes salt = vectors_from_hex(vectors_text(file, "salt_raw_hex"));
	struct merkle_root root;
	size_t index, leaf_index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct content_hash got, hash;
		merkle_root_init(&root);
		if (json_object_get(one, "leaf_gen"))
			add_generated_leaves(&root, json_object_get(one, "leaf_gen"));
		json_array_foreach(json_object_get(one, "leaves"), leaf_index, leaf)
		{
			hash = vectors_parse_hash(json_string_value(json_array_get(leaf, 0)));
			merkle_root_add(&root, &hash, (uint64_t)json_integer_value(json_array_get(leaf, 1)));
		}
		merkle_root_finish(&root, &got);
		vectors_expect_hash(&got, vectors_text(one, "xorb_hash"));
		const struct content_hash *file_root = root.level_count > 0 ? &got : NULL;
		merkle_hash_file(file_root, &hash);
		vectors_expect_hash(&hash, vectors_text(one, "file_hash"));
		merkle_hash_file_salted(file_root, salt.data, &hash);
		vectors_expect_hash(&hash, vectors_text(one, "file_hash_salted"));
	}
	assert_true(index > 100);
	bytes_done(&salt);
	json_decref(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_strings_follow_the_vectors),
		cmocka_unit_test(chunk_hashes_follow_the_vectors),
		cmocka_unit_test(keyed_hashes_follow_the_vectors),
		cmocka_unit_test(merkle_roots_follow_the_vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
