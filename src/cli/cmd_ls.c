/*
 * hfkv ls: the objects under a path, by their full paths from the bucket's root, one a line.
 */
#include "common/byte_buf.h"
#include "src/cli/commands.h"
#include "src/cli/network_options.h"
#include "src/cli/object_report.h"
#include "src/cli/progress.h"

#include <stdio.h>
#include <string.h>

struct ls_options {
	struct network_options network;
	bool long_form, one_level;
	const char *url;
};

static const struct argp_option ls_option_table[] = {
	{ "long", 'l', NULL, 0, "Print size and time before each path", 0 },
	{ "one-level", '1', NULL, 0, "Only what lies directly below; directories end in /", 0 },
	{ 0 },
};

static error_t ls_parse(int key, char *argument, struct argp_state *state)
{
	struct ls_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &values->network; return 0;
	case 'l': values->long_form = true; return 0;
	case '1': values->one_level = true; return 0;
	case ARGP_KEY_ARG:
		if (values->url)
			return option_error(state, "one URL at a time, '%s' is too many", argument);
		values->url = argument;
		return 0;
	case ARGP_KEY_END:
		return values->url ? 0 : option_error(state, "which path? A URL such as hf://buckets/NS/BUCKET is missing");
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child ls_children[] = { { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp ls_argp = {
	.options = ls_option_table, .parser = ls_parse, .children = ls_children, .args_doc = "URL",
	.doc = "List the objects under URL at any depth, one a line, by their full paths from the bucket's root."
	       "\vURL is hf://buckets/NAMESPACE/BUCKET[/PREFIX]; paths in it are literal. A prefix that holds nothing is an "
	       "empty listing. With --json: one array of {path, size, xetHash, mtime}. No size rule applies.",
};

struct listing {
	const struct ls_options *options;
	size_t printed;
};

static void print_text(const struct ls_options *options, const struct object_list_entry *entry)
{
	if (options->long_form && !entry->is_directory) {
		char time_text[OBJECT_TIME_BYTES];
		printf("%12llu  %-24s  ", (unsigned long long)entry->info.size_bytes,
		       object_format_time(entry->info.modified_at_ms, time_text));
	} else if (options->long_form) {
		printf("%12s  %-24s  ", "-", "-");
	}
	printf("%s%s\n", entry->path, entry->is_directory ? "/" : "");
}

/* One element of the array, written as it comes: a listing has no bound. */
static void print_json(const struct listing *listing, const struct object_list_entry *entry)
{
	json_t *object = entry->is_directory ? json_pack("{ss sb}", "path", entry->path, "directory", 1) :
					       object_to_json(entry->path, &entry->info);
	if (!object)
		return;
	fputs(listing->printed ? ",\n" : "[", stdout);
	json_dumpf(object, stdout, JSON_COMPACT);
	json_decref(object);
}

static enum hfkv_status print_entry(void *context, const struct object_list_entry *entry)
{
	struct listing *listing = context;
	if (listing->options->network.json)
		print_json(listing, entry);
	else
		print_text(listing->options, entry);
	listing->printed++;
	return HFKV_OK;
}

/* A path that names an object is listed as itself. */
static enum hfkv_status list_object_itself(struct object_store *store, const char *path, struct listing *listing,
					   struct fault *fault)
{
	struct object_stat question = { .path = path };
	enum hfkv_status status = object_store_stat_many(store, &question, 1, DEADLINE_NONE, fault);
	if (status != HFKV_OK || question.status != HFKV_OK)
		return status;
	return print_entry(listing, &(struct object_list_entry){ .path = path, .info = question.info });
}

static enum hfkv_status list_all(const struct ls_options *options, struct fault *fault)
{
	CLEANUP(bucket_url_done) struct bucket_url url = { 0 };
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	struct listing listing = { .options = options };
	enum hfkv_status status = bucket_url_parse(options->url, &url, fault);
	if (status == HFKV_OK)
		status = network_open_store(&options->network, url.bucket, "cli", &store, fault);
	if (status == HFKV_OK)
		status = object_store_list(store, url.path, !options->one_level, print_entry, &listing, DEADLINE_NONE,
					   fault);
	if (status == HFKV_OK && listing.printed == 0 && url.path[0])
		status = list_object_itself(store, url.path, &listing, fault);
	if (options->network.json && status == HFKV_OK)
		fputs(listing.printed ? "]\n" : "[]\n", stdout);
	return status;
}

int cmd_ls(int argc, char **argv)
{
	struct ls_options options = { 0 };
	struct fault fault = FAULT_NONE;
	if (options_parse(&ls_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	enum hfkv_status status = list_all(&options, &fault);
	if (status == HFKV_OK)
		return stdout_finish(CLI_DONE);
	fflush(stdout);
	return cli_fail(status, &fault);
}
