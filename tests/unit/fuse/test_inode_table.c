#include "tests/unit/cmocka_prelude.h"

#include "fuse/inode_table.h"

#include <stdatomic.h>
#include <string.h>

static atomic_int released;

static void count_release(void *context, struct fs_inode *inode)
{
	(void)context;
	(void)inode;
	atomic_fetch_add(&released, 1);
}

static int set_up(void **state)
{
	struct inode_table *table = NULL;
	atomic_store(&released, 0);
	assert_int_equal(inode_table_new(count_release, NULL, &table), HFKV_OK);
	*state = table;
	return 0;
}

static int tear_down(void **state)
{
	inode_table_free(*state);
	return 0;
}

static struct fs_inode *add_bound(struct inode_table *table, struct fs_inode *directory, const char *name, bool keep,
				  enum fs_inode_kind kind)
{
	struct fs_inode *inode = inode_table_add(table, kind), *displaced = NULL;
	assert_non_null(inode);
	assert_int_equal(inode_table_bind(table, directory, name, inode, keep, &displaced), HFKV_OK);
	assert_null(displaced);
	return inode;
}

static void an_inode_ends_with_its_last_reference_and_its_name_with_it(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	struct fs_inode *inode = add_bound(table, root, "a", false, FS_INODE_FILE);
	struct fs_inode *found = inode_table_find(table, root, "a");
	assert_ptr_equal(found, inode);
	inode_table_unref(table, found);
	assert_int_equal(atomic_load(&released), 0);
	inode_table_unref(table, inode);
	assert_int_equal(atomic_load(&released), 1);
	assert_null(inode_table_find(table, root, "a"));
	assert_int_equal(inode_table_count(table), 1);
}

static void the_kernel_keeps_what_it_looked_up(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	struct fs_inode *inode = add_bound(table, root, "a", false, FS_INODE_FILE);
	inode_table_looked_up(table, inode);
	inode_table_looked_up(table, inode);
	inode_table_unref(table, inode);
	assert_int_equal(atomic_load(&released), 0);
	inode_table_forget(table, inode, 1);
	assert_int_equal(atomic_load(&released), 0);
	inode_table_forget(table, inode, 1);
	assert_int_equal(atomic_load(&released), 1);
}

static void a_name_keeps_what_it_is_told_to_keep(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	struct fs_inode *inode = add_bound(table, root, "a", true, FS_INODE_FILE);
	inode_table_unref(table, inode);
	assert_int_equal(atomic_load(&released), 0);
	assert_true(inode_table_has_kept(table, root));
	assert_true(inode_table_unbind(table, inode));
	assert_int_equal(atomic_load(&released), 1);
	assert_false(inode_table_has_kept(table, root));
}

static void a_second_binding_displaces_the_first(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	struct fs_inode *first = add_bound(table, root, "a", true, FS_INODE_FILE), *displaced = NULL;
	struct fs_inode *second = inode_table_add(table, FS_INODE_FILE);
	assert_int_equal(inode_table_bind(table, root, "a", second, false, &displaced), HFKV_OK);
	assert_ptr_equal(displaced, first);
	assert_false(inode_table_has_name(table, first));
	assert_true(inode_table_has_name(table, second));
	inode_table_unref(table, displaced);
	inode_table_unref(table, first);
	assert_int_equal(atomic_load(&released), 1);
	inode_table_unref(table, second);
	assert_int_equal(atomic_load(&released), 2);
}

static bool is_the_one(struct fs_inode *inode, const void *context)
{
	return inode == context;
}

static void a_private_inode_becomes_current_under_its_own_name(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table), *displaced = NULL;
	struct fs_inode *writer = inode_table_add(table, FS_INODE_FILE);
	assert_int_equal(inode_table_bind_private(table, root, "a", writer), HFKV_OK);
	assert_null(inode_table_find(table, root, "a"));
	struct fs_inode *found = inode_table_find_private(table, root, "a", is_the_one, writer);
	assert_ptr_equal(found, writer);
	inode_table_unref(table, found);
	assert_int_equal(inode_table_bind(table, root, "a", writer, false, &displaced), HFKV_OK);
	assert_null(displaced);
	assert_null(inode_table_find_private(table, root, "a", is_the_one, writer));
	found = inode_table_find(table, root, "a");
	assert_ptr_equal(found, writer);
	inode_table_unref(table, found);
	assert_true(inode_table_unbind(table, writer));
	assert_false(inode_table_unbind(table, writer));
	inode_table_unref(table, writer);
	assert_int_equal(atomic_load(&released), 1);
}

static void find_or_bind_reuses_what_is_the_same(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	struct fs_inode *first = add_bound(table, root, "a", false, FS_INODE_FILE);
	struct fs_inode *second = inode_table_add(table, FS_INODE_FILE);
	struct fs_inode *result = inode_table_find_or_bind(table, root, "a", second, is_the_one, first);
	assert_ptr_equal(result, first);
	inode_table_unref(table, result);
	result = inode_table_find_or_bind(table, root, "a", second, is_the_one, second);
	assert_ptr_equal(result, second);
	assert_false(inode_table_has_name(table, first));
	inode_table_unref(table, result);
	inode_table_unref(table, first);
	inode_table_unref(table, second);
	assert_int_equal(atomic_load(&released), 2);
}

static void paths_follow_directories_that_move(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table), *displaced = NULL;
	struct fs_inode *a = add_bound(table, root, "a", true, FS_INODE_DIRECTORY);
	struct fs_inode *b = add_bound(table, a, "b", true, FS_INODE_DIRECTORY);
	struct fs_inode *file = add_bound(table, b, "x", true, FS_INODE_FILE);
	CLEANUP(free_pointer) char *before = inode_table_path(table, file);
	assert_string_equal(before, "a/b/x");
	assert_int_equal(inode_table_bind(table, root, "c", a, true, &displaced), HFKV_OK);
	CLEANUP(free_pointer) char *after = inode_table_path(table, file);
	assert_string_equal(after, "c/b/x");
	CLEANUP(free_pointer) char *of_root = inode_table_path(table, root);
	assert_string_equal(of_root, "");
	assert_true(inode_table_unbind(table, b));
	assert_null(inode_table_path(table, file));
	inode_table_unref(table, a);
	inode_table_unref(table, b);
	inode_table_unref(table, file);
}

static void names_of_the_greatest_length_are_apart(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	char one[FS_NAME_MAX_BYTES + 1], other[FS_NAME_MAX_BYTES + 1];
	memset(one, 'x', FS_NAME_MAX_BYTES);
	one[FS_NAME_MAX_BYTES] = '\0';
	memcpy(other, one, sizeof(one));
	other[FS_NAME_MAX_BYTES - 1] = 'y';
	struct fs_inode *inode = add_bound(table, root, one, true, FS_INODE_FILE);
	assert_null(inode_table_find(table, root, other));
	struct fs_inode *directory = NULL;
	CLEANUP(free_pointer) char *name = NULL;
	assert_true(inode_table_locate(table, inode, &directory, &name));
	assert_string_equal(name, one);
	inode_table_unref(table, directory);
	inode_table_unref(table, inode);
}

static bool count_visit(void *context, const char *name, struct fs_inode *inode)
{
	(void)name;
	(void)inode;
	(*(int *)context)++;
	return true;
}

static void visits_see_kept_names_only(void **state)
{
	struct inode_table *table = *state;
	struct fs_inode *root = inode_table_root(table);
	struct fs_inode *kept = add_bound(table, root, "kept", true, FS_INODE_FILE);
	struct fs_inode *cached = add_bound(table, root, "cached", false, FS_INODE_FILE);
	int seen = 0;
	inode_table_visit_kept(table, root, count_visit, &seen);
	assert_int_equal(seen, 1);
	inode_table_unref(table, kept);
	inode_table_unref(table, cached);
}

/* ---- threads ---- */

#define THREADS 4
#define TURNS   3000

static bool is_any(struct fs_inode *inode, const void *context)
{
	(void)inode;
	(void)context;
	return true;
}

static void *use_table(void *argument)
{
	struct inode_table *table = argument;
	struct fs_inode *root = inode_table_root(table);
	static const char *const names[] = { "a", "b", "c" };
	for (int i = 0; i < TURNS; i++) {
		const char *name = names[i % 3];
		struct fs_inode *inode = inode_table_add(table, FS_INODE_FILE), *displaced = NULL;
		if (i % 5 == 0) {
			assert_int_equal(inode_table_bind_private(table, root, name, inode), HFKV_OK);
			inode_table_unbind(table, inode);
		} else {
			assert_int_equal(inode_table_bind(table, root, name, inode, i % 2, &displaced), HFKV_OK);
		}
		inode_table_unref(table, displaced);
		struct fs_inode *found = inode_table_find_or_bind(table, root, name, inode, is_any, NULL);
		inode_table_looked_up(table, found);
		free(inode_table_path(table, found)); /* walks up while others rebind */
		inode_table_forget(table, found, 1);
		inode_table_unref(table, found);
		inode_table_unref(table, inode);
	}
	return NULL;
}

static void threads_share_the_table(void **state)
{
	struct inode_table *table = *state;
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_table, table), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* At most one kept inode is left under each name, beside the root. */
	assert_true(inode_table_count(table) <= 4);
	assert_int_equal((size_t)atomic_load(&released) + inode_table_count(table), THREADS * TURNS + 1);
}

int main(void)
{
#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_TABLE(an_inode_ends_with_its_last_reference_and_its_name_with_it),
		WITH_TABLE(the_kernel_keeps_what_it_looked_up),
		WITH_TABLE(a_name_keeps_what_it_is_told_to_keep),
		WITH_TABLE(a_second_binding_displaces_the_first),
		WITH_TABLE(a_private_inode_becomes_current_under_its_own_name),
		WITH_TABLE(find_or_bind_reuses_what_is_the_same),
		WITH_TABLE(paths_follow_directories_that_move),
		WITH_TABLE(names_of_the_greatest_length_are_apart),
		WITH_TABLE(visits_see_kept_names_only),
		WITH_TABLE(threads_share_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
