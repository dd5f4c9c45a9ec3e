/* Pages over a list in memory, which stands for the catalog's scan. */
#include "tests/unit/cmocka_prelude.h"

#include "backend/local_server/tree_page.h"

#include <stdio.h>
#include <string.h>

static const char *const keys[] = { "a",  "a/1",       "a/1#x",  "a/b/c",    "a/b/d",
				    "a0", "logs.json", "logs/x", "logs_b/1", "z/z/z" };

static void add_file(void *context, const struct catalog_object *object)
{
	strcat(context, object->path);
	strcat(context, " ");
}

static void add_directory(void *context, const char *path, size_t length)
{
	strncat(context, path, length);
	strcat(context, "/ ");
}

static int compare(const char *key, const char *bound, size_t bound_bytes)
{
	size_t key_bytes = strlen(key), common = key_bytes < bound_bytes ? key_bytes : bound_bytes;
	int order = common ? memcmp(key, bound, common) : 0;
	return order ? order : (key_bytes > bound_bytes) - (key_bytes < bound_bytes);
}

/* Follows the contract of catalog_objects_scan. */
static void scan(struct tree_page *page, const char *from, size_t from_bytes)
{
	char bound[CATALOG_SCAN_BOUND_BYTES];
	size_t bound_bytes = from_bytes;
	if (from_bytes)
		memcpy(bound, from, from_bytes);
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		if (compare(keys[i], bound, bound_bytes) < 0 ||
		    strncmp(keys[i], page->prefix, strlen(page->prefix)) != 0)
			continue;
		struct catalog_object object = { .path = keys[i], .path_bytes = strlen(keys[i]) };
		if (tree_page_visit(page, &object, bound, &bound_bytes) == CATALOG_SCAN_STOP)
			return;
	}
}

/* All pages, which must join to `want` whatever their size is. */
static void expect(const char *prefix, bool one_level, const char *want)
{
	for (size_t limit = 1; limit <= ARRAY_LENGTH(keys) + 1; limit++) {
		char got[1000] = "", from[CATALOG_SCAN_BOUND_BYTES];
		size_t from_bytes = 0;
		for (bool more = true; more;) {
			struct tree_page page = { .prefix = prefix,
						  .one_level = one_level,
						  .limit = limit,
						  .file = add_file,
						  .directory = add_directory,
						  .context = got };
			scan(&page, from, from_bytes);
			more = page.more;
			char cursor[TREE_CURSOR_BYTES];
			tree_page_write_cursor(&page, cursor);
			assert_true(tree_page_read_cursor(cursor, from, &from_bytes));
			assert_true(page.shown <= limit);
		}
		assert_string_equal(got, want);
	}
}

static void pages_join_to_the_whole(void **state)
{
	(void)state;
	expect("", false, "a a/1 a/1#x a/b/c a/b/d a0 logs.json logs/x logs_b/1 z/z/z ");
	expect("a/1", false, "a/1 a/1#x ");
	expect("none", false, "");
	expect("", true, "a a/ a0 logs.json logs/ logs_b/ z/ ");
	expect("a", true, "a a/1 a/1#x a/b/ a0 ");
	expect("a/", true, "a/1 a/1#x a/b/ ");
	expect("a/b", true, "a/b/c a/b/d ");
	expect("logs", true, "logs.json logs/x logs_b/ ");
	expect("z", true, "z/z/ ");
}

static void foreign_cursors_are_refused(void **state)
{
	(void)state;
	char from[CATALOG_SCAN_BOUND_BYTES], huge[2 * CATALOG_SCAN_BOUND_BYTES + 3];
	size_t from_bytes = 0;
	memset(huge, 'a', sizeof(huge));
	huge[sizeof(huge) - 1] = '\0';
	assert_false(tree_page_read_cursor("a", from, &from_bytes));
	assert_false(tree_page_read_cursor("zz", from, &from_bytes));
	assert_false(tree_page_read_cursor("6A", from, &from_bytes));
	assert_false(tree_page_read_cursor(huge, from, &from_bytes));
	assert_true(tree_page_read_cursor("", from, &from_bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_join_to_the_whole),
		cmocka_unit_test(foreign_cursors_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
