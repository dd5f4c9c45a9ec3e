#include "tests/unit/cmocka_prelude.h"

#include "backend/store/bucket_url.h"
#include "common/attributes.h"

#include <string.h>

static void test_good(void **state)
{
	(void)state;
	const struct {
		const char *text, *bucket, *path;
	} cases[] = {
		{ "hf://buckets/ns/b", "ns/b", "" },
		{ "hf://buckets/ns/b/", "ns/b", "" },
		{ "  hf://buckets/ns/b/a/b c/%2F#?\n", "ns/b", "a/b c/%2F#?" },
		{ "hf://buckets//ns///b//x//y/", "ns/b", "x/y" },
		{ "hf://buckets/My-Org_1/b.2/...", "My-Org_1/b.2", "..." },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bucket_url url;
		struct fault fault = FAULT_NONE;
		if (bucket_url_parse(cases[i].text, &url, &fault) != HFKV_OK)
			fail_msg("%s: %s", cases[i].text, fault.text);
		assert_string_equal(url.bucket, cases[i].bucket);
		assert_string_equal(url.path, cases[i].path);
		bucket_url_done(&url);
	}
}

static void test_bad(void **state)
{
	(void)state;
	const struct {
		const char *text, *words;
	} cases[] = {
		{ "hf:/buckets/a/b", "two slashes" },
		{ "hf:buckets/a/b", "two slashes" },
		{ "hf://buckets/a", "no bucket" },
		{ "hf://buckets", "no bucket" },
		{ "hf://buckets/", "no bucket" },
		{ "hf://buckets/a/ b", "letters, digits" },
		{ "hf://buckets/a b/c", "letters" },
		{ "hf://buckets/a/b/../c", "'..'" },
		{ "hf://buckets/a/../b", "letters" },
		{ "hf://buckets/a/b/./c", "'.'" },
		{ "hf://models/a/b", "not a bucket" },
		{ "hf://a/b", "not a bucket" },
		{ "s3://a/b", "another scheme" },
		{ "org/repo", "not a bucket URL" },
		{ "", "not a bucket URL" },
		{ "hf://buckets/a/b/\xff", "UTF-8" },
		{ "hf://", "scheme" },
		{ "HF://buckets/a/b", "scheme" },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bucket_url url;
		struct fault fault = FAULT_NONE;
		assert_int_equal(bucket_url_parse(cases[i].text, &url, &fault), HFKV_INVALID);
		if (!strstr(fault.text, cases[i].words))
			fail_msg("%s: %s", cases[i].text, fault.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_good), cmocka_unit_test(test_bad) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
