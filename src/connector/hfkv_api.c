/*
 * The composition root of libhfkv: settings become a configuration, a configuration becomes a backend
 * (directories, or a bucket's store and cache), and a backend becomes a connector or an L2 adapter.
 */
#include "hfkv/hfkv.h"

#include "backend/store/store_open.h"
#include "common/log.h"
#include "src/connector/bucket_connector.h"
#include "src/connector/connector.h"
#include "src/connector/connector_config.h"
#include "src/connector/fs_connector.h"
#include "src/connector/fs_paths.h"
#include "src/connector/l2_adapter.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define LOCAL_THREADS 4
/* Calls on our mount and to a bucket wait for a network, not for a processor. */
#define FUSE_THREADS   16
#define BUCKET_THREADS 8

#define SHARED_MEMORY       "/dev/shm"
#define STAGED_CHUNKS_MIN   4
#define CHUNK_BYTES_ASSUMED (16 * 1024 * 1024)

const char *hfkv_version(void)
{
	return HFKV_VERSION;
}

/* ---- log ---- */

struct log_target {
	void (*write_line)(void *context, enum hfkv_log_level level, const char *line);
	void *context;
};

static struct log_target log_target; /* the logger's own state: set before anything else runs */

static void write_log_line(void *context, enum log_level level, const char *line)
{
	const struct log_target *target = context;
	target->write_line(target->context, (enum hfkv_log_level)level, line);
}

void hfkv_log_to(void (*write_line)(void *context, enum hfkv_log_level level, const char *line), void *context,
		 enum hfkv_log_level level)
{
	log_target = (struct log_target){ write_line, context };
	log_configure((struct log_settings){ .level = (enum log_level)level });
	log_redirect(write_line ? write_log_line : NULL, &log_target);
}

/* ---- the bucket backend ---- */

/* What is being put together; released in the order in which it stands on itself. */
struct bucket_parts_held {
	struct bucket_connector_parts parts;
	struct bucket_url url;
};

static void release_parts(struct bucket_parts_held *held)
{
	if (held->parts.cache)
		kv_cache_close(held->parts.cache, deadline_after_ms(0), NULL);
	object_store_free(held->parts.store);
	bucket_url_done(&held->url);
}

static enum hfkv_status open_store(const struct connector_config *config, const struct hfkv_open_options *options,
				   struct bucket_parts_held *held, struct fault *fault)
{
	enum hfkv_status status = bucket_url_parse(config->bucket_handle, &held->url, fault);
	if (status != HFKV_OK) {
		fault_add_context(fault, "bucket_handle");
		return status;
	}
	struct store_settings settings = {
		.endpoint = options->endpoint,
		.bucket = held->url.bucket,
		.token = { config->token_env, config->token, options->token_file },
		.ca_file = options->ca_file,
		.create_bucket_if_missing = config->create_bucket_if_missing,
		.user_agent_suffix = "lmcache",
	};
	return store_open_hub(&settings, &held->parts.store, fault);
}

static bool shared_memory_holds(uint64_t chunk_bytes)
{
	struct statvfs room;
	uint64_t one = chunk_bytes ? chunk_bytes : CHUNK_BYTES_ASSUMED;
	return statvfs(SHARED_MEMORY, &room) == 0 &&
	       (uint64_t)room.f_bavail * room.f_frsize >= STAGED_CHUNKS_MIN * one;
}

static const char *environment_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value && *value ? value : otherwise;
}

/* The staging root as a new string: the one that was set, /dev/shm when there is room, else a directory under
 * <tmp>. */
static char *staging_root(const struct connector_config *config, const struct size_rule *rule)
{
	char *root = NULL;
	const char *set = config->download_tmp_dir;
	const struct kv_chunk_spec *spec = size_rule_spec(rule);
	int length;
	if (set && strncmp(set, "~/", 2) == 0)
		length = asprintf(&root, "%s/%s", environment_or("HOME", "/"), set + 2);
	else if (set)
		length = asprintf(&root, "%s", set);
	else if (shared_memory_holds(spec ? kv_chunk_spec_largest(spec) : 0))
		length = asprintf(&root, SHARED_MEMORY);
	else
		length = asprintf(&root, "%s/lmcache-hfbucket%s", environment_or("TMPDIR", "/tmp"),
				  config->multi_process ? "-mp" : "");
	return length < 0 ? NULL : root;
}

static enum hfkv_status open_cache(const struct connector_config *config, struct bucket_parts_held *held,
				   struct fault *fault)
{
	CLEANUP(free_pointer) char *root = staging_root(config, held->parts.rule);
	if (!root)
		return HFKV_NO_MEMORY;
	enum hfkv_status status = fs_make_directories(root, "download_tmp_dir", fault);
	if (status != HFKV_OK)
		return status;
	char label[64];
	snprintf(label, sizeof(label), "lmcache-%.40s", config->name);
	struct kv_cache_settings settings = kv_cache_settings_default();
	settings.store = held->parts.store;
	settings.prefix = held->url.path;
	settings.spec = size_rule_spec(held->parts.rule);
	settings.staging_dir = root;
	settings.staging_label = label;
	settings.metadata_ttl_ms = config->metadata_ttl_ms;
	if (settings.negative_ttl_ms > config->metadata_ttl_ms)
		settings.negative_ttl_ms = config->metadata_ttl_ms;
	settings.timeout_ms = config->timeout_ms;
	return kv_cache_open(&settings, &held->parts.cache, fault);
}

/* Takes `rule` over at success. */
static enum hfkv_status open_bucket(const struct connector_config *config, const struct hfkv_open_options *options,
				    struct size_rule *rule, struct kv_backend **ret_backend, struct fault *fault)
{
	CLEANUP(release_parts) struct bucket_parts_held held = { .parts = { .rule = rule } };
	enum hfkv_status status = open_store(config, options, &held, fault);
	if (status == HFKV_OK)
		status = open_cache(config, &held, fault);
	if (status == HFKV_OK)
		status = bucket_connector_new(&held.parts, config->multi_process, ret_backend);
	if (status == HFKV_OK)
		held.parts = (struct bucket_connector_parts){ NULL };
	return status;
}

/* ---- either backend ---- */

static void kv_backend_drop(struct kv_backend *backend)
{
	kv_backend_free(backend, deadline_after_ms(0));
}
DEFINE_CLEANUP(kv_backend_drop, struct kv_backend *);

static enum hfkv_status open_backend(const struct connector_config *config,
				     const struct hfkv_open_options *options, struct kv_backend **ret_backend,
				     struct fault *fault)
{
	struct size_rule_settings rule_settings = {
		.chunk_bytes = config->chunk_bytes,
		.chunk_table = config->chunk_table,
		.header_bytes = config->save_chunk_meta ? kv_chunk_header_bytes(config->header_groups) : 0,
		.any_size = !config->full_chunks,
		.learns = config->multi_process,
	};
	CLEANUP(size_rule_freep) struct size_rule *rule = NULL;
	enum hfkv_status status = size_rule_new(&rule_settings, &rule, fault);
	if (status == HFKV_OK)
		status = config->kind == CONNECTOR_FS ? fs_connector_new(config, rule, ret_backend, fault)
						      : open_bucket(config, options, rule, ret_backend, fault);
	if (status == HFKV_OK)
		(void)TAKE_PTR(rule);
	return status;
}

/* What the settings say, and the backend they ask for. */
static enum hfkv_status open_configured(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
					struct connector_config *config, struct kv_backend **ret_backend,
					struct fault *fault)
{
	enum hfkv_status status = connector_config_read(settings, options, config, fault);
	return status == HFKV_OK ? open_backend(config, options, ret_backend, fault) : status;
}

static size_t thread_count(const struct connector_config *config, const struct kv_backend *backend)
{
	if (config->workers)
		return config->workers;
	if (config->kind == CONNECTOR_BUCKET)
		return BUCKET_THREADS;
	return fs_connector_is_on_fuse(backend) ? FUSE_THREADS : LOCAL_THREADS;
}

/* Options of a caller that was built with an older, shorter structure get the defaults of the rest. */
static struct hfkv_open_options complete_options(const struct hfkv_open_options *options)
{
	struct hfkv_open_options complete = HFKV_OPEN_OPTIONS_INIT;
	if (options)
		memcpy(&complete, options,
		       options->struct_bytes < sizeof(complete) ? options->struct_bytes : sizeof(complete));
	return complete;
}

static void sweep_connector(void *connector)
{
	fs_connector_sweep(connector_backend(connector), connector_stopping(connector));
}

static void sweep_l2(void *l2)
{
	fs_connector_sweep(l2_adapter_backend(l2), l2_adapter_stopping(l2));
}

static enum hfkv_status open_connector(const struct hfkv_settings *settings,
				       const struct hfkv_open_options *options,
				       struct hfkv_connector **ret_connector, struct fault *fault)
{
	CLEANUP(connector_config_done) struct connector_config config = { 0 };
	CLEANUP(kv_backend_dropp) struct kv_backend *backend = NULL;
	enum hfkv_status status = open_configured(settings, options, &config, &backend, fault);
	if (status != HFKV_OK)
		return status;
	struct connector_settings made = {
		.threads = thread_count(&config, backend),
		.read_timeout_ms = config.read_timeout_ms,
		.timeout_ms = config.timeout_ms,
		.header_bytes = config.save_chunk_meta ? kv_chunk_header_bytes(config.header_groups) : 0,
		.chunk_bytes = config.full_chunks ? config.chunk_bytes : 0,
	};
	status = connector_new(backend, &made, ret_connector, fault);
	if (status != HFKV_OK)
		return status;
	(void)TAKE_PTR(backend);
	if (config.kind == CONNECTOR_FS)
		connector_run_aside(*ret_connector, sweep_connector);
	return HFKV_OK;
}

enum hfkv_status hfkv_connector_open(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				     struct hfkv_connector **ret_connector, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	struct hfkv_open_options complete = complete_options(options);
	return error_from_fault(open_connector(settings, &complete, ret_connector, &fault), &fault, error);
}

static enum hfkv_status open_l2(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				struct hfkv_l2 **ret_l2, struct fault *fault)
{
	if (!hfkv_settings_is_l2(settings))
		return fault_set(fault, HFKV_INVALID, "not an L2 adapter's JSON: it has no \"type\"");
	CLEANUP(connector_config_done) struct connector_config config = { 0 };
	CLEANUP(kv_backend_dropp) struct kv_backend *backend = NULL;
	enum hfkv_status status = open_configured(settings, options, &config, &backend, fault);
	if (status != HFKV_OK)
		return status;
	struct l2_settings made = {
		.threads = thread_count(&config, backend),
		.timeout_ms = config.timeout_ms,
		.capacity_bytes = config.capacity_bytes,
		.evicts = config.eviction == EVICTION_LRU && !options->without_own_evictor,
		.trigger_watermark = config.trigger_watermark,
		.eviction_ratio = config.eviction_ratio,
	};
	status = l2_adapter_new(backend, &made, ret_l2, fault);
	if (status != HFKV_OK)
		return status;
	(void)TAKE_PTR(backend);
	if (config.kind == CONNECTOR_FS)
		l2_adapter_run_aside(*ret_l2, sweep_l2);
	return HFKV_OK;
}

enum hfkv_status hfkv_l2_open(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
			      struct hfkv_l2 **ret_l2, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	struct hfkv_open_options complete = complete_options(options);
	return error_from_fault(open_l2(settings, &complete, ret_l2, &fault), &fault, error);
}
