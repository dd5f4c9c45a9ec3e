#include "tests/unit/cmocka_prelude.h"

#include "src/cli/mount_arguments.h"

#include <string.h>

static const struct argp_option table[] = {
	{ "chunk-bytes", 1, "N", 0, NULL, 0 },
	{ "read-only", 2, NULL, 0, NULL, 0 },
	{ "allow-other", 3, NULL, 0, NULL, 0 },
	{ 0 },
};
static const struct argp known = { .options = table };

static struct mount_arguments expanded(bool as_helper, char **argv)
{
	struct mount_arguments arguments = { 0 };
	struct fault fault = FAULT_NONE;
	int argc = 0;
	while (argv[argc])
		argc++;
	if (mount_arguments_expand(argc, argv, as_helper, &known, &arguments, &fault) != HFKV_OK)
		fail_msg("refused: %s", fault.text);
	return arguments;
}

static void assert_becomes(struct mount_arguments arguments, const char *const *wanted)
{
	int count = 0;
	for (; wanted[count]; count++) {
		assert_true(count < arguments.count);
		assert_string_equal(arguments.values[count], wanted[count]);
	}
	assert_int_equal(arguments.count, count);
	assert_null(arguments.values[count]);
	mount_arguments_done(&arguments);
}

static void option_lists_become_long_options(void **state)
{
	(void)state;
	char *argv[] = { "mount", "url", "-o", "chunk_bytes=4096,allow_other", "/mnt", "-oro", NULL };
	assert_becomes(expanded(false, argv),
		       (const char *[]){ "mount", "url", "--chunk-bytes=4096", "--allow-other", "/mnt", "--read-only", NULL });
}

static void words_for_others_are_ignored(void **state)
{
	(void)state;
	char *argv[] = { "mount", "-o", "rw,nosuid,nodev,noexec,noatime,_netdev,nofail,user,x-systemd.automount,,defaults", NULL };
	assert_becomes(expanded(false, argv), (const char *[]){ "mount", NULL });
}

static void helpers_are_called_in_their_own_form(void **state)
{
	(void)state;
	char *argv[] = { "mount", "url", "/mnt", "-sn", "-o", "ro", "-t", "fuse.hfkv", NULL };
	struct mount_arguments arguments = expanded(true, argv);
	assert_false(arguments.fake);
	assert_becomes(arguments, (const char *[]){ "mount", "url", "/mnt", "--read-only", NULL });
	char *fake[] = { "mount", "url", "/mnt", "-fn", NULL };
	arguments = expanded(true, fake);
	assert_true(arguments.fake);
	assert_becomes(arguments, (const char *[]){ "mount", "url", "/mnt", NULL });
}

static void foreground_is_kept_outside_a_helper(void **state)
{
	(void)state;
	char *argv[] = { "mount", "-f", "url", NULL };
	assert_becomes(expanded(false, argv), (const char *[]){ "mount", "-f", "url", NULL });
}

static void unknown_words_are_named(void **state)
{
	(void)state;
	char *argv[] = { "mount", "-o", "ro,chunk_byte=1", NULL };
	struct mount_arguments arguments = { 0 };
	struct fault fault = FAULT_NONE;
	assert_int_equal(mount_arguments_expand(3, argv, false, &known, &arguments, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, "chunk_byte"));
	assert_null(arguments.values);
}

static void values_keep_underscores(void **state)
{
	(void)state;
	char *argv[] = { "mount", "-o", "chunk_bytes=a_b=c_d", NULL };
	assert_becomes(expanded(false, argv), (const char *[]){ "mount", "--chunk-bytes=a_b=c_d", NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(option_lists_become_long_options), cmocka_unit_test(words_for_others_are_ignored),
		cmocka_unit_test(helpers_are_called_in_their_own_form), cmocka_unit_test(foreground_is_kept_outside_a_helper),
		cmocka_unit_test(unknown_words_are_named), cmocka_unit_test(values_keep_underscores),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
