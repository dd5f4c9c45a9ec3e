#include "tests/unit/cmocka_prelude.h"

#include "cache/key_codec.h"
#include "common/cleanup.h"

#include <stdio.h>
#include <string.h>

static void expect_names(const char *key, const char *file, const char *object)
{
	CLEANUP(free_pointer) char *name = NULL, *back = NULL, *object_name = NULL, *key_again = NULL;
	assert_int_equal(key_to_file_name(key, &name), HFKV_OK);
	assert_string_equal(name, file);
	assert_int_equal(key_from_file_name(file, &back), HFKV_OK);
	assert_string_equal(back, key);
	assert_int_equal(key_to_object_name(key, &object_name), HFKV_OK);
	assert_string_equal(object_name, object);
	assert_int_equal(key_from_object_name(object, &key_again), HFKV_OK);
	assert_string_equal(key_again, key);
}

static void names_of_ordinary_and_odd_keys(void **state)
{
	(void)state;
	expect_names("org/m@1@0@ab12@bfloat16", "org-SEP-m@1@0@ab12@bfloat16.data",
		     "org%2Fm%401%400%40ab12%40bfloat16");
	expect_names("m@1@0@ab@bfloat16@user%42", "m@1@0@ab@bfloat16@user%42.data",
		     "m%401%400%40ab%40bfloat16%40user%2542");
	expect_names("m@01000100@0@ab", "m@0x01000100@0@ab.data", "m%4001000100%400%40ab");
	expect_names("org/m@01000100@0@ab@salt", "org-SEP-m@0x01000100@0@ab@salt.data",
		     "org%2Fm%4001000100%400%40ab%40salt");
	expect_names("m@01000100@ab", "m@0x01000100@ab.data", "m%4001000100%40ab");
	expect_names("m@1ffffffff@0@ab", "m@0x1ffffffff@0@ab.data", "m%401ffffffff%400%40ab");
	/* A second field with 0x of its own is no rank: only the @-form gives it back. */
	expect_names("m@0x01000100@0@ab", "@m%400x01000100%400%40ab.data", "m%400x01000100%400%40ab");
	expect_names("m@00000000001@0@ab", "m@00000000001@0@ab.data", "m%4000000000001%400%40ab");
	expect_names("org/m-SEP-x@1@0@ab@half", "@org%2Fm-SEP-x%401%400%40ab%40half.data",
		     "org%2Fm-SEP-x%401%400%40ab%40half");
	expect_names("org/m/x@1@0@ab@half", "org-SEP-m-SEP-x@1@0@ab@half.data", "org%2Fm%2Fx%401%400%40ab%40half");
	expect_names("a-SEP/b", "@a-SEP%2Fb.data", "a-SEP%2Fb");
	expect_names("a/SEP-b", "a-SEP-SEP-b.data", "a%2FSEP-b");
	expect_names("@odd", "@%40odd.data", "%40odd");
	expect_names("%41", "%41.data", "%2541");
	expect_names("A", "A.data", "A");
	expect_names("#?%2F +&'\"\xC3\xA9", "#?%2F +&'\"\xC3\xA9.data", "%23%3F%252F%20%2B%26%27%22%C3%A9");
	expect_names("sess.json", "sess.json.data", "sess.json");
}

static void refuses_names_that_no_key_has(void **state)
{
	(void)state;
	static const char *const files[] = {
		".data",
		"a",
		"a.tmp",
		".x.data.AbC123",
		"m@01000100@0@ab.data",
		"@m.data",
		"@m%401.data",
		"@%4.data",
		"@%61.data",
		"@a b.data",
		"@.data",
		"..data",
		"...data",
		"\xFF.data",
		"\xC0\x80.data",
		"\xED\xA0\x80.data",
	};
	static const char *const objects[] = {
		"", ".", "..", "%41", "%2f", "a/b", "a b", "%", "%4", "%FF", "%00", "%C0%80", "\xC3\xA9", "a%",
	};
	char *ret = NULL;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (key_from_file_name(files[i], &ret) != HFKV_INVALID)
			fail_msg("file name '%s' was taken", files[i]);
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		if (key_from_object_name(objects[i], &ret) != HFKV_INVALID)
			fail_msg("object name '%s' was taken", objects[i]);
	assert_null(ret);
}

static void limits_are_on_the_result(void **state)
{
	(void)state;
	char key[1100];
	char *ret = NULL;
	memset(key, 'k', sizeof(key));
	key[FILE_NAME_MAX_BYTES - 5] = '\0';
	assert_int_equal(key_to_file_name(key, &ret), HFKV_OK);
	assert_int_equal(strlen(ret), FILE_NAME_MAX_BYTES);
	free(ret);
	ret = NULL;
	memset(key, 'k', sizeof(key));
	key[FILE_NAME_MAX_BYTES - 4] = '\0';
	assert_int_equal(key_to_file_name(key, &ret), HFKV_OVERSIZE);
	memset(key, 'k', sizeof(key));
	key[OBJECT_NAME_MAX_BYTES] = '\0';
	assert_int_equal(key_to_object_name(key, &ret), HFKV_OK);
	free(ret);
	ret = NULL;
	key[0] = '@';
	assert_int_equal(key_to_object_name(key, &ret), HFKV_OVERSIZE);
	assert_null(ret);
}

static void families(void **state)
{
	(void)state;
	static const struct {
		const char *key;
		enum key_family family;
	} cases[] = {
		{ "m@1@0@ab@half", KEY_FAMILY_NON_MP },
		{ "org/m@8@7@-1f@bfloat16@3@tag%v", KEY_FAMILY_NON_MP },
		{ "m@1@0@0@half", KEY_FAMILY_NON_MP },
		{ "m@1@0@xy@half", KEY_FAMILY_OTHER },
		{ "m@1@0@ab", KEY_FAMILY_OTHER },
		{ "m@1@0@@half", KEY_FAMILY_OTHER },
		{ "@1@0@ab@half", KEY_FAMILY_OTHER },
		{ "m@1@0@ab@", KEY_FAMILY_OTHER },
		{ "m@01000100@0@ab", KEY_FAMILY_MP },
		{ "m@01000100@1f@ab@salt", KEY_FAMILY_MP },
		{ "m@123456789@0@ab", KEY_FAMILY_MP },
		{ "m@01000100@ab", KEY_FAMILY_MP_OLD },
		{ "m@01000100@0@ab@s@t", KEY_FAMILY_OTHER },
		{ "m@0A000100@0@ab", KEY_FAMILY_OTHER },
		{ "m@012345678@0@ab", KEY_FAMILY_OTHER },
		{ "m", KEY_FAMILY_OTHER },
		{ "", KEY_FAMILY_OTHER },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (key_family_of(cases[i].key) != cases[i].family)
			fail_msg("family of '%s'", cases[i].key);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Keys from pieces that collide on purpose. */
static void random_key(uint64_t *seed, char key[256])
{
	static const char *const pieces[] = {
		"a",  "b",        "/",          "-SEP-",        "-SEP", "SEP-", "-",   "@",
		"0x", "01000100", "@01000100@", "@0x01000100@", "%",    "2F",   "%2F", "@0@ab",
		".",  ".data",    " ",          "\xC3\xA9",     "SEP",  "~",    "%40",
	};
	size_t count = 1 + next_random(seed) % 6;
	key[0] = '\0';
	for (size_t i = 0; i < count; i++)
		strcat(key, pieces[next_random(seed) % (sizeof(pieces) / sizeof(*pieces))]);
}

static int by_file_name(const void *a, const void *b)
{
	return strcmp(((char *const *)a)[0], ((char *const *)b)[0]);
}

/* Round trips of random keys; then sorted by file name (and by object name): equal names only for equal keys. */
static void random_keys_round_trip_and_share_no_name(void **state)
{
	(void)state;
	enum { KEYS = 20000 };
	char *(*files)[2] = calloc(KEYS, sizeof(*files)), *(*objects)[2] = calloc(KEYS, sizeof(*objects));
	uint64_t seed = 88172645463325252ULL;
	size_t count = 0;
	while (count < KEYS) {
		char key[256];
		random_key(&seed, key);
		if (strcmp(key, ".") == 0 || strcmp(key, "..") == 0)
			continue;
		char *back = NULL, *object = NULL;
		assert_int_equal(key_to_file_name(key, &files[count][0]), HFKV_OK);
		assert_int_equal(key_from_file_name(files[count][0], &back), HFKV_OK);
		assert_string_equal(back, key);
		assert_int_equal(file_name_to_object_name(files[count][0], &objects[count][0]), HFKV_OK);
		assert_int_equal(object_name_to_file_name(objects[count][0], &object), HFKV_OK);
		assert_string_equal(object, files[count][0]);
		free(object);
		files[count][1] = back;
		objects[count][1] = back;
		count++;
	}
	qsort(files, KEYS, sizeof(*files), by_file_name);
	qsort(objects, KEYS, sizeof(*objects), by_file_name);
	for (size_t i = 1; i < KEYS; i++) {
		assert_int_equal(strcmp(files[i - 1][0], files[i][0]) == 0,
				 strcmp(files[i - 1][1], files[i][1]) == 0);
		assert_int_equal(strcmp(objects[i - 1][0], objects[i][0]) == 0,
				 strcmp(objects[i - 1][1], objects[i][1]) == 0);
	}
	for (size_t i = 0; i < KEYS; i++) {
		free(files[i][0]);
		free(files[i][1]);
		free(objects[i][0]);
	}
	free(files);
	free(objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_ordinary_and_odd_keys),
		cmocka_unit_test(refuses_names_that_no_key_has),
		cmocka_unit_test(limits_are_on_the_result),
		cmocka_unit_test(families),
		cmocka_unit_test(random_keys_round_trip_and_share_no_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
