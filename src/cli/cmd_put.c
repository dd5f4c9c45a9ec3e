/*
 * hfkv put: stores files as one batch.
 */
#include "src/cli/commands.h"
#include "src/cli/local_file.h"
#include "src/cli/network_options.h"
#include "src/cli/object_report.h"
#include "src/cli/progress.h"
#include "src/cli/url_list.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Files of one store call: the Hub takes 1000 names a call. */
#define FILES_PER_CALL 1000

struct put_options {
	struct network_options network;
	char **arguments; /* in argv: the files, then the URL */
	size_t count;
};

enum { KEY_CREATE = 0x2000 };

static const struct argp_option put_option_table[] = {
	{ "create-bucket-if-missing", KEY_CREATE, NULL, 0, "Create the bucket when it does not exist", 0 },
	{ 0 },
};

static error_t put_parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	struct put_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &values->network; return 0;
	case KEY_CREATE: values->network.create_bucket_if_missing = true; return 0;
	case ARGP_KEY_ARGS:
		values->arguments = state->argv + state->next;
		values->count = (size_t)(state->argc - state->next);
		return values->count >= 2 ? 0 : option_error(state, "a file and a URL are needed, in this order");
	case ARGP_KEY_NO_ARGS: return option_error(state, "a file and a URL are needed, in this order");
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child put_children[] = { { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp put_argp = {
	.options = put_option_table, .parser = put_parse, .children = put_children, .args_doc = "FILE URL\nFILE... URL/",
	.doc = "Store FILE under the object path of URL, or several files below it under their own names."
	       "\vFILE may be - for standard input. A URL that ends in / names a directory. Several files travel as one batch: "
	       "shared uploads, one call that names them. No size rule applies. With --json: one object {path, size, xetHash} "
	       "a line.",
};

/* ---- one batch ---- */

struct put_batch {
	size_t count;
	char **paths;
	struct object_put *puts;
};

static void put_batch_done(struct put_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		free(batch->paths[i]);
		if (batch->puts[i].source.fd >= 0)
			close(batch->puts[i].source.fd);
	}
	free(batch->paths);
	free(batch->puts);
}

static char *object_path_for(const char *file, const struct url_list *target)
{
	if (!target->are_prefixes[0])
		return strdup(target->paths[0]);
	const char *slash = strrchr(file, '/');
	char *path = NULL;
	int length = asprintf(&path, "%s%s%s", target->paths[0], target->paths[0][0] ? "/" : "", slash ? slash + 1 : file);
	return length < 0 ? NULL : path;
}

static enum hfkv_status open_batch(char *const *files, size_t count, const struct url_list *target,
				   struct put_batch *batch, struct fault *fault)
{
	batch->paths = calloc(count, sizeof(*batch->paths));
	batch->puts = calloc(count, sizeof(*batch->puts));
	if (!batch->paths || !batch->puts)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu files", count);
	for (size_t i = 0; i < count; i++) {
		struct local_source source;
		enum hfkv_status status = local_source_open(files[i], &source, fault);
		if (status != HFKV_OK)
			return status;
		batch->puts[i].source = (struct object_source){ .fd = source.fd, .size_bytes = source.size_bytes };
		batch->paths[i] = object_path_for(files[i], target);
		batch->count = i + 1;
		if (!batch->paths[i])
			return fault_set(fault, HFKV_NO_MEMORY, "no memory for '%s'", files[i]);
		batch->puts[i].path = batch->paths[i];
	}
	return HFKV_OK;
}

static void print_stored(const struct put_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct object_put *put = &batch->puts[i];
		struct object_info info = { .size_bytes = put->source.size_bytes, .hash = put->hash };
		if (put->status == HFKV_OK)
			json_print_line(object_to_json(put->path, &info));
	}
}

/* With several files, says which one was the trouble and how many there are. */
static enum hfkv_status name_failure(const struct put_batch *batch, enum hfkv_status status, struct fault *fault)
{
	size_t failed = 0;
	const struct object_put *first = NULL;
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->puts[i].status == HFKV_OK)
			continue;
		failed++;
		if (!first)
			first = &batch->puts[i];
	}
	if (batch->count == 1 || !first)
		return status;
	char text[FAULT_TEXT_BYTES];
	snprintf(text, sizeof(text), "%s", fault_text(first->fault.text[0] ? &first->fault : fault, first->status));
	return fault_set(fault, first->status, "%zu of %zu files were not stored, the first is '%s': %s", failed,
			 batch->count, first->path, text);
}

static enum hfkv_status put_batch(struct object_store *store, const struct put_options *options, char *const *files,
				  size_t count, const struct url_list *target, struct fault *fault)
{
	CLEANUP(put_batch_done) struct put_batch batch = { 0 };
	enum hfkv_status status = open_batch(files, count, target, &batch, fault);
	if (status != HFKV_OK)
		return status;
	uint64_t total_bytes = 0;
	for (size_t i = 0; i < count; i++)
		total_bytes += batch.puts[i].source.size_bytes;
	struct progress progress;
	progress_begin(&progress, "storing", total_bytes);
	status = object_store_put_many(store, batch.puts, count, progress_report, &progress, DEADLINE_NONE, fault);
	progress_end(&progress);
	if (options->network.json)
		print_stored(&batch);
	return status == HFKV_OK ? HFKV_OK : name_failure(&batch, status, fault);
}

/* ---- the command ---- */

static void allow_open_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 2 * FILES_PER_CALL)
		return;
	limit.rlim_cur = limit.rlim_max < 2 * FILES_PER_CALL ? limit.rlim_max : 2 * FILES_PER_CALL;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static enum hfkv_status put_all(const struct put_options *options, struct fault *fault)
{
	CLEANUP(url_list_done) struct url_list target = { 0 };
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	size_t files = options->count - 1;
	enum hfkv_status status = url_list_parse(&options->arguments[files], 1, &target, fault);
	if (status != HFKV_OK)
		return status;
	if (files > 1 && !target.are_prefixes[0])
		return fault_set(fault, HFKV_INVALID, "%zu files need a URL that ends in /, not '%s'", files,
				 options->arguments[files]);
	for (size_t i = 0; i < files; i++)
		if (target.are_prefixes[0] && strcmp(options->arguments[i], "-") == 0)
			return fault_set(fault, HFKV_INVALID, "standard input has no name: give the full object path");
	status = network_open_store(&options->network, target.bucket, "cli", &store, fault);
	for (size_t done = 0; status == HFKV_OK && done < files; done += FILES_PER_CALL) {
		size_t count = files - done < FILES_PER_CALL ? files - done : FILES_PER_CALL;
		status = put_batch(store, options, options->arguments + done, count, &target, fault);
	}
	return status;
}

int cmd_put(int argc, char **argv)
{
	struct put_options options = { 0 };
	struct fault fault = FAULT_NONE;
	if (options_parse(&put_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	allow_open_files();
	enum hfkv_status status = put_all(&options, &fault);
	return status == HFKV_OK ? stdout_finish(CLI_DONE) : cli_fail(status, &fault);
}
