/*
 * hfkv rm: removes objects, in one call per 1000.
 */
#include "src/cli/commands.h"
#include "src/cli/network_options.h"
#include "src/cli/object_fetch.h"
#include "src/cli/object_report.h"
#include "src/cli/url_list.h"

#include <stdio.h>
#include <string.h>

struct rm_options {
	struct network_options network;
	bool recursive;
	struct url_arguments arguments;
};

static const struct argp_option rm_option_table[] = {
	{ "recursive", 'r', NULL, 0, "Remove everything below each URL too", 0 },
	{ 0 },
};

static error_t rm_parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	struct rm_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &values->network; return 0;
	case 'r': values->recursive = true; return 0;
	default: return url_arguments_parse(key, state, &values->arguments);
	}
}

static const struct argp_child rm_children[] = { { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp rm_argp = {
	.options = rm_option_table, .parser = rm_parse, .children = rm_children, .args_doc = "URL...",
	.doc = "Remove objects."
	       "\vExit code 3 when one of them was not there; the others are removed all the same. No size rule applies.",
};

/* ---- what to remove ---- */

struct name_list {
	char **names;
	size_t count, capacity;
};

static void name_list_done(struct name_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
}

static enum hfkv_status add_name(struct name_list *list, const char *name)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 64;
		char **names = reallocarray(list->names, capacity, sizeof(*names));
		if (!names)
			return HFKV_NO_MEMORY;
		list->names = names;
		list->capacity = capacity;
	}
	list->names[list->count] = strdup(name);
	return list->names[list->count++] ? HFKV_OK : HFKV_NO_MEMORY;
}

static enum hfkv_status add_listed(void *context, const struct object_list_entry *entry)
{
	return add_name(context, entry->path);
}

/* Asks which of the URLs are objects. Those that are not are named; *ret_missing counts them. */
static enum hfkv_status add_objects(struct object_store *store, const struct rm_options *options,
				    const struct url_list *urls, struct name_list *list, size_t *ret_missing,
				    struct fault *fault)
{
	CLEANUP(free_pointer) struct object_stat *questions = calloc(urls->count, sizeof(*questions));
	if (!questions)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", urls->count);
	size_t asked = 0, missing = 0;
	for (size_t i = 0; i < urls->count; i++)
		if (!urls->are_prefixes[i])
			questions[asked++].path = urls->paths[i];
	enum hfkv_status status = asked ? object_store_stat_many(store, questions, asked, DEADLINE_NONE, fault) : HFKV_OK;
	for (size_t i = 0; status == HFKV_OK && i < asked; i++) {
		if (questions[i].status == HFKV_OK) {
			status = add_name(list, questions[i].path);
		} else if (!options->recursive) {
			struct fault why = FAULT_NONE;
			cli_fail(fault_set(&why, questions[i].status, "'%s' in %s: %s", questions[i].path, urls->bucket,
					   hfkv_status_name(questions[i].status)),
				 &why);
			missing++;
		}
	}
	*ret_missing = missing;
	return status;
}

static enum hfkv_status add_below(struct object_store *store, const struct url_list *urls, struct name_list *list,
				  struct fault *fault)
{
	enum hfkv_status status = HFKV_OK;
	for (size_t i = 0; status == HFKV_OK && i < urls->count; i++)
		status = object_store_list(store, urls->paths[i], true, add_listed, list, DEADLINE_NONE, fault);
	return status;
}

static enum hfkv_status remove_names(struct object_store *store, const struct name_list *list, struct fault *fault)
{
	CLEANUP(free_pointer) struct object_stat *stats = calloc(list->count ? list->count : 1, sizeof(*stats));
	if (!stats)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", list->count);
	for (size_t i = 0; i < list->count; i++)
		stats[i].path = list->names[i];
	return list->count ? object_store_delete_many(store, stats, list->count, DEADLINE_NONE, fault) : HFKV_OK;
}

/* ---- the command ---- */

static enum hfkv_status rm_all(const struct rm_options *options, int *ret_code, struct fault *fault)
{
	CLEANUP(url_list_done) struct url_list urls = { 0 };
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	CLEANUP(name_list_done) struct name_list list = { 0 };
	size_t missing = 0;
	enum hfkv_status status = url_list_parse(options->arguments.urls, options->arguments.count, &urls, fault);
	if (status != HFKV_OK)
		return status;
	for (size_t i = 0; i < urls.count; i++)
		if (urls.are_prefixes[i] && !options->recursive)
			return fault_set(fault, HFKV_INVALID, "'%s' names a directory: --recursive removes what lies below it",
					 options->arguments.urls[i]);
	status = network_open_store(&options->network, urls.bucket, "cli", &store, fault);
	if (status == HFKV_OK)
		status = add_objects(store, options, &urls, &list, &missing, fault);
	if (status == HFKV_OK && options->recursive)
		status = add_below(store, &urls, &list, fault);
	if (status == HFKV_OK)
		status = remove_names(store, &list, fault);
	if (status != HFKV_OK)
		return status;
	if (options->network.json)
		json_print_line(json_pack("{sI}", "removed", (json_int_t)list.count));
	bool nothing_to_do = options->recursive && list.count == 0;
	*ret_code = missing || nothing_to_do ? CLI_NOT_FOUND : CLI_DONE;
	return nothing_to_do ? fault_set(fault, HFKV_NOT_FOUND, "nothing lies at or below '%s'", options->arguments.urls[0])
			     : HFKV_OK;
}

int cmd_rm(int argc, char **argv)
{
	struct rm_options options = { 0 };
	struct fault fault = FAULT_NONE;
	int code = CLI_DONE;
	if (options_parse(&rm_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	enum hfkv_status status = rm_all(&options, &code, &fault);
	return status == HFKV_OK ? stdout_finish(code) : cli_fail(status, &fault);
}
