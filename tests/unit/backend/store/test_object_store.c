/* The guards: they keep bad input from an implementation, and catch one that breaks its side. */
#include "tests/unit/cmocka_prelude.h"

#include "backend/store/object_store_class.h"
#include "common/cleanup.h"

#include <string.h>

/* An implementation that answers as it is told. */
struct odd_store {
	struct object_store base;
	enum hfkv_status returned;
	bool answers;       /* sets the items */
	size_t seen;        /* items that reached it */
	uint64_t delivered; /* bytes that a read claims */
	const char *listed;
};

static enum hfkv_status odd_stat(struct object_store *base, struct object_stat *stats, size_t count,
				 struct deadline deadline, struct fault *fault)
{
	struct odd_store *store = (struct odd_store *)base;
	(void)deadline;
	store->seen = count;
	for (size_t i = 0; i < count && store->answers; i++)
		stats[i].status = HFKV_OK;
	return store->returned == HFKV_OK ? HFKV_OK : fault_set(fault, store->returned, "odd");
}

static enum hfkv_status odd_list(struct object_store *base, const char *directory, bool recursive,
				 object_list_visit visit, void *context, struct deadline deadline,
				 struct fault *fault)
{
	struct odd_store *store = (struct odd_store *)base;
	struct object_list_entry entry = { .path = store->listed };
	(void)directory, (void)recursive, (void)deadline, (void)fault;
	return visit(context, &entry);
}

static enum hfkv_status odd_read(struct object_store *base, const struct object_read *read, uint64_t *ret_bytes,
				 struct deadline deadline, struct fault *fault)
{
	struct odd_store *store = (struct odd_store *)base;
	(void)read, (void)deadline, (void)fault;
	store->seen++;
	*ret_bytes = store->delivered;
	return store->returned;
}

static enum hfkv_status odd_put(struct object_store *base, struct object_put *puts, size_t count,
				object_progress progress, void *progress_context, struct deadline deadline,
				struct fault *fault)
{
	struct odd_store *store = (struct odd_store *)base;
	(void)progress, (void)progress_context, (void)deadline;
	store->seen = count;
	for (size_t i = 0; i < count && store->answers; i++)
		puts[i].status = HFKV_OK;
	return store->returned == HFKV_OK ? HFKV_OK : fault_set(fault, store->returned, "odd");
}

static const struct object_store_class odd_class = { .name = "odd",
						     .stat_many = odd_stat,
						     .list = odd_list,
						     .read = odd_read,
						     .put_many = odd_put,
						     .delete_many = odd_stat };

static void test_unanswered_items(void **state)
{
	(void)state;
	struct odd_store store = { .base.class = &odd_class };
	struct object_stat stat = { .path = "a" };
	struct object_put put = { .path = "a", .source.fd = -1 };
	struct fault fault = FAULT_NONE;
	assert_int_equal(object_store_stat_many(&store.base, &stat, 1, DEADLINE_NONE, &fault), HFKV_BUG);
	assert_int_equal(object_store_delete_many(&store.base, &stat, 1, DEADLINE_NONE, &fault), HFKV_BUG);
	assert_int_equal(object_store_put_many(&store.base, &put, 1, NULL, NULL, DEADLINE_NONE, &fault), HFKV_BUG);
	assert_non_null(strstr(fault.text, "odd"));
	store.returned = HFKV_UNAVAILABLE;
	assert_int_equal(object_store_stat_many(&store.base, &stat, 1, DEADLINE_NONE, NULL), HFKV_UNAVAILABLE);
	assert_int_equal(stat.status, HFKV_UNAVAILABLE);
	assert_int_equal(object_store_put_many(&store.base, &put, 1, NULL, NULL, DEADLINE_NONE, NULL),
			 HFKV_UNAVAILABLE);
	assert_int_equal(put.status, HFKV_UNAVAILABLE);
	store.returned = HFKV_NOT_FOUND; /* a bucket that is gone makes no absences */
	assert_int_equal(object_store_stat_many(&store.base, &stat, 1, DEADLINE_NONE, NULL), HFKV_NOT_FOUND);
	assert_int_not_equal(stat.status, HFKV_NOT_FOUND);
}

/* An item that landed is OK although the call failed; then nothing failed at all. */
static void test_landed_items_count(void **state)
{
	(void)state;
	struct odd_store store = { .base.class = &odd_class, .answers = true, .returned = HFKV_UNAVAILABLE };
	struct object_put put = { .path = "a", .source.fd = -1 };
	assert_int_equal(object_store_put_many(&store.base, &put, 1, NULL, NULL, DEADLINE_NONE, NULL), HFKV_OK);
}

static void test_bad_input_stays_out(void **state)
{
	(void)state;
	struct odd_store store = { .base.class = &odd_class, .answers = true };
	struct object_stat stats[] = { { .path = "a/../b" }, { .path = "good" }, { .path = NULL } };
	struct object_put puts[] = { { .path = "", .source.fd = -1 },
				     { .path = "no-source", .source = { .fd = -1, .size_bytes = 5 } },
				     { .path = "good", .source.fd = -1 } };
	assert_int_equal(object_store_stat_many(&store.base, stats, 3, DEADLINE_NONE, NULL), HFKV_OK);
	assert_int_equal(store.seen, 1);
	assert_int_equal(stats[0].status, HFKV_INVALID);
	assert_int_equal(stats[1].status, HFKV_OK);
	assert_int_equal(stats[2].status, HFKV_INVALID);
	assert_int_equal(object_store_put_many(&store.base, puts, 3, NULL, NULL, DEADLINE_NONE, NULL),
			 HFKV_INVALID);
	assert_int_equal(store.seen, 1);
	assert_int_equal(puts[2].status, HFKV_OK);
	assert_int_equal(object_store_list(&store.base, "a/", true, NULL, NULL, DEADLINE_NONE, NULL),
			 HFKV_INVALID);
	assert_int_equal(
	    object_store_rename(&store.base, "a", &(struct object_info){ 0 }, "b//c", DEADLINE_NONE, NULL),
	    HFKV_INVALID);
}

static enum hfkv_status count_visit(void *context, const struct object_list_entry *entry)
{
	(void)entry;
	++*(unsigned *)context;
	return HFKV_OK;
}

static void test_listing_guard(void **state)
{
	(void)state;
	struct odd_store store = { .base.class = &odd_class };
	const struct {
		const char *listed;
		bool recursive;
		enum hfkv_status status;
		unsigned visits;
	} cases[] = {
		{ "d/x", false, HFKV_OK, 1 },  { "d/x/y", true, HFKV_OK, 1 },   { "d/x/y", false, HFKV_BUG, 0 },
		{ "dd/x", true, HFKV_BUG, 0 }, { "d", true, HFKV_BUG, 0 },      { "d/../x", true, HFKV_OK, 0 },
		{ "d//x", true, HFKV_OK, 0 },  { "d/\xff", false, HFKV_OK, 0 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		unsigned visits = 0;
		store.listed = cases[i].listed;
		assert_int_equal(object_store_list(&store.base, "d", cases[i].recursive, count_visit, &visits,
						   DEADLINE_NONE, NULL),
				 cases[i].status);
		assert_int_equal(visits, cases[i].visits);
	}
}

static void test_short_reads_are_caught(void **state)
{
	(void)state;
	struct odd_store store = { .base.class = &odd_class, .delivered = 9 };
	struct object_info info = { .size_bytes = 10 }, empty = { 0 };
	struct object_sink sink = { .fd = -1 };
	uint64_t bytes = 77;
	assert_int_equal(object_store_read_whole(&store.base, &info, &sink, NULL, NULL, DEADLINE_NONE, NULL),
			 HFKV_CORRUPT);
	assert_int_equal(object_store_read_range(&store.base, &info, 0, 10, &sink, &bytes, DEADLINE_NONE, NULL),
			 HFKV_CORRUPT);
	assert_int_equal(bytes, 77);
	assert_int_equal(object_store_read_range(&store.base, &info, 1, 100, &sink, &bytes, DEADLINE_NONE, NULL),
			 HFKV_OK);
	assert_int_equal(bytes, 9);
	store.seen = 0;
	assert_int_equal(object_store_read_range(&store.base, &info, 10, 5, &sink, &bytes, DEADLINE_NONE, NULL),
			 HFKV_OK);
	assert_int_equal(bytes, 0);
	assert_int_equal(object_store_read_whole(&store.base, &empty, &sink, NULL, NULL, DEADLINE_NONE, NULL),
			 HFKV_OK);
	assert_int_equal(store.seen, 0);
}

static void test_paths(void **state)
{
	(void)state;
	char path[OBJECT_PATH_MAX_BYTES + 2];
	memset(path, 'p', sizeof(path) - 1);
	path[OBJECT_PATH_MAX_BYTES + 1] = '\0';
	assert_int_equal(object_path_check(path), HFKV_OVERSIZE);
	path[OBJECT_PATH_MAX_BYTES] = '\0';
	assert_int_equal(object_path_check(path), HFKV_OK);
	const char *const good[] = { "a", "...", "a/.b", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "a/b/c" };
	const char *const bad[] = { "",
				    "/",
				    "a/",
				    "/a",
				    "a//b",
				    ".",
				    "..",
				    "a/..",
				    "./a",
				    "\x80",
				    "\xc1\x81",
				    "\xe0\x80\x80",
				    "\xed\xa0\x80",
				    "\xf4\x90\x80\x80",
				    "\xf0\x8f\xbf\xbf",
				    "a\xe2\x82" };
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
		assert_int_equal(object_path_check(good[i]), HFKV_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(object_path_check(bad[i]), HFKV_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unanswered_items),       cmocka_unit_test(test_landed_items_count),
		cmocka_unit_test(test_bad_input_stays_out),    cmocka_unit_test(test_listing_guard),
		cmocka_unit_test(test_short_reads_are_caught), cmocka_unit_test(test_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
