/* An L2 adapter's settings out of its JSON, in LMCache's plugin forms too. */
#include "src/connector/connector_config.h"

#include "src/connector/setting_reader.h"

#include <math.h>
#include <string.h>

#define GIB             1073741824.0
#define CAPACITY_GB_MAX 1e9

static const char *const bucket_keys[] = { "type",
					   "bucket_handle",
					   "token_env",
					   "token",
					   "create_bucket_if_missing",
					   "download_tmp_dir",
					   "metadata_cache_ttl_secs",
					   "num_workers",
					   "max_capacity_gb",
					   "eviction",
					   "chunk_bytes",
					   "chunk_table",
					   NULL };
static const char *const fs_keys[] = {
	"type",        "base_path",       "relative_tmp_dir", "read_ahead_size", "use_odirect",
	"num_workers", "max_capacity_gb", "eviction",         "chunk_bytes",     "chunk_table",
	NULL
};
static const char *const eviction_keys[] = { "eviction_policy", "trigger_watermark", "eviction_ratio", NULL };
/* LMCache's, in any adapter's JSON: they pass. */
static const char *const foreign_keys[] = {
	"affinity_tag",   "shared", "persist_enabled", "serde", "module_path", "class_name", "config_class_name",
	"adapter_params", NULL
};

struct l2_reading {
	const json_t *root;
	struct setting_scope params; /* the adapter's own keys: the root, or adapter_params of a plugin */
	struct setting_scope top;
	struct connector_config *config;
	const struct hfkv_open_options *options;
	struct fault *fault;
	bool is_plugin;
};

static bool is_listed(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, name) == 0)
			return true;
	return false;
}

static void warn_of_unknown(const json_t *object, const char *prefix, const char *const *known)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key,
			    value) if (!is_listed(key, known) && !is_listed(key, foreign_keys))
	    config_warn_unknown(prefix, key, known);
}

static enum hfkv_status read_eviction_policy(struct l2_reading *reading, const struct setting_scope *scope)
{
	static const char *const names[] = { "noop", "LRU", "ARC", "IsolatedLRU" };
	static const enum eviction_policy policies[] = { EVICTION_NONE, EVICTION_LRU, EVICTION_ARC,
							 EVICTION_ISOLATED_LRU };
	static const char *const expected = "one of 'LRU', 'ARC', 'IsolatedLRU', 'noop'";
	const json_t *value = setting_raw(scope, "eviction_policy");
	if (!value)
		return fault_set(reading->fault, HFKV_INVALID, "eviction_policy: missing; give %s",
				 expected);
	size_t i = 0;
	while (i < ARRAY_LENGTH(names) &&
	       (!json_is_string(value) || strcmp(names[i], json_string_value(value)) != 0))
		i++;
	if (i == ARRAY_LENGTH(names))
		return setting_refuse(scope, "eviction_policy", value, expected, reading->fault);
	reading->config->eviction = policies[i];
	bool runs_here = policies[i] == EVICTION_NONE || policies[i] == EVICTION_LRU;
	if (!runs_here && !reading->options->without_own_evictor)
		return setting_refuse(
		    scope, "eviction_policy", value,
		    "run by hfkv itself: 'LRU' and 'noop' are (LMCache's controller runs the others)",
		    reading->fault);
	return HFKV_OK;
}

/* A share of the capacity: above 0, at most 1. */
static enum hfkv_status read_share(struct l2_reading *reading, const struct setting_scope *scope, const char *name,
				   double *value)
{
	const json_t *raw = setting_raw(scope, name);
	enum hfkv_status status = setting_number(scope, name, 0, 1, value, reading->fault);
	if (status == HFKV_OK && *value <= 0)
		return setting_refuse(scope, name, raw, "above 0 and at most 1", reading->fault);
	return status;
}

static enum hfkv_status read_eviction(struct l2_reading *reading)
{
	const json_t *eviction = setting_raw(&reading->top, "eviction");
	if (!eviction)
		return HFKV_OK;
	if (!json_is_object(eviction))
		return setting_refuse(&reading->top, "eviction", eviction, "an object", reading->fault);
	struct setting_scope scope = { eviction, "", true };
	enum hfkv_status status = read_eviction_policy(reading, &scope);
	if (status == HFKV_OK)
		status = read_share(reading, &scope, "trigger_watermark", &reading->config->trigger_watermark);
	if (status == HFKV_OK)
		status = read_share(reading, &scope, "eviction_ratio", &reading->config->eviction_ratio);
	if (status == HFKV_OK)
		warn_of_unknown(eviction, "eviction.", eviction_keys);
	else
		fault_add_context(reading->fault, "eviction");
	return status;
}

static enum hfkv_status read_common(struct l2_reading *reading)
{
	struct connector_config *config = reading->config;
	struct fault *fault = reading->fault;
	double capacity_gb = 0;
	config->workers = 4;
	enum hfkv_status status = setting_count(&reading->params, "num_workers", 1, 256, &config->workers, fault);
	if (status == HFKV_OK)
		status = setting_number(&reading->top, "max_capacity_gb", 0, CAPACITY_GB_MAX, &capacity_gb, fault);
	if (status == HFKV_OK)
		status =
		    setting_number(&reading->params, "max_capacity_gb", 0, CAPACITY_GB_MAX, &capacity_gb, fault);
	if (status == HFKV_OK)
		status = setting_count(&reading->top, "chunk_bytes", 1, INT64_MAX, &config->chunk_bytes, fault);
	if (status == HFKV_OK)
		status = setting_count(&reading->params, "chunk_bytes", 1, INT64_MAX, &config->chunk_bytes, fault);
	if (status == HFKV_OK)
		status = setting_text(&reading->top, "chunk_table", &config->chunk_table, fault);
	if (status == HFKV_OK)
		status = setting_text(&reading->params, "chunk_table", &config->chunk_table, fault);
	if (status == HFKV_OK)
		status = read_eviction(reading);
	config->capacity_bytes = (uint64_t)(capacity_gb * GIB);
	config->read_timeout_ms = config->timeout_ms;
	return status;
}

static enum hfkv_status read_fs(struct l2_reading *reading)
{
	struct connector_config *config = reading->config;
	struct fault *fault = reading->fault;
	CLEANUP(free_pointer) char *base_path = NULL;
	enum hfkv_status status = setting_text(&reading->params, "base_path", &base_path, fault);
	if (status == HFKV_OK && !base_path)
		return fault_set(fault, HFKV_INVALID, "base_path: missing; give the directory for the KV chunks");
	if (status == HFKV_OK)
		status =
		    config_add_base_path(config, base_path, strlen(base_path)); /* a comma is part of it here */
	const json_t *tmp_dir = setting_raw(&reading->params, "relative_tmp_dir");
	bool has_tmp_dir =
	    !(json_is_string(tmp_dir) && json_string_length(tmp_dir) == 0); /* LMCache's default is "" */
	if (status == HFKV_OK && has_tmp_dir)
		status = setting_text(&reading->params, "relative_tmp_dir", &config->relative_tmp_dir, fault);
	if (status == HFKV_OK)
		status = config_check_tmp_dir("relative_tmp_dir", config->relative_tmp_dir, fault);
	if (status == HFKV_OK)
		status = setting_count(&reading->params, "read_ahead_size", 1, INT64_MAX,
				       &config->read_ahead_bytes, fault);
	if (status == HFKV_OK)
		status = setting_bool(&reading->params, "use_odirect", &config->use_odirect, fault);
	return status;
}

/* An empty one is none, as LMCache has it. */
static bool has_token(const struct l2_reading *reading)
{
	const json_t *token = setting_raw(&reading->params, "token");
	return token && !(json_is_string(token) && json_string_length(token) == 0);
}

/* Whichever backend it is for: the host logs the parameters, and a directory's could hold one by mistake. */
static enum hfkv_status check_literal_token(const struct l2_reading *reading)
{
	if (!reading->options->literal_token_refused || !has_token(reading))
		return HFKV_OK;
	return fault_set(reading->fault, HFKV_INVALID,
			 "token: refused here, because LMCache logs adapter_params; put it "
			 "into an environment variable and name that in token_env");
}

static enum hfkv_status read_token(struct l2_reading *reading)
{
	if (!has_token(reading))
		return HFKV_OK;
	char *token = NULL;
	enum hfkv_status status = setting_text(&reading->params, "token", &token, reading->fault);
	return status == HFKV_OK && token ? setting_take_secret(token, &reading->config->token) : status;
}

static enum hfkv_status read_bucket(struct l2_reading *reading)
{
	struct connector_config *config = reading->config;
	struct fault *fault = reading->fault;
	const struct setting_scope *params = &reading->params;
	double ttl_secs = (double)config->metadata_ttl_ms / 1000;
	enum hfkv_status status = setting_text(params, "bucket_handle", &config->bucket_handle, fault);
	if (status == HFKV_OK && !config->bucket_handle)
		return fault_set(fault, HFKV_INVALID,
				 "bucket_handle: missing; give hf://buckets/<namespace>/<bucket>"
				 "[/<prefix>]");
	if (status == HFKV_OK)
		status = setting_text_or_empty(params, "token_env", &config->token_env, fault);
	if (status == HFKV_OK)
		status = read_token(reading);
	if (status == HFKV_OK)
		status =
		    setting_bool(params, "create_bucket_if_missing", &config->create_bucket_if_missing, fault);
	if (status == HFKV_OK)
		status = setting_text(params, "download_tmp_dir", &config->download_tmp_dir, fault);
	if (status == HFKV_OK)
		status = setting_number(params, "metadata_cache_ttl_secs", 0, 1e6, &ttl_secs, fault);
	config->metadata_ttl_ms = (int64_t)(ttl_secs * 1000);
	return status;
}

/* "plugin" and "native_plugin" carry the adapter's keys in adapter_params; which backend, the class name or a
 * key tells. */
static enum hfkv_status find_plugin_kind(struct l2_reading *reading)
{
	const json_t *params = setting_raw(&reading->top, "adapter_params");
	if (params && !json_is_object(params))
		return setting_refuse(&reading->top, "adapter_params", params, "an object", reading->fault);
	reading->params.object = params;
	reading->params.prefix = "";
	reading->is_plugin = true;
	const char *class_name = json_string_value(setting_raw(&reading->top, "class_name"));
	bool fs_class = class_name && strncmp(class_name, "Fs", 2) == 0;
	bool bucket_class = class_name && strncmp(class_name, "Bucket", 6) == 0;
	if (!fs_class && !bucket_class) {
		fs_class = setting_raw(&reading->params, "base_path") != NULL;
		bucket_class = setting_raw(&reading->params, "bucket_handle") != NULL;
	}
	if (fs_class == bucket_class)
		return fault_set(reading->fault, HFKV_INVALID,
				 "class_name: '%s' is none of ours, and adapter_params has not "
				 "exactly one of base_path and bucket_handle",
				 class_name ? class_name : "");
	reading->config->kind = fs_class ? CONNECTOR_FS : CONNECTOR_BUCKET;
	return HFKV_OK;
}

static enum hfkv_status find_kind(struct l2_reading *reading)
{
	const char *type = reading->config->name;
	if (strcmp(type, "plugin") == 0 || strcmp(type, "native_plugin") == 0)
		return find_plugin_kind(reading);
	bool is_fs = strcmp(type, "fs") == 0 || strcmp(type, "fs_native") == 0 || strcmp(type, "hfkv_fs") == 0;
	bool is_bucket = strcmp(type, "hfbucket") == 0 || strcmp(type, "hfkv_bucket") == 0;
	if (!is_fs && !is_bucket)
		return fault_set(reading->fault, HFKV_INVALID,
				 "type: '%s' is not one of fs, fs_native, hfbucket, plugin, "
				 "native_plugin",
				 type);
	reading->config->kind = is_fs ? CONNECTOR_FS : CONNECTOR_BUCKET;
	return HFKV_OK;
}

enum hfkv_status l2_config_read(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				struct connector_config *config, struct fault *fault)
{
	config->multi_process = true;
	const json_t *type = json_object_get(settings->root, "type");
	if (!json_is_string(type))
		return setting_refuse(&(struct setting_scope){ settings->root, "", true }, "type", type,
				      "one of 'fs', 'fs_native', 'hfbucket', 'plugin', 'native_plugin'", fault);
	config->name = strdup(json_string_value(type));
	if (!config->name)
		return HFKV_NO_MEMORY;
	struct l2_reading reading = {
		.root = settings->root,
		.params = { settings->root, "", true },
		.top = { settings->root, "", true },
		.config = config,
		.options = options,
		.fault = fault,
	};
	enum hfkv_status status = find_kind(&reading);
	if (status == HFKV_OK)
		status = check_literal_token(&reading);
	if (status == HFKV_OK)
		status = read_common(&reading);
	bool is_fs = config->kind == CONNECTOR_FS;
	if (status == HFKV_OK)
		status = is_fs ? read_fs(&reading) : read_bucket(&reading);
	if (status != HFKV_OK)
		return status;
	warn_of_unknown(settings->root, "", is_fs ? fs_keys : bucket_keys);
	if (reading.is_plugin && reading.params.object)
		warn_of_unknown(reading.params.object, "adapter_params.", is_fs ? fs_keys : bucket_keys);
	return HFKV_OK;
}
