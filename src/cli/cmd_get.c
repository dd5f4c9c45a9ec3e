/*
 * hfkv get: fetches objects, verified, into files or standard output.
 */
#include "src/cli/commands.h"
#include "src/cli/network_options.h"
#include "src/cli/object_fetch.h"
#include "src/cli/local_file.h"
#include "src/cli/object_report.h"
#include "src/cli/url_list.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct get_options {
	struct network_options network;
	char **arguments; /* in argv: the URLs, then the target */
	size_t count;
};

static error_t get_parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	struct get_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &values->network; return 0;
	case ARGP_KEY_ARGS:
		values->arguments = state->argv + state->next;
		values->count = (size_t)(state->argc - state->next);
		return values->count >= 2 ? 0 : option_error(state, "a URL and a file are needed, in this order");
	case ARGP_KEY_NO_ARGS: return option_error(state, "a URL and a file are needed, in this order");
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child get_children[] = { { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp get_argp = {
	.parser = get_parse, .children = get_children, .args_doc = "URL FILE\nURL... DIRECTORY\nURL/ DIRECTORY",
	.doc = "Fetch the object of URL into FILE, several into DIRECTORY, or everything below URL/."
	       "\vFILE may be - for standard output. Every object is verified by its hash before it appears under its name. "
	       "No size rule applies. With --json: one object {path, size, xetHash, file} a line.",
};

/* ---- what goes where ---- */

static bool is_directory(const char *name)
{
	struct stat about;
	size_t length = strlen(name);
	return (length > 0 && name[length - 1] == '/') || (stat(name, &about) == 0 && S_ISDIR(about.st_mode));
}

static enum hfkv_status add_into_directory(struct object_fetch_list *list, const char *path, const char *relative,
					   const char *directory, struct fault *fault)
{
	CLEANUP(free_pointer) char *target = NULL;
	size_t length = strlen(directory);
	if (asprintf(&target, "%s%s%s", directory, length && directory[length - 1] == '/' ? "" : "/", relative) < 0) {
		target = NULL;
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for '%s'", path);
	}
	enum hfkv_status status = local_make_directories(target, 0, fault);
	return status == HFKV_OK ? object_fetch_list_add(list, path, target, fault) : status;
}

struct prefix_visit {
	struct object_fetch_list *list;
	size_t prefix_length;
	const char *directory;
	struct fault *fault;
};

static enum hfkv_status add_listed(void *context, const struct object_list_entry *entry)
{
	struct prefix_visit *visit = context;
	/* A name that could leave the directory is nothing to follow. */
	if (object_path_check(entry->path) != HFKV_OK)
		return HFKV_OK;
	enum hfkv_status status = add_into_directory(visit->list, entry->path, entry->path + visit->prefix_length,
						     visit->directory, visit->fault);
	if (status == HFKV_OK)
		visit->list->items[visit->list->count - 1].info = entry->info;
	return status;
}

static enum hfkv_status add_prefix(struct object_store *store, const char *prefix, const char *directory,
				   struct object_fetch_list *list, struct fault *fault)
{
	struct prefix_visit visit = { list, strlen(prefix) + (prefix[0] ? 1 : 0), directory, fault };
	size_t before = list->count;
	enum hfkv_status status = object_store_list(store, prefix, true, add_listed, &visit, DEADLINE_NONE, fault);
	if (status == HFKV_OK && list->count == before)
		return fault_set(fault, HFKV_NOT_FOUND, "nothing lies below '%s/'", prefix);
	return status;
}

/* Asks for size and hash of the items from `first` on. */
static enum hfkv_status ask_about(struct object_store *store, struct object_fetch_list *list, size_t first,
				  const char *bucket, struct fault *fault)
{
	size_t count = list->count - first;
	if (count == 0)
		return HFKV_OK;
	CLEANUP(free_pointer) struct object_stat *questions = calloc(count, sizeof(*questions));
	if (!questions)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", count);
	for (size_t i = 0; i < count; i++)
		questions[i].path = list->items[first + i].path;
	enum hfkv_status status = object_store_stat_many(store, questions, count, DEADLINE_NONE, fault);
	for (size_t i = 0; status == HFKV_OK && i < count; i++) {
		list->items[first + i].info = questions[i].info;
		if (questions[i].status != HFKV_OK)
			status = fault_set(fault, questions[i].status, "'%s' in %s: %s", questions[i].path, bucket,
					   hfkv_status_name(questions[i].status));
	}
	return status;
}

static enum hfkv_status collect(struct object_store *store, const struct url_list *urls, const char *target,
				struct object_fetch_list *list, struct fault *fault)
{
	bool into_directory = urls->count > 1 || urls->are_prefixes[0] || is_directory(target);
	enum hfkv_status status = HFKV_OK;
	for (size_t i = 0; status == HFKV_OK && i < urls->count; i++) {
		const char *slash = strrchr(urls->paths[i], '/');
		if (urls->are_prefixes[i])
			continue;
		status = into_directory ? add_into_directory(list, urls->paths[i], slash ? slash + 1 : urls->paths[i],
							     target, fault) :
					  object_fetch_list_add(list, urls->paths[i], target, fault);
	}
	if (status == HFKV_OK)
		status = ask_about(store, list, 0, urls->bucket, fault);
	for (size_t i = 0; status == HFKV_OK && i < urls->count; i++)
		if (urls->are_prefixes[i])
			status = add_prefix(store, urls->paths[i], target, list, fault);
	return status;
}

/* ---- the command ---- */

static void print_fetched(const struct object_fetch_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct object_fetch *item = &list->items[i];
		json_t *object = object_to_json(item->path, &item->info);
		if (object)
			json_object_set_new(object, "file", json_string(item->target));
		json_print_line(object);
	}
}

static enum hfkv_status get_all(const struct get_options *options, struct fault *fault)
{
	CLEANUP(url_list_done) struct url_list urls = { 0 };
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	CLEANUP(object_fetch_list_done) struct object_fetch_list list = { 0 };
	const char *target = options->arguments[options->count - 1];
	enum hfkv_status status = url_list_parse(options->arguments, options->count - 1, &urls, fault);
	if (status != HFKV_OK)
		return status;
	if (strcmp(target, "-") == 0 && (urls.count > 1 || urls.are_prefixes[0] || options->network.json))
		return fault_set(fault, HFKV_INVALID, "standard output takes one object, without --json");
	status = network_open_store(&options->network, urls.bucket, "cli", &store, fault);
	if (status == HFKV_OK)
		status = collect(store, &urls, target, &list, fault);
	if (status == HFKV_OK)
		status = object_fetch_many(store, &list, fault);
	if (status == HFKV_OK && options->network.json)
		print_fetched(&list);
	return status;
}

int cmd_get(int argc, char **argv)
{
	struct get_options options = { 0 };
	struct fault fault = FAULT_NONE;
	if (options_parse(&get_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	enum hfkv_status status = get_all(&options, &fault);
	return status == HFKV_OK ? stdout_finish(CLI_DONE) : cli_fail(status, &fault);
}
