#include "src/cli/option_parser.h"

#include "src/cli/commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e6

/* What a parser function returns after it has printed its own error. argp passes it through untouched. */
#define ALREADY_REPORTED ECANCELED

error_t option_error(const struct argp_state *state, const char *format, ...)
{
	char reason[512];
	va_list values;
	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	cli_usage_error(state->name, "%s", reason);
	return ALREADY_REPORTED;
}

static bool has_name(const struct argp_option *option, const char *name, size_t length)
{
	return option->name && strlen(option->name) == length && memcmp(option->name, name, length) == 0;
}

const struct argp_option *option_find(const struct argp *argp, const char *name, size_t name_length)
{
	for (const struct argp_option *option = argp->options; option && (option->name || option->key || option->doc);
	     option++)
		if (has_name(option, name, name_length))
			return option;
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		const struct argp_option *found = option_find(child->argp, name, name_length);
		if (found)
			return found;
	}
	return NULL;
}

static const struct argp_option *option_find_letter(const struct argp *argp, int letter)
{
	for (const struct argp_option *option = argp->options; option && (option->name || option->key || option->doc);
	     option++)
		if (option->key == letter)
			return option;
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		const struct argp_option *found = option_find_letter(child->argp, letter);
		if (found)
			return found;
	}
	return NULL;
}

static bool needs_value(const struct argp_option *option)
{
	return option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

/* What is wrong with the long option `argument`, reported; 0: nothing. *ret_takes_next: its value is the next argument. */
static int judge_long(const struct argp *argp, const char *command, const char *argument, const char *next,
		      bool *ret_takes_next)
{
	const char *name = argument + 2;
	size_t length = strcspn(name, "=");
	const struct argp_option *option = option_find(argp, name, length);
	if (!option)
		return cli_usage_error(command, "no option '--%.*s'", (int)length, name);
	if (name[length] == '=' && !option->arg)
		return cli_usage_error(command, "option '--%s' takes no value", option->name);
	*ret_takes_next = needs_value(option) && name[length] != '=';
	return *ret_takes_next && !next ? cli_usage_error(command, "option '--%s' needs a value (%s)", option->name, option->arg) : 0;
}

/* The same for a word of one-letter options. */
static int judge_letters(const struct argp *argp, const char *command, const char *argument, const char *next,
			 bool *ret_takes_next)
{
	for (const char *letter = argument + 1; *letter; letter++) {
		const struct argp_option *option = option_find_letter(argp, *letter);
		if (!option)
			return cli_usage_error(command, "no option '-%c'", *letter);
		if (!option->arg)
			continue;
		*ret_takes_next = needs_value(option) && !letter[1];
		return *ret_takes_next && !next ? cli_usage_error(command, "option '-%c' needs a value (%s)", *letter, option->arg) : 0;
	}
	return 0;
}

/* argp was told to print nothing, so it does not say what it disliked: look for the first option that cannot be right. */
static int report_bad_argument(const struct argp *argp, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] != '-' || argv[i][1] == '\0')
			continue;
		bool takes_next = false;
		int code = (argv[i][1] == '-' ? judge_long : judge_letters)(argp, argv[0], argv[i], argv[i + 1], &takes_next);
		if (code != 0)
			return code;
		i += takes_next;
	}
	return cli_usage_error(argv[0], "cannot take these arguments");
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "-h") == 0)
			argv[i][1] = '?'; /* argp's letter. In place: the strings may be owned by whoever made the array */
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--usage") == 0 || strcmp(argv[i], "-?") == 0)
			return true;
	}
	return false;
}

int options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	/* ARGP_NO_ERRS would also swallow the help text. */
	unsigned flags = asks_for_help(argc, argv) ? 0 : ARGP_NO_ERRS;
	int next = 1;
	error_t error = argp_parse(argp, argc, argv, flags, &next, input);
	if (error == 0 && next < argc)
		return cli_usage_error(argv[0], "'%s' is too many", argv[next]);
	if (error == 0)
		return 0;
	if (error == ALREADY_REPORTED)
		return CLI_USAGE;
	return report_bad_argument(argp, argc, argv);
}

error_t option_number(const struct argp_state *state, const char *option, const char *text, uint64_t least, uint64_t most,
		      uint64_t *ret_value)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || value < least || value > most)
		return option_error(state, "%s takes a whole number from %llu to %llu, not '%s'", option,
				    (unsigned long long)least, (unsigned long long)most, text);
	*ret_value = value;
	return 0;
}

error_t option_bytes(const struct argp_state *state, const char *option, const char *text, uint64_t *ret_bytes)
{
	static const char suffixes[] = "KMGT";
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	const char *suffix = *end ? strchr(suffixes, *end) : NULL;
	unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
	uint64_t bytes;
	if (text[0] < '0' || text[0] > '9' || errno || value == 0 || (*end && (!suffix || end[1])) ||
	    __builtin_mul_overflow((uint64_t)value, (uint64_t)1 << shift, &bytes))
		return option_error(state, "%s takes bytes above 0, such as 2359296, 512M or 8G, not '%s'", option, text);
	*ret_bytes = bytes;
	return 0;
}

error_t option_seconds(const struct argp_state *state, const char *option, const char *text, int64_t *ret_ms)
{
	char *end;
	double value = strtod(text, &end);
	if (text[0] < '0' || text[0] > '9' || *end || !(value >= 0 && value <= SECONDS_MAX))
		return option_error(state, "%s takes seconds from 0 to 1000000, not '%s'", option, text);
	*ret_ms = (int64_t)(value * 1000 + 0.5);
	return 0;
}

error_t option_seconds_above_0(const struct argp_state *state, const char *option, const char *text, int64_t *ret_ms)
{
	int64_t ms = 0;
	error_t error = option_seconds(state, option, text, &ms);
	if (error != 0)
		return error;
	if (ms == 0)
		return option_error(state, "%s takes seconds above 0, not '%s'", option, text);
	*ret_ms = ms;
	return 0;
}
