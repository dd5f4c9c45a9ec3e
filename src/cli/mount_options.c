#include "src/cli/mount_options.h"

#include "src/cli/commands.h"
#include "src/cli/mountpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define DRAIN_TIMEOUT_MS 30000
#define ID_MAX           ((uint64_t)UINT32_MAX - 1)

enum {
	KEY_LAYOUT = 0x5000, KEY_COMMIT, KEY_STAGING_DIR, KEY_STAGING_BYTES, KEY_METADATA_TTL, KEY_NEGATIVE_TTL, KEY_TMP_DIR,
	KEY_CREATE, KEY_READ_ONLY, KEY_ALLOW_OTHER, KEY_UID, KEY_GID, KEY_UMASK, KEY_TIMEOUT, KEY_DRAIN_TIMEOUT,
	KEY_LOG_LEVEL, KEY_LOG_JSON, KEY_LOG_FILE, KEY_NO_PASSTHROUGH,
};

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "What is shown:", 10 },
	{ "layout", KEY_LAYOUT, "kv|plain", 0, "KV chunks as .data files (default when a full size is given), or any objects", 10 },
	{ "tmp-dir", KEY_TMP_DIR, "NAME", 0, "Directory of temporary files, never uploaded (fs_connector_relative_tmp_dir)", 10 },
	{ "read-only", KEY_READ_ONLY, NULL, 0, "Refuse every change", 10 },
	{ "create-bucket-if-missing", KEY_CREATE, NULL, 0, "Create the bucket at the first write", 10 },
	{ "commit", KEY_COMMIT, "sync|writeback", 0, "rename and close return when stored (default); when staged (writeback): not in this release", 10 },
	{ NULL, 0, NULL, 0, "Caching:", 30 },
	{ "staging-dir", KEY_STAGING_DIR, "DIR", 0, "Where bodies are kept (default: /dev/shm when large enough, else /var/tmp)", 30 },
	{ "staging-bytes", KEY_STAGING_BYTES, "N", 0, "Limit of staged bytes; K, M, G, T as suffix (default: half of what is free there, at most 4G)", 30 },
	{ "metadata-ttl", KEY_METADATA_TTL, "SECONDS", 0, "How long a found object stays known (default: 30)", 30 },
	{ "negative-ttl", KEY_NEGATIVE_TTL, "SECONDS", 0, "How long an absence stays known (default: 2)", 30 },
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0, "The longest any operation may block (default: 30)", 30 },
	{ "drain-timeout", KEY_DRAIN_TIMEOUT, "SECONDS", 0, "The longest an ending mount waits for uploads (default: 30)", 30 },
	{ "no-passthrough", KEY_NO_PASSTHROUGH, NULL, 0, "Do not use FUSE passthrough where the kernel offers it", 30 },
	{ NULL, 0, NULL, 0, "Permissions:", 40 },
	{ "allow-other", KEY_ALLOW_OTHER, NULL, 0, "Other users may look (a user needs user_allow_other in /etc/fuse.conf)", 40 },
	{ "uid", KEY_UID, "UID", 0, "Owner of everything shown (default: the mounting user)", 40 },
	{ "gid", KEY_GID, "GID", 0, "Group of everything shown", 40 },
	{ "umask", KEY_UMASK, "MODE", 0, "Octal, taken from 0644 of files and 0755 of directories (default: 0)", 40 },
	{ NULL, 0, NULL, 0, "Daemon:", 50 },
	{ "foreground", 'f', NULL, 0, "Stay in the foreground and log to stderr", 50 },
	{ "log-level", KEY_LOG_LEVEL, "LEVEL", 0, "error, warning (default), info or debug; @FILE: read from FILE, again at SIGHUP", 50 },
	{ "log-json", KEY_LOG_JSON, NULL, 0, "Log JSON objects", 50 },
	{ "log-file", KEY_LOG_FILE, "FILE", 0, "Log to FILE (default in the background: syslog)", 50 },
	{ NULL, 'o', "KEY[=VALUE],...", 0, "Any of these options as mount(8) and fstab have them, with _ for -; ro is --read-only", 50 },
	{ 0 },
};

static error_t parse_mode(const struct argp_state *state, const char *text, mode_t *ret_mode)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);
	if (text[0] < '0' || text[0] > '7' || *end || mode > 0777)
		return option_error(state, "--umask takes an octal mode such as 027, not '%s'", text);
	*ret_mode = (mode_t)mode;
	return 0;
}

static error_t parse_id(const struct argp_state *state, const char *option, const char *text, unsigned *ret_id)
{
	uint64_t id = 0;
	error_t error = option_number(state, option, text, 0, ID_MAX, &id);
	if (error == 0)
		*ret_id = (unsigned)id;
	return error;
}

static error_t parse_layout(struct mount_options *values, const char *text, const struct argp_state *state)
{
	bool kv = strcmp(text, "kv") == 0;
	if (!kv && strcmp(text, "plain") != 0)
		return option_error(state, "--layout is kv or plain, not '%s'", text);
	values->session.layout = kv ? FS_LAYOUT_KV : FS_LAYOUT_PLAIN;
	values->layout_given = true;
	return 0;
}

static error_t parse_commit(struct mount_options *values, const char *text, const struct argp_state *state)
{
	bool sync = strcmp(text, "sync") == 0;
	if (!sync && strcmp(text, "writeback") != 0)
		return option_error(state, "--commit is sync or writeback, not '%s'", text);
	values->cache.commit = sync ? KV_CACHE_COMMIT_SYNC : KV_CACHE_COMMIT_WRITEBACK;
	return 0;
}

static error_t parse_positional(struct mount_options *values, const char *argument, const struct argp_state *state)
{
	if (!values->url_text)
		values->url_text = argument;
	else if (!values->mountpoint_text)
		values->mountpoint_text = argument;
	else
		return option_error(state, "a URL and a mountpoint are enough, '%s' is too many", argument);
	return 0;
}

static error_t parse_limit(int key, char *argument, struct argp_state *state)
{
	struct mount_options *values = state->input;
	switch (key) {
	case KEY_STAGING_BYTES: return option_bytes(state, "--staging-bytes", argument, &values->cache.staging_bytes);
	case KEY_METADATA_TTL: return option_seconds(state, "--metadata-ttl", argument, &values->cache.metadata_ttl_ms);
	case KEY_NEGATIVE_TTL: return option_seconds(state, "--negative-ttl", argument, &values->cache.negative_ttl_ms);
	case KEY_TIMEOUT: return option_seconds_above_0(state, "--timeout", argument, &values->cache.timeout_ms);
	case KEY_DRAIN_TIMEOUT: return option_seconds(state, "--drain-timeout", argument, &values->drain_timeout_ms);
	case KEY_UID: return parse_id(state, "--uid", argument, &values->session.uid);
	case KEY_GID: return parse_id(state, "--gid", argument, &values->session.gid);
	case KEY_UMASK: return parse_mode(state, argument, &values->session.umask);
	case ARGP_KEY_ARG: return parse_positional(values, argument, state);
	case ARGP_KEY_END:
		return values->mountpoint_text ? 0 : option_error(state, "a URL and a mountpoint are needed, in this order");
	default: return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct mount_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &values->chunk;
		state->child_inputs[1] = &values->network;
		return 0;
	case KEY_LAYOUT: return parse_layout(values, argument, state);
	case KEY_COMMIT: return parse_commit(values, argument, state);
	case KEY_TMP_DIR: values->session.tmp_dir = argument; return 0;
	case KEY_STAGING_DIR: values->cache.staging_dir = argument; return 0;
	case KEY_CREATE: values->network.create_bucket_if_missing = true; return 0;
	case KEY_READ_ONLY: values->session.read_only = values->cache.read_only = true; return 0;
	case KEY_ALLOW_OTHER: values->session.allow_other = true; return 0;
	case KEY_NO_PASSTHROUGH: values->session.no_passthrough = true; return 0;
	case KEY_LOG_LEVEL: values->log_level = argument; return 0;
	case KEY_LOG_JSON: values->log_json = true; return 0;
	case KEY_LOG_FILE: values->log_file = argument; return 0;
	case 'f': values->foreground = true; return 0;
	case 'o': return option_error(state, "-o needs options such as -o ro,chunk_bytes=2359296");
	default: return parse_limit(key, argument, state);
	}
}

static const struct argp_child children[] = { { &chunk_argp, 0, NULL, 0 }, { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp mount_argp = {
	.options = option_table, .parser = parse, .children = children, .args_doc = "URL MOUNTPOINT",
	.doc = "Show hf://buckets/NAMESPACE/BUCKET[/PREFIX] as a directory."
	       "\vReturns when the mount answers and the bucket was reached; otherwise says in one line what is wrong. "
	       "'hfkv umount MOUNTPOINT' ends it. As mount.fuse.hfkv in /sbin the program serves mount -t fuse.hfkv and fstab.",
};

/* ---- what follows from the arguments ---- */

/* A daemon works in /: file names it opens later must not depend on where it was started. */
static enum hfkv_status make_absolute(struct mount_options *options, const char **name, size_t slot, struct fault *fault)
{
	if (!*name || (*name)[0] == '/')
		return HFKV_OK;
	CLEANUP(free_pointer) char *here = getcwd(NULL, 0);
	if (!here || asprintf(&options->absolute_paths[slot], "%s/%s", here, *name) < 0) {
		options->absolute_paths[slot] = NULL;
		return fault_set_errno(fault, errno, "cannot tell where '%s' is", *name);
	}
	*name = options->absolute_paths[slot];
	return HFKV_OK;
}

static enum hfkv_status make_names_absolute(struct mount_options *options, struct fault *fault)
{
	const char **names[] = { &options->cache.staging_dir, &options->network.token_file, &options->network.ca_file,
				 &options->log_file };
	enum hfkv_status status = HFKV_OK;
	for (size_t i = 0; status == HFKV_OK && i < ARRAY_LENGTH(names); i++)
		status = make_absolute(options, names[i], i, fault);
	return status;
}

static enum hfkv_status decide_layout(struct mount_options *options, struct fault *fault)
{
	bool sized = chunk_options_given(&options->chunk);
	if (!options->layout_given)
		options->session.layout = sized ? FS_LAYOUT_KV : FS_LAYOUT_PLAIN;
	if (options->session.layout == FS_LAYOUT_KV && !sized)
		return fault_set(fault, HFKV_INVALID, "the kv layout needs the full size of a KV chunk: give --chunk-bytes, "
						      "--chunk-table or --model-config ('hfkv chunk-size' tells numbers)");
	if (options->session.layout == FS_LAYOUT_PLAIN && sized)
		return fault_set(fault, HFKV_INVALID, "the plain layout has no size rule: leave out the full size, or the layout");
	return options->session.layout == FS_LAYOUT_KV ? chunk_options_spec(&options->chunk, &options->spec, fault) : HFKV_OK;
}

static enum hfkv_status derive(struct mount_options *options, struct fault *fault)
{
	enum hfkv_status status = bucket_url_parse(options->url_text, &options->url, fault);
	if (status == HFKV_OK)
		status = decide_layout(options, fault);
	if (status == HFKV_OK)
		status = make_names_absolute(options, fault);
	if (status == HFKV_OK)
		status = mountpoint_resolve(options->mountpoint_text, &options->mountpoint, fault);
	if (status == HFKV_NOT_FOUND)
		return fault_set(fault, status, "mountpoint '%s' does not exist: mkdir it first", options->mountpoint_text);
	if (status != HFKV_OK)
		return status;
	if (asprintf(&options->source, "hf://buckets/%s%s%s", options->url.bucket, options->url.path[0] ? "/" : "",
		     options->url.path) < 0) {
		options->source = NULL;
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for '%s'", options->url_text);
	}
	options->session.metadata_ttl_ms = options->cache.metadata_ttl_ms;
	options->session.negative_ttl_ms = options->cache.negative_ttl_ms;
	options->session.timeout_ms = options->cache.timeout_ms;
	return mount_options_apply_log(options, fault);
}

int mount_options_read(int argc, char **argv, bool as_helper, struct mount_options *ret_options)
{
	CLEANUP(mount_options_done) struct mount_options options = {
		.cache = kv_cache_settings_default(), .session = fs_session_settings_default(),
		.drain_timeout_ms = DRAIN_TIMEOUT_MS, .log_level = "warning",
	};
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
		mount_arguments_expand(argc, argv, as_helper, &mount_argp, &options.arguments, &fault);
	if (status != HFKV_OK)
		return cli_fail(status, &fault);
	options.fake = options.arguments.fake;
	if (options_parse(&mount_argp, options.arguments.count, options.arguments.values, &options) != 0)
		return CLI_USAGE;
	status = derive(&options, &fault);
	if (status != HFKV_OK)
		return cli_fail(status, &fault);
	*ret_options = options;
	options = (struct mount_options){ 0 };
	return 0;
}

void mount_options_done(struct mount_options *options)
{
	bucket_url_done(&options->url);
	kv_chunk_spec_free(options->spec);
	free(options->mountpoint);
	free(options->source);
	for (size_t i = 0; i < ARRAY_LENGTH(options->absolute_paths); i++)
		free(options->absolute_paths[i]);
	mount_arguments_done(&options->arguments);
	*options = (struct mount_options){ 0 };
}

/* ---- the log ---- */

static enum hfkv_status read_level_file(const char *file, char *word, int bytes, struct fault *fault)
{
	CLEANUP(close_stream) FILE *stream = fopen(file, "re");
	if (!stream)
		return fault_set_errno(fault, errno, "cannot read the log level from '%s'", file);
	if (!fgets(word, bytes, stream))
		word[0] = '\0';
	word[strcspn(word, " \t\r\n")] = '\0';
	return HFKV_OK;
}

enum hfkv_status mount_options_apply_log(const struct mount_options *options, struct fault *fault)
{
	struct log_settings settings = { .json = options->log_json };
	char word[16];
	const char *text = options->log_level;
	if (text[0] == '@') {
		enum hfkv_status status = read_level_file(text + 1, word, sizeof(word), fault);
		if (status != HFKV_OK)
			return status;
		text = word;
	}
	if (!log_level_parse(text, &settings.level))
		return fault_set(fault, HFKV_INVALID, "the log level is error, warning, info or debug, not '%s'", text);
	log_configure(settings);
	return HFKV_OK;
}
