/*
 * The program `hfkv`: picks a command by name.
 *
 * Called as `mount.fuse.hfkv` or `mount.hfkv` (a link that mount(8) finds in /sbin) it is the mount helper.
 */
#include "src/cli/commands.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
	{ "mount", cmd_mount, "show a bucket as a directory" },
	{ "umount", cmd_umount, "finish uploads, then remove a mount" },
	{ "status", cmd_status, "what is mounted, its counters and staging use" },
	{ "ls", cmd_ls, "list objects under a path" },
	{ "stat", cmd_stat, "size, hash and time of objects" },
	{ "put", cmd_put, "store files" },
	{ "get", cmd_get, "fetch objects" },
	{ "rm", cmd_rm, "remove objects" },
	{ "verify", cmd_verify, "list objects that break the size rule" },
	{ "chunk-size", cmd_chunk_size, "bytes of a full KV chunk from a model's geometry" },
	{ "kv", cmd_kv, "store and load KV chunks from an LMCache configuration" },
	{ "serve", cmd_serve, "a bucket server on this machine" },
	{ "doctor", cmd_doctor, "what this machine offers hfkv, and what is missing" },
};

static void print_help(FILE *stream)
{
	fputs("Usage: hfkv COMMAND [OPTION...]\n"
	      "Hugging Face buckets as an LLM key/value cache.\n\nCommands:\n",
	      stream);
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
		fprintf(stream, "  %-11s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'hfkv COMMAND --help' tells a command's options. Exit codes: 0 done, 1 failed, 2 usage,\n"
	      "3 not found, 4 refused by a size rule. Tokens come from HF_TOKEN or a file, never from options.\n",
	      stream);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* argv[0] becomes the name that argp and messages use. */
static int run_command(const struct command *command, int argc, char **argv)
{
	char name[32];
	snprintf(name, sizeof(name), "hfkv %s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

static int run_mount_helper(int argc, char **argv)
{
	char name[] = "hfkv mount";
	argv[0] = name;
	return cmd_mount_as(argc, argv, true);
}

static bool is_mount_helper_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return strcmp(name, "mount.fuse.hfkv") == 0 || strcmp(name, "mount.hfkv") == 0;
}

int main(int argc, char **argv)
{
	/* A reader that went away is an error of a write, not a reason to die without a word. */
	signal(SIGPIPE, SIG_IGN);
	cli_argp_prepare();
	if (argc > 0 && is_mount_helper_name(argv[0]))
		return run_mount_helper(argc, argv);
	static char help[] = "--help";
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "help") == 0 && argc > 2) { /* hfkv help COMMAND */
		argv[1] = argv[2];
		argv[2] = help;
		argc = 3;
	} else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return CLI_DONE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("hfkv " HFKV_VERSION);
		return CLI_DONE;
	}
	const struct command *command = find_command(argv[1]);
	if (!command)
		return cli_usage_error("hfkv", "no command '%s'", argv[1]);
	return run_command(command, argc - 1, argv + 1);
}
