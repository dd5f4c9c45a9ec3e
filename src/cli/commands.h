/*
 * The commands of the program `hfkv`, one function and one file (cmd_<name>.c) each, and what they have in
 * common: exit codes. main.c picks one by name; a command parses its own options (argp).
 *
 * Main thread only. argv[0] is the full name for messages ("hfkv put"); argv is the command's own.
 */
#ifndef SRC_CLI_COMMANDS_H
#define SRC_CLI_COMMANDS_H

#include "common/fault.h"

#include <stdbool.h>

/* Fixed: scripts branch on them. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_NOT_FOUND = 3,
	CLI_REFUSED_SIZE = 4, /* a size rule refused it */
};

int cmd_mount(int argc, char **argv);
/* The same; `as_helper`: argv has the form in which mount(8) calls mount.<type>. */
int cmd_mount_as(int argc, char **argv, bool as_helper);
int cmd_umount(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_put(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_rm(int argc, char **argv);
int cmd_chunk_size(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_kv(int argc, char **argv);

/* The exit code that fits a status. */
int cli_exit_for(enum hfkv_status status);

/* Prints "hfkv: <fault's text>" as one line to stderr and returns the exit code for `status`. */
int cli_fail(enum hfkv_status status, const struct fault *fault);

/* Prints "hfkv: <text> (see '<command> --help')" as one line to stderr and returns CLI_USAGE. */
int cli_usage_error(const char *command, const char *format, ...) PRINTF_LIKE(2, 3);

/* What argp parsers need set once for the program: version text, exit code of usage errors. */
void cli_argp_prepare(void);

#endif
