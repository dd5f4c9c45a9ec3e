/*
 * argp, with errors as this program gives them: one line on stderr that names the option, exit code 2.
 *
 * Main thread only. `--help` and `--usage` print to stdout and end the program with 0, as argp does.
 */
#ifndef SRC_CLI_OPTION_PARSER_H
#define SRC_CLI_OPTION_PARSER_H

#include "common/attributes.h"

#include <argp.h>
#include <stdint.h>

/* Parses the command's arguments. 0, or CLI_USAGE after the error was printed. */
MUST_CHECK int options_parse(const struct argp *argp, int argc, char **argv, void *input);

/* For parser functions: prints the line and gives the value to return, which ends the parsing. */
error_t option_error(const struct argp_state *state, const char *format, ...) PRINTF_LIKE(2, 3);

/* The whole decimal number in `text` that lies in [least, most]; otherwise an option_error that names `option`. */
MUST_CHECK error_t option_number(const struct argp_state *state, const char *option, const char *text, uint64_t least,
				 uint64_t most, uint64_t *ret_value);

/* As option_number, with an optional suffix K, M, G or T (powers of 1024). */
MUST_CHECK error_t option_bytes(const struct argp_state *state, const char *option, const char *text,
				uint64_t *ret_bytes);

/* Seconds, fractions allowed, in [0, 1e6], as milliseconds. */
MUST_CHECK error_t option_seconds(const struct argp_state *state, const char *option, const char *text,
				  int64_t *ret_ms);

MUST_CHECK error_t option_seconds_above_0(const struct argp_state *state, const char *option, const char *text,
					  int64_t *ret_ms);

/* The option called `name` (without dashes) in argp's own table or a child's; NULL when there is none. */
const struct argp_option *option_find(const struct argp *argp, const char *name, size_t name_length);

#endif
