/*
 * hfkv kv: the LMCache connectors without Python, from an LMCache YAML file or an L2 adapter's JSON.
 */
#include "common/file_io.h"
#include "src/cli/chunk_options.h"
#include "src/cli/commands.h"
#include "src/cli/kv_bench.h"
#include "src/cli/local_file.h"
#include "src/cli/network_options.h"
#include "src/cli/object_report.h"

#include <stdio.h>
#include <string.h>

DEFINE_CLEANUP(hfkv_settings_free, struct hfkv_settings *);
DEFINE_CLEANUP(hfkv_connector_close, struct hfkv_connector *);

struct kv_options {
	struct network_options network;
	struct chunk_options chunk;
	const char *config_file, *plugin_name;
	int64_t timeout_ms;
	uint64_t bench_bytes, bench_keys, bench_rounds;
	bool keep;
	const char *verb;
	char **arguments; /* in argv, behind the verb */
	size_t count;
};

enum { OPTION_PLUGIN = 0x2000, OPTION_TIMEOUT, OPTION_SIZE, OPTION_COUNT, OPTION_ROUNDS, OPTION_KEEP };

static const struct argp_option kv_option_table[] = {
	{ "config", 'c', "FILE", 0, "LMCache's YAML, or the JSON of an L2 adapter (a name that ends in .json)",
	  0 },
	{ "plugin", OPTION_PLUGIN, "NAME", 0, "Which of remote_storage_plugins (default: the first of ours)", 0 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0, "The longest that an operation may take (default: 30)", 0 },
	{ "size", OPTION_SIZE, "BYTES", 0, "bench: bytes of a body (default: the full size, else 4M)", 1 },
	{ "count", OPTION_COUNT, "N", 0, "bench: keys of a batch (default 32)", 1 },
	{ "rounds", OPTION_ROUNDS, "N", 0, "bench: rounds (default 5)", 1 },
	{ "keep", OPTION_KEEP, NULL, 0, "bench: leave what was stored", 1 },
	{ 0 },
};

static error_t kv_parse(int key, char *argument, struct argp_state *state)
{
	struct kv_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &values->network;
		state->child_inputs[1] = &values->chunk;
		return 0;
	case 'c': values->config_file = argument; return 0;
	case OPTION_PLUGIN: values->plugin_name = argument; return 0;
	case OPTION_TIMEOUT: return option_seconds_above_0(state, "--timeout", argument, &values->timeout_ms);
	case OPTION_SIZE: return option_bytes(state, "--size", argument, &values->bench_bytes);
	case OPTION_COUNT: return option_number(state, "--count", argument, 1, 100000, &values->bench_keys);
	case OPTION_ROUNDS: return option_number(state, "--rounds", argument, 1, 100000, &values->bench_rounds);
	case OPTION_KEEP: values->keep = true; return 0;
	case ARGP_KEY_ARGS:
		values->verb = state->argv[state->next];
		values->arguments = state->argv + state->next + 1;
		values->count = (size_t)(state->argc - state->next - 1);
		return 0;
	case ARGP_KEY_NO_ARGS: return option_error(state, "what to do? put, get, exists, list, rm or bench");
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kv_children[] = {
	{ &network_argp, 0, NULL, 0 },
	{ &chunk_argp, 0, "Full size of a KV chunk, where the configuration does not say it:", 0 },
	{ 0 },
};
static const struct argp kv_argp = {
	.options = kv_option_table,
	.parser = kv_parse,
	.children = kv_children,
	.args_doc = "put KEY FILE\nget KEY FILE\nexists KEY...\nlist\nrm KEY...\nbench",
	.doc = "Store and load KV chunks through the connector that an LMCache configuration describes."
	       "\vFiles are bodies as stored, metadata header included; '-' is a standard stream. Exit code 3 "
	       "when a key is not "
	       "there, 4 when a size rule refuses a body.",
};

/* Prints the library's words and gives the exit code. */
static int fail_with(enum hfkv_status status, const struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	return cli_fail(fault_set(&fault, status, "%s", error->text), &fault);
}

/* Exit code 3 says that a key is not there: a file or directory that a setting names is another matter. */
static int fail_to_open(enum hfkv_status status, const struct hfkv_error *error)
{
	return fail_with(status == HFKV_NOT_FOUND ? HFKV_INVALID : status, error);
}

/* ---- opening ---- */

/* The size options go over what the configuration says. */
static enum hfkv_status apply_chunk_options(const struct kv_options *options, struct hfkv_settings *settings,
					    struct hfkv_open_options *open, struct hfkv_error *error)
{
	open->header_groups = options->chunk.meta_groups;
	if (options->chunk.table_file) {
		const char *section = hfkv_settings_is_l2(settings) ? NULL : "extra_config";
		return hfkv_settings_set(settings, section, "chunk_table", options->chunk.table_file, error);
	}
	if (!chunk_options_given(&options->chunk))
		return HFKV_OK;
	struct chunk_options tensor_only = options->chunk;
	struct fault fault = FAULT_NONE;
	tensor_only.meta_groups = 0; /* the connector adds its own header */
	enum hfkv_status status = chunk_options_full_size(&tensor_only, &open->chunk_bytes, &fault);
	if (status != HFKV_OK)
		snprintf(error->text, sizeof(error->text), "%s", fault_text(&fault, status));
	return status;
}

static enum hfkv_status load_settings(const struct kv_options *options, struct hfkv_settings **ret_settings,
				      struct hfkv_open_options *ret_open, struct hfkv_error *error)
{
	CLEANUP(hfkv_settings_freep) struct hfkv_settings *settings = NULL;
	struct hfkv_open_options open = HFKV_OPEN_OPTIONS_INIT;
	open.plugin_name = options->plugin_name;
	open.endpoint = options->network.endpoint;
	open.token_env = options->network.token_environment;
	open.token_file = options->network.token_file;
	open.ca_file = options->network.ca_file;
	open.timeout_ms = options->timeout_ms;
	enum hfkv_status status = hfkv_settings_load(options->config_file, &settings, error);
	if (status == HFKV_OK)
		status = apply_chunk_options(options, settings, &open, error);
	if (status != HFKV_OK)
		return status;
	*ret_open = open;
	*ret_settings = TAKE_PTR(settings);
	return HFKV_OK;
}

/* ---- verbs ---- */

static int kv_put(struct hfkv_connector *connector, const struct kv_options *options)
{
	struct fault fault = FAULT_NONE;
	struct hfkv_error error;
	struct local_source source = { .fd = -1 };
	enum hfkv_status status = local_source_open(options->arguments[1], &source, &fault);
	CLEANUP(close_fd) int fd = source.fd;
	if (status != HFKV_OK)
		return cli_fail(status, &fault);
	CLEANUP(free_pointer) uint8_t *body = malloc(source.size_bytes ? source.size_bytes : 1);
	if (!body)
		return cli_fail(fault_set(&fault, HFKV_NO_MEMORY, "no memory for '%s'", options->arguments[1]),
				&fault);
	int64_t got = file_io_read_at(fd, body, source.size_bytes, 0);
	if (got < 0 || (uint64_t)got < source.size_bytes)
		return cli_fail(fault_set_errno(&fault, got < 0 ? errno : EIO, "'%s'", options->arguments[1]), &fault);
	struct hfkv_item item = { .key = options->arguments[0], .data = body, .length = source.size_bytes };
	status = hfkv_connector_run(connector, HFKV_OP_PUT, &item, 1, 0, &error);
	return status == HFKV_OK ? CLI_DONE : fail_with(status, &error);
}

static int report_missing(const char *key)
{
	struct fault fault = FAULT_NONE;
	return cli_fail(fault_set(&fault, HFKV_NOT_FOUND, "key '%s' is not there", key), &fault);
}

static int save_body(const char *name, const uint8_t *body, uint64_t length)
{
	struct fault fault = FAULT_NONE;
	CLEANUP(local_target_done) struct local_target target = { .fd = -1, .stream_fd = -1 };
	enum hfkv_status status = local_target_open(name, &target, &fault);
	if (status == HFKV_OK && !file_io_write_at(target.fd, body, length, target.offset))
		status = fault_set_errno(&fault, errno, "'%s'", name);
	if (status == HFKV_OK)
		status = local_target_commit(&target, length, &fault);
	return status == HFKV_OK ? CLI_DONE : cli_fail(status, &fault);
}

static int kv_get(struct hfkv_connector *connector, const struct kv_options *options)
{
	struct hfkv_error error;
	struct hfkv_item item = { .key = options->arguments[0] };
	enum hfkv_status status = hfkv_connector_run(connector, HFKV_OP_EXISTS, &item, 1, 0, &error);
	if (status != HFKV_OK)
		return fail_with(status, &error);
	if (item.status != HFKV_OK)
		return report_missing(item.key);
	uint64_t header_bytes = hfkv_connector_header_bytes(connector);
	CLEANUP(free_pointer) uint8_t *body = malloc(item.bytes + header_bytes);
	if (!body)
		return cli_fail(HFKV_NO_MEMORY, NULL);
	item.data = body;
	item.length = item.bytes + header_bytes;
	status = hfkv_connector_run(connector, HFKV_OP_GET, &item, 1, 0, &error);
	if (status != HFKV_OK)
		return fail_with(status, &error);
	if (item.status != HFKV_OK)
		return report_missing(item.key);
	return save_body(options->arguments[1], body, item.bytes + header_bytes);
}

/* Items for the keys on the command line; the caller frees. NULL: no memory. */
static struct hfkv_item *items_for_keys(const struct kv_options *options)
{
	struct hfkv_item *items = calloc(options->count, sizeof(*items));
	for (size_t i = 0; items && i < options->count; i++)
		items[i].key = options->arguments[i];
	return items;
}

static void print_presence(const struct kv_options *options, const struct hfkv_item *items)
{
	json_t *list = options->network.json ? json_array() : NULL;
	for (size_t i = 0; i < options->count; i++) {
		bool there = items[i].status == HFKV_OK;
		if (list)
			json_array_append_new(list, json_pack("{ss sb sI}", "key", items[i].key, "exists", there,
							      "bytes", (json_int_t)items[i].bytes));
		else
			printf("%s\t%s\n", there ? "present" : "absent", items[i].key);
	}
	if (options->network.json)
		json_print_line(list);
}

static int kv_exists(struct hfkv_connector *connector, const struct kv_options *options)
{
	struct hfkv_error error;
	CLEANUP(free_pointer) struct hfkv_item *items = items_for_keys(options);
	if (!items)
		return cli_fail(HFKV_NO_MEMORY, NULL);
	enum hfkv_status status = hfkv_connector_run(connector, HFKV_OP_EXISTS, items, options->count, 0, &error);
	if (status != HFKV_OK)
		return fail_with(status, &error);
	print_presence(options, items);
	int code = CLI_DONE;
	for (size_t i = 0; i < options->count; i++)
		if (items[i].status != HFKV_OK)
			code = CLI_NOT_FOUND;
	return stdout_finish(code);
}

static int kv_rm(struct hfkv_connector *connector, const struct kv_options *options)
{
	struct hfkv_error error;
	CLEANUP(free_pointer) struct hfkv_item *items = items_for_keys(options);
	if (!items)
		return cli_fail(HFKV_NO_MEMORY, NULL);
	enum hfkv_status status = hfkv_connector_run(connector, HFKV_OP_REMOVE, items, options->count, 0, &error);
	if (status != HFKV_OK)
		return fail_with(status, &error);
	int code = CLI_DONE;
	for (size_t i = 0; i < options->count; i++)
		if (items[i].status == HFKV_NOT_FOUND)
			code = report_missing(items[i].key);
	return code;
}

static enum hfkv_status add_listed(void *context, const char *key, uint64_t bytes)
{
	json_t *list = context;
	if (list)
		return json_array_append_new(list, json_pack("{ss sI}", "key", key, "bytes", (json_int_t)bytes)) ==
			       0
			   ? HFKV_OK
			   : HFKV_NO_MEMORY;
	puts(key);
	return HFKV_OK;
}

static int kv_list(struct hfkv_connector *connector, const struct kv_options *options)
{
	struct hfkv_error error;
	json_t *list = options->network.json ? json_array() : NULL;
	enum hfkv_status status = hfkv_connector_list(connector, add_listed, list, 0, &error);
	if (status == HFKV_OK && list)
		json_print_line(list);
	else
		json_decref(list);
	return status == HFKV_OK ? stdout_finish(CLI_DONE) : fail_with(status, &error);
}

/* ---- the command ---- */

struct kv_verb {
	const char *name;
	size_t least, most;                                                             /* arguments */
	int (*run)(struct hfkv_connector *connector, const struct kv_options *options); /* NULL: bench */
};

static const struct kv_verb kv_verbs[] = {
	{ "put", 2, 2, kv_put },   { "get", 2, 2, kv_get },      { "exists", 1, SIZE_MAX, kv_exists },
	{ "list", 0, 0, kv_list }, { "rm", 1, SIZE_MAX, kv_rm }, { "bench", 0, 0, NULL },
};

static int run_bench(const struct kv_options *options, const struct hfkv_settings *settings,
		     const struct hfkv_open_options *open)
{
	struct hfkv_error error;
	CLEANUP(hfkv_connector_closep) struct hfkv_connector *probe = NULL;
	enum hfkv_status status = hfkv_connector_open(settings, open, &probe, &error);
	if (status != HFKV_OK)
		return fail_to_open(status, &error);
	uint64_t full = hfkv_connector_chunk_bytes(probe);
	struct kv_bench_plan plan = {
		.settings = settings,
		.options = open,
		.body_bytes = options->bench_bytes ? options->bench_bytes
						   : (full ? full : 4 << 20) + hfkv_connector_header_bytes(probe),
		.keys = options->bench_keys,
		.rounds = options->bench_rounds,
		.keep = options->keep,
		.json = options->network.json,
	};
	status = kv_bench_run(&plan, &error);
	return status == HFKV_OK ? stdout_finish(CLI_DONE) : fail_with(status, &error);
}

static const struct kv_verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kv_verbs); i++)
		if (strcmp(kv_verbs[i].name, name) == 0)
			return &kv_verbs[i];
	return NULL;
}

int cmd_kv(int argc, char **argv)
{
	struct kv_options options = { .bench_keys = 32, .bench_rounds = 5 };
	if (options_parse(&kv_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	const struct kv_verb *verb = find_verb(options.verb);
	if (!verb)
		return cli_usage_error(argv[0], "no '%s': put, get, exists, list, rm or bench", options.verb);
	if (options.count < verb->least || options.count > verb->most)
		return cli_usage_error(argv[0], "%s takes %zu argument%s, not %zu", verb->name, verb->least,
				       verb->least == 1   ? " or more"
				       : verb->least == 0 ? "s"
							  : "s",
				       options.count);
	if (!options.config_file)
		return cli_usage_error(argv[0], "--config FILE is missing");
	CLEANUP(hfkv_settings_freep) struct hfkv_settings *settings = NULL;
	struct hfkv_open_options open;
	struct hfkv_error error;
	enum hfkv_status status = load_settings(&options, &settings, &open, &error);
	if (status != HFKV_OK)
		return fail_to_open(status, &error);
	if (!verb->run)
		return run_bench(&options, settings, &open);
	CLEANUP(hfkv_connector_closep) struct hfkv_connector *connector = NULL;
	status = hfkv_connector_open(settings, &open, &connector, &error);
	return status == HFKV_OK ? verb->run(connector, &options) : fail_to_open(status, &error);
}
