/*
 * hfkv stat: size, content hash and time of objects.
 */
#include "src/cli/commands.h"
#include "src/cli/network_options.h"
#include "src/cli/object_report.h"
#include "src/cli/url_list.h"

#include <stdio.h>

struct stat_options {
	struct network_options network;
	struct url_arguments arguments;
};

static error_t stat_parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	struct stat_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &values->network; return 0;
	default: return url_arguments_parse(key, state, &values->arguments);
	}
}

static const struct argp_child stat_children[] = { { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp stat_argp = {
	.parser = stat_parse, .children = stat_children, .args_doc = "URL...",
	.doc = "Print size, Xet hash and time of objects."
	       "\vWith --json: one object {path, size, xetHash, mtime} a line. Exit code 3 when one is missing.",
};

static void print_found(const struct object_stat *question, bool json)
{
	if (json) {
		json_print_line(object_to_json(question->path, &question->info));
		return;
	}
	char hash[CONTENT_HASH_TEXT_BYTES], time_text[OBJECT_TIME_BYTES];
	content_hash_format(&question->info.hash, hash);
	printf("path:     %s\nsize:     %llu\nxet hash: %s\nmodified: %s\n", question->path,
	       (unsigned long long)question->info.size_bytes, hash,
	       object_format_time(question->info.modified_at_ms, time_text));
}

/* The exit code of the worst answer. */
static int print_answers(const struct object_stat *questions, const struct url_list *urls, bool json)
{
	int code = CLI_DONE;
	for (size_t i = 0; i < urls->count; i++) {
		if (questions[i].status == HFKV_OK) {
			print_found(&questions[i], json);
			continue;
		}
		struct fault fault = FAULT_NONE;
		enum hfkv_status status = fault_set(&fault, questions[i].status, "'%s' in %s: %s", questions[i].path,
						    urls->bucket, hfkv_status_name(questions[i].status));
		code = cli_fail(status, &fault);
	}
	return code;
}

static enum hfkv_status ask(const struct stat_options *options, int *ret_code, struct fault *fault)
{
	CLEANUP(url_list_done) struct url_list urls = { 0 };
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	enum hfkv_status status = url_list_parse(options->arguments.urls, options->arguments.count, &urls, fault);
	if (status == HFKV_OK)
		status = network_open_store(&options->network, urls.bucket, "cli", &store, fault);
	if (status != HFKV_OK)
		return status;
	CLEANUP(free_pointer) struct object_stat *questions = calloc(urls.count, sizeof(*questions));
	if (!questions)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", urls.count);
	for (size_t i = 0; i < urls.count; i++) {
		if (urls.paths[i][0] == '\0')
			return fault_set(fault, HFKV_INVALID, "'%s' names a bucket, not an object ('hfkv ls' lists it)",
					 options->arguments.urls[i]);
		questions[i].path = urls.paths[i];
	}
	status = object_store_stat_many(store, questions, urls.count, DEADLINE_NONE, fault);
	if (status == HFKV_OK)
		*ret_code = print_answers(questions, &urls, options->network.json);
	return status;
}

int cmd_stat(int argc, char **argv)
{
	struct stat_options options = { 0 };
	struct fault fault = FAULT_NONE;
	int code = CLI_DONE;
	if (options_parse(&stat_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	enum hfkv_status status = ask(&options, &code, &fault);
	return status == HFKV_OK ? stdout_finish(code) : cli_fail(status, &fault);
}
