/* Names: hard ones, bad ones, listings. */
#include "tests/contract/contract.h"

#include <string.h>

/* Each means its own bytes. */
static const char *const hard_names[] = {
	"a#b",
	"a?b=c",
	"100%",
	"%",
	"%2F",
	"%252F",
	"a b",
	" lead",
	"trail ",
	"a+b",
	"a&b;c",
	"\"q\" 'q'",
	"back\\slash",
	"{a}|b^`c`",
	"<x>",
	"%41",
	"A",
	"sess.json",
	"a-SEP-b",
	"a-SEP/b",
	"a/SEP-b",
	"a/b/c",
	"...",
	"..a",
	".hidden",
	"k@1@0@ab@half",
	"\xc3\xa9\xd0\xba\xe6\x97\xa5",
	"m@1@0@ab@bfloat16@user%42.data",
	"org%2Fm%401%40ab",
	"[1]*~!$(),:=@",
	"\xf0\x9f\x98\x80",
};

static void test_hard_names(void **state)
{
	struct contract_world *world = *state;
	struct object_put puts[ARRAY_LENGTH(hard_names)];
	char *paths[ARRAY_LENGTH(hard_names)];
	for (size_t i = 0; i < ARRAY_LENGTH(hard_names); i++) {
		paths[i] = strdup(contract_path(world, hard_names[i]));
		puts[i] = (struct object_put){ .path = paths[i],
					       .source = { .memory = (const uint8_t *)hard_names[i],
							   .fd = -1,
							   .size_bytes = strlen(hard_names[i]) } };
	}
	assert_int_equal(object_store_put_many(world->store, puts, ARRAY_LENGTH(puts), NULL, NULL, WITHIN, NULL),
			 HFKV_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(hard_names); i++) {
		contract_expect(world, hard_names[i], hard_names[i], strlen(hard_names[i]));
		free(paths[i]);
	}
	assert_int_equal(contract_stat(world, "sess.jso", NULL), HFKV_NOT_FOUND);
	assert_int_equal(contract_stat(world, "a", NULL), HFKV_NOT_FOUND);
	struct byte_buf names = contract_names(world, "", true);
	size_t lines = 1;
	for (const char *c = byte_buf_text(&names); *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, ARRAY_LENGTH(hard_names));
	byte_buf_done(&names);
}

/* Directories whose names need quoting are listed by exactly their own name. */
static void test_hard_directories(void **state)
{
	struct contract_world *world = *state;
	const char *const directories[] = { "d#1", "d?2", "d%2F3", "d 4", "d+5", "d&6", "\xc3\xa9" };
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s/x", directories[i]);
		contract_put(world, name, "1", 1);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		struct byte_buf names = contract_names(world, directories[i], false);
		assert_string_equal(byte_buf_text(&names), "x");
		byte_buf_done(&names);
	}
}

static void test_bad_paths_fail_alone(void **state)
{
	struct contract_world *world = *state;
	char too_long[OBJECT_PATH_MAX_BYTES + 2];
	memset(too_long, 'l', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	const char *const bad[] = { "", "/a", "a/", "a//b", "a/./b", "..", "a/../b", "\xff\xfe", too_long };
	const char *good = contract_path(world, "good");
	struct object_put puts[ARRAY_LENGTH(bad) + 1];
	struct object_stat stats[ARRAY_LENGTH(bad) + 1];
	for (size_t i = 0; i <= ARRAY_LENGTH(bad); i++) {
		puts[i] =
		    (struct object_put){ .path = i < ARRAY_LENGTH(bad) ? bad[i] : good,
					 .source = { .memory = (const uint8_t *)"x", .fd = -1, .size_bytes = 1 } };
		stats[i] = (struct object_stat){ .path = puts[i].path };
	}
	assert_int_equal(object_store_put_many(world->store, puts, ARRAY_LENGTH(puts), NULL, NULL, WITHIN, NULL),
			 HFKV_INVALID);
	assert_int_equal(object_store_stat_many(world->store, stats, ARRAY_LENGTH(stats), WITHIN, NULL), HFKV_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		enum hfkv_status expected = bad[i] == too_long ? HFKV_OVERSIZE : HFKV_INVALID;
		assert_int_equal(puts[i].status, expected);
		assert_int_equal(stats[i].status, expected);
		assert_true(puts[i].fault.text[0] != '\0');
	}
	assert_int_equal(puts[ARRAY_LENGTH(bad)].status, HFKV_OK);
	assert_int_equal(stats[ARRAY_LENGTH(bad)].status, HFKV_OK);
	assert_int_not_equal(object_store_delete_many(world->store, stats, ARRAY_LENGTH(stats), WITHIN, NULL),
			     HFKV_OK);
	assert_int_equal(stats[ARRAY_LENGTH(bad)].status, HFKV_OK);
	assert_int_equal(contract_stat(world, "good", NULL), HFKV_NOT_FOUND);
}

static void test_longest_name(void **state)
{
	struct contract_world *world = *state;
	char name[OBJECT_PATH_MAX_BYTES + 1];
	size_t length = OBJECT_PATH_MAX_BYTES - strlen(world->directory) - 1;
	memset(name, 'n', length);
	name[length] = '\0';
	contract_put(world, name, "long", 4);
	contract_expect(world, name, "long", 4);
}

/* The Hub's prefix is a raw string prefix; a directory is not. */
static void test_listing(void **state)
{
	struct contract_world *world = *state;
	const char *const files[] = { "logs/1", "logs/deep/er/2", "logs.json", "logs_backup/3",
				      "log",    "logs#1",         "a",         "a/b" };
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		contract_put(world, files[i], files[i], strlen(files[i]));
	struct byte_buf names = contract_names(world, "logs", true);
	assert_string_equal(byte_buf_text(&names), "1\ndeep/er/2");
	byte_buf_done(&names);
	names = contract_names(world, "logs", false);
	assert_string_equal(byte_buf_text(&names), "1\ndeep/");
	byte_buf_done(&names);
	names = contract_names(world, "", false);
	assert_string_equal(byte_buf_text(&names), "a\na/\nlog\nlogs#1\nlogs.json\nlogs/\nlogs_backup/");
	byte_buf_done(&names);
	names = contract_names(world, "nothing-here", true);
	assert_int_equal(names.length, 0);
	names = contract_names(world, "logs/1", false); /* a file's name holds nothing */
	assert_int_equal(names.length, 0);
}

static enum hfkv_status stop_at_second(void *context, const struct object_list_entry *entry)
{
	(void)entry;
	return ++*(unsigned *)context == 2 ? HFKV_NOT_FOUND : HFKV_OK;
}

static void test_visitor_stops_listing(void **state)
{
	struct contract_world *world = *state;
	for (int i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof(name), "%d", i);
		contract_put(world, name, "x", 1);
	}
	unsigned visits = 0;
	assert_int_equal(
	    object_store_list(world->store, world->directory, true, stop_at_second, &visits, WITHIN, NULL),
	    HFKV_NOT_FOUND);
	assert_int_equal(visits, 2);
}

const struct CMUnitTest contract_name_tests[] = {
	CONTRACT_TEST(test_hard_names),
	CONTRACT_TEST(test_hard_directories),
	CONTRACT_TEST(test_bad_paths_fail_alone),
	CONTRACT_TEST(test_longest_name),
	CONTRACT_TEST(test_listing),
	CONTRACT_TEST(test_visitor_stops_listing),
};
const size_t contract_name_test_count = ARRAY_LENGTH(contract_name_tests);
