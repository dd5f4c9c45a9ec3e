#include "tests/unit/cmocka_prelude.h"

#include "fuse/fs_name_rule.h"
#include "fuse/inode_table.h"

#include <errno.h>
#include <string.h>

static const struct fs_name_rule kv = { FS_LAYOUT_KV, "tmp/here" };
static const struct fs_name_rule plain = { FS_LAYOUT_PLAIN, NULL };

static void expect(const struct fs_name_rule *rule, const char *directory, const char *name, enum fs_name_kind kind,
		   const char *path)
{
	enum fs_name_kind found = FS_NAME_LOCAL;
	CLEANUP(free_pointer) char *found_path = NULL;
	assert_int_equal(fs_name_classify(rule, directory, name, &found, &found_path), 0);
	assert_int_equal(found, kind);
	assert_string_equal(found_path, path);
}

static void expect_error(const struct fs_name_rule *rule, const char *directory, const char *name, int error)
{
	enum fs_name_kind kind = FS_NAME_LOCAL;
	char *path = NULL;
	assert_int_equal(fs_name_classify(rule, directory, name, &kind, &path), error);
	assert_null(path);
}

static void data_names_are_chunks(void **state)
{
	(void)state;
	expect(&kv, "", "m@1@0@ab@half.data", FS_NAME_OBJECT, "m%401%400%40ab%40half");
	expect(&kv, "sub/dir", "org-SEP-m.data", FS_NAME_OBJECT, "sub/dir/org%2Fm");
	expect(&kv, "", "m@0x01000100@0@ab.data", FS_NAME_OBJECT, "m%4001000100%400%40ab");
	expect_error(&kv, "", "m@01000100@0@ab.data", EINVAL);
	expect_error(&kv, "", "\xff.data", EINVAL);
}

static void scratch_names_are_local(void **state)
{
	(void)state;
	expect(&kv, "", "k.tmp", FS_NAME_LOCAL, "k.tmp");
	expect(&kv, "a", ".x.data.AbC123", FS_NAME_LOCAL, "a/.x.data.AbC123");
	expect(&kv, ".hidden", "m.data", FS_NAME_LOCAL, ".hidden/m.data");
	expect(&kv, "a/.hidden/b", "m.data", FS_NAME_LOCAL, "a/.hidden/b/m.data");
	expect(&kv, "tmp/here", "m.data", FS_NAME_LOCAL, "tmp/here/m.data");
	expect(&kv, "base/tmp/here/deep", "m.data", FS_NAME_LOCAL, "base/tmp/here/deep/m.data");
	expect(&kv, "tmp", "here", FS_NAME_LOCAL, "tmp/here");
	expect(&kv, "tmp/hereafter", "m.data", FS_NAME_OBJECT, "tmp/hereafter/m");
	expect(&kv, "xtmp/here", "m.data", FS_NAME_OBJECT, "xtmp/here/m");
}

static void other_names_are_either(void **state)
{
	(void)state;
	expect(&kv, "", "Llama-3.1-8B", FS_NAME_EITHER, "Llama-3.1-8B");
	expect(&kv, "a", "notes.txt", FS_NAME_EITHER, "a/notes.txt");
	expect(&kv, "", "tmp", FS_NAME_EITHER, "tmp");
}

static void plain_names_are_themselves(void **state)
{
	(void)state;
	expect(&plain, "", "%41", FS_NAME_OBJECT, "%41");
	expect(&plain, "a", ".hidden.data", FS_NAME_OBJECT, "a/.hidden.data");
	expect(&plain, "", "\xc3\xbc\xe9\x94\xae\xf0\x9f\x98\x80", FS_NAME_OBJECT, "\xc3\xbc\xe9\x94\xae\xf0\x9f\x98\x80");
	const char *const broken[] = { "\xff", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xc3", "\x80" };
	for (size_t i = 0; i < ARRAY_LENGTH(broken); i++)
		expect_error(&plain, "", broken[i], EINVAL);
}

static void limits(void **state)
{
	(void)state;
	char name[FS_NAME_MAX_BYTES + 2];
	memset(name, 'x', sizeof(name));
	name[FS_NAME_MAX_BYTES + 1] = '\0';
	expect_error(&kv, "", name, ENAMETOOLONG);
	expect_error(&plain, "", name, ENAMETOOLONG);
	expect_error(&kv, "", FS_STATUS_FILE_NAME, EINVAL);
	expect(&kv, "a", FS_STATUS_FILE_NAME, FS_NAME_LOCAL, "a/" FS_STATUS_FILE_NAME);
}

static void expect_listed(const struct fs_name_rule *rule, const char *name, bool is_directory, const char *shown)
{
	CLEANUP(free_pointer) char *found = fs_name_of_listed(rule, "", name, is_directory);
	if (shown)
		assert_string_equal(found, shown);
	else
		assert_null(found);
}

static void listings_show_what_can_be_reached(void **state)
{
	(void)state;
	expect_listed(&kv, "m%401", false, "m@1.data");
	expect_listed(&kv, "%41", false, NULL);
	expect_listed(&kv, "A", false, "A.data");
	expect_listed(&kv, "white space", false, NULL);
	expect_listed(&kv, "sub", true, "sub");
	const char *const hidden[] = { ".git", "x.tmp", "x.data", "..", ".", "", "a/b" };
	for (size_t i = 0; i < ARRAY_LENGTH(hidden); i++)
		expect_listed(&kv, hidden[i], true, NULL);
	expect_listed(&plain, "%41", false, "%41");
	expect_listed(&plain, ".git", true, ".git");
	expect_listed(&plain, "..", false, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_names_are_chunks),   cmocka_unit_test(scratch_names_are_local),
		cmocka_unit_test(other_names_are_either),  cmocka_unit_test(plain_names_are_themselves),
		cmocka_unit_test(limits),                  cmocka_unit_test(listings_show_what_can_be_reached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
