/*
 * hfkv verify: the objects below a prefix that a kv mount would not show, and on request those whose bytes are bad.
 */
#include "cache/key_codec.h"
#include "src/cli/chunk_options.h"
#include "src/cli/commands.h"
#include "src/cli/network_options.h"
#include "src/cli/object_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct verify_options {
	struct network_options network;
	struct chunk_options chunk;
	bool content;
	const char *url;
};

enum { KEY_CONTENT = 0x4000 };

static const struct argp_option verify_option_table[] = {
	{ "content", KEY_CONTENT, NULL, 0, "Also fetch every object and check its hash", 0 },
	{ 0 },
};

static error_t verify_parse(int key, char *argument, struct argp_state *state)
{
	struct verify_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &values->chunk;
		state->child_inputs[1] = &values->network;
		return 0;
	case KEY_CONTENT: values->content = true; return 0;
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

static const struct argp_child verify_children[] = { { &chunk_argp, 0, NULL, 0 }, { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp verify_argp = {
	.options = verify_option_table, .parser = verify_parse, .children = verify_children, .args_doc = "URL",
	.doc = "List the objects below URL that are no full KV chunks."
	       "\vOne line each: 'wrong-size SIZE FULL-SIZE PATH', 'no-key SIZE - PATH' (the name stands for no key), "
	       "'no-rule SIZE - PATH' (no line of the table matches), with --content also 'corrupt SIZE - PATH'. A mount in kv "
	       "layout hides all of them; storing a chunk again heals it. Exit code 4 when there are any.",
};

struct verification {
	const struct verify_options *options;
	const struct kv_chunk_spec *spec;
	struct object_store *store;
	int null_fd;
	uint64_t checked, bad;
	struct fault *fault;
};

static bool stands_for_a_key(const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_pointer) char *key = NULL;
	return key_from_object_name(slash ? slash + 1 : path, &key) == HFKV_OK;
}

static void print_bad(struct verification *run, const char *what, const struct object_list_entry *entry,
		      uint64_t full_size)
{
	run->bad++;
	if (run->options->network.json) {
		json_t *object = object_to_json(entry->path, &entry->info);
		if (object) {
			json_object_set_new(object, "problem", json_string(what));
			json_object_set_new(object, "fullSize", full_size ? json_integer((json_int_t)full_size) : json_null());
		}
		json_print_line(object);
	} else if (full_size) {
		printf("%s %llu %llu %s\n", what, (unsigned long long)entry->info.size_bytes,
		       (unsigned long long)full_size, entry->path);
	} else {
		printf("%s %llu - %s\n", what, (unsigned long long)entry->info.size_bytes, entry->path);
	}
}

/* Reads it all, into nothing: the store checks the hash on the way. */
static enum hfkv_status check_content(struct verification *run, const struct object_list_entry *entry)
{
	struct object_sink sink = { .fd = run->null_fd };
	enum hfkv_status status = object_store_read_whole(run->store, &entry->info, &sink, NULL, NULL, DEADLINE_NONE,
							  run->fault);
	if (status != HFKV_CORRUPT && status != HFKV_NOT_FOUND)
		return status;
	print_bad(run, "corrupt", entry, 0);
	return HFKV_OK;
}

static enum hfkv_status verify_entry(void *context, const struct object_list_entry *entry)
{
	struct verification *run = context;
	uint64_t full_size = kv_chunk_spec_full_size(run->spec, entry->path);
	run->checked++;
	if (!stands_for_a_key(entry->path))
		print_bad(run, "no-key", entry, 0);
	else if (full_size == 0)
		print_bad(run, "no-rule", entry, 0);
	else if (entry->info.size_bytes != full_size)
		print_bad(run, "wrong-size", entry, full_size);
	else if (run->options->content)
		return check_content(run, entry);
	return HFKV_OK;
}

static enum hfkv_status verify_all(const struct verify_options *options, int *ret_code, struct fault *fault)
{
	CLEANUP(bucket_url_done) struct bucket_url url = { 0 };
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	CLEANUP(kv_chunk_spec_freep) struct kv_chunk_spec *spec = NULL;
	CLEANUP(close_fd) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	enum hfkv_status status = bucket_url_parse(options->url, &url, fault);
	if (status == HFKV_OK)
		status = chunk_options_spec(&options->chunk, &spec, fault);
	if (status == HFKV_OK)
		status = network_open_store(&options->network, url.bucket, "cli", &store, fault);
	if (status != HFKV_OK)
		return status;
	struct verification run = { .options = options, .spec = spec, .store = store, .null_fd = null_fd, .fault = fault };
	status = object_store_list(store, url.path, true, verify_entry, &run, DEADLINE_NONE, fault);
	if (status != HFKV_OK)
		return status;
	fprintf(stderr, "hfkv: %llu objects checked, %llu are no full chunks\n", (unsigned long long)run.checked,
		(unsigned long long)run.bad);
	*ret_code = run.bad ? CLI_REFUSED_SIZE : CLI_DONE;
	return HFKV_OK;
}

int cmd_verify(int argc, char **argv)
{
	struct verify_options options = { 0 };
	struct fault fault = FAULT_NONE;
	int code = CLI_DONE;
	if (options_parse(&verify_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	enum hfkv_status status = verify_all(&options, &code, &fault);
	return status == HFKV_OK ? stdout_finish(code) : cli_fail(status, &fault);
}
