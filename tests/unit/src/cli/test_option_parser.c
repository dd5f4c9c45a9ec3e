#include "tests/unit/cmocka_prelude.h"

#include "src/cli/commands.h"
#include "src/cli/option_parser.h"

struct values {
	uint64_t bytes, number;
	int64_t ms;
};

static const struct argp_option table[] = {
	{ "bytes", 'b', "N", 0, NULL, 0 }, { "number", 'n', "N", 0, NULL, 0 }, { "wait", 'w', "SECONDS", 0, NULL, 0 },
	{ "flag", 'f', NULL, 0, NULL, 0 }, { 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct values *values = state->input;
	switch (key) {
	case 'b': return option_bytes(state, "--bytes", argument, &values->bytes);
	case 'n': return option_number(state, "--number", argument, 2, 10, &values->number);
	case 'w': return option_seconds(state, "--wait", argument, &values->ms);
	case 'f': return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { .options = table, .parser = parse };

static int parse_one(const char *option, struct values *values)
{
	char name[] = "test", argument[64];
	snprintf(argument, sizeof(argument), "%s", option);
	char *argv[] = { name, argument, NULL };
	return options_parse(&argp, 2, argv, values);
}

static void bytes_take_suffixes(void **state)
{
	(void)state;
	struct values values = { 0 };
	assert_int_equal(parse_one("--bytes=2359296", &values), 0);
	assert_int_equal(values.bytes, 2359296);
	assert_int_equal(parse_one("--bytes=3G", &values), 0);
	assert_int_equal(values.bytes, (uint64_t)3 << 30);
	static const char *const bad[] = { "--bytes=", "--bytes=0", "--bytes=-1", "--bytes=1X", "--bytes=1KB", "--bytes= 1",
					   "--bytes=99999999999999999999", "--bytes=99999999999T" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(parse_one(bad[i], &values), CLI_USAGE);
	assert_int_equal(values.bytes, (uint64_t)3 << 30);
}

static void numbers_have_bounds(void **state)
{
	(void)state;
	struct values values = { 0 };
	assert_int_equal(parse_one("--number=10", &values), 0);
	assert_int_equal(values.number, 10);
	static const char *const bad[] = { "--number=1", "--number=11", "--number=+3", "--number=3.5", "--number=0x3" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(parse_one(bad[i], &values), CLI_USAGE);
}

static void seconds_take_fractions(void **state)
{
	(void)state;
	struct values values = { 0 };
	assert_int_equal(parse_one("--wait=0.25", &values), 0);
	assert_int_equal(values.ms, 250);
	assert_int_equal(parse_one("--wait=0", &values), 0);
	assert_int_equal(values.ms, 0);
	static const char *const bad[] = { "--wait=-1", "--wait=nan", "--wait=inf", "--wait=1s", "--wait=1e9" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(parse_one(bad[i], &values), CLI_USAGE);
}

static void what_argp_dislikes_is_a_usage_error(void **state)
{
	(void)state;
	struct values values = { 0 };
	static const char *const bad[] = { "--no-such", "--bytes", "--flag=1", "-x", "word" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(parse_one(bad[i], &values), CLI_USAGE);
	assert_int_equal(parse_one("--flag", &values), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_take_suffixes), cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(seconds_take_fractions), cmocka_unit_test(what_argp_dislikes_is_a_usage_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
