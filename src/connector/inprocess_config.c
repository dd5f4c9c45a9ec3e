/* An in-process connector's settings out of LMCache's configuration. */
#include "src/connector/connector_config.h"

#include "common/log.h"
#include "src/connector/setting_reader.h"

#include <stdio.h>
#include <string.h>

#define PLUGIN_PREFIX "remote_storage_plugin."

/* Known under remote_storage_plugin.<name>. ; module_path and class_name are LMCache's. */
static const char *const fs_keys[] = { "base_path",
				       "chunk_bytes",
				       "chunk_table",
				       "full_chunks",
				       "save_chunk_meta",
				       "fs_connector_relative_tmp_dir",
				       "fs_connector_read_ahead_size",
				       "fs_connector_use_odirect",
				       "module_path",
				       "class_name",
				       NULL };
static const char *const bucket_keys[] = { "bucket_handle",
					   "token_env",
					   "token",
					   "create_bucket_if_missing",
					   "download_tmp_dir",
					   "metadata_cache_ttl_secs",
					   "chunk_bytes",
					   "chunk_table",
					   "save_chunk_meta",
					   "module_path",
					   "class_name",
					   NULL };
static const char *const fs_global_keys[] = { "fs_connector_relative_tmp_dir", "fs_connector_read_ahead_size",
					      "fs_connector_use_odirect", NULL };

/* Where the keys of one connector may stand. */
struct reading {
	const struct hfkv_settings *settings;
	struct connector_config *config;
	struct fault *fault;
	struct setting_scope top;   /* LMCache's own keys */
	struct setting_scope extra; /* extra_config */
	struct setting_scope own;   /* extra_config, remote_storage_plugin.<name>. */
	bool layerwise, unfull;
};

/* The instance that owns `key` (which starts with PLUGIN_PREFIX): the longest matching name, NULL when none
 * matches. */
static const char *owner_of(const struct hfkv_settings *settings, const char *current, const char *key)
{
	const char *rest = key + strlen(PLUGIN_PREFIX);
	const char *owner = NULL;
	for (size_t i = 0; i <= settings->plugin_count; i++) {
		const char *name = i < settings->plugin_count ? settings->plugin_names[i] : current;
		size_t length = strlen(name);
		bool matches = strncmp(rest, name, length) == 0 && rest[length] == '.';
		if (matches && (!owner || length > strlen(owner)))
			owner = name;
	}
	return owner;
}

static void warn_of_unknown_keys(const struct reading *reading, const char *const *known)
{
	const char *key, *name = reading->config->name;
	json_t *value;
	json_object_foreach(reading->settings->extra_config, key, value)
	{
		if (reading->config->kind == CONNECTOR_FS && strncmp(key, "fs_connector_", 13) == 0) {
			bool is_known = false;
			for (const char *const *word = fs_global_keys; *word; word++)
				is_known |= strcmp(*word, key) == 0;
			if (!is_known)
				config_warn_unknown("", key, fs_global_keys);
		}
		if (strncmp(key, PLUGIN_PREFIX, strlen(PLUGIN_PREFIX)) != 0)
			continue;
		const char *owner = owner_of(reading->settings, name, key);
		if (!owner && is_our_plugin_name(key + strlen(PLUGIN_PREFIX)))
			log_warning("setting '%s' belongs to no connector in remote_storage_plugins, ignoring",
				    key);
		if (!owner || strcmp(owner, name) != 0)
			continue;
		const char *setting = key + strlen(PLUGIN_PREFIX) + strlen(name) + 1;
		bool is_known = false;
		for (const char *const *word = known; *word; word++)
			is_known |= strcmp(*word, setting) == 0;
		if (!is_known)
			config_warn_unknown(reading->own.prefix, setting, known);
	}
}

/* `remote_url: fs://host:port/path` and `fs:///path`: the path; NULL when the URL is another. */
static const char *legacy_path(const struct reading *reading)
{
	const char *url = json_string_value(setting_raw(&reading->top, "remote_url"));
	if (!url || strncmp(url, "fs://", 5) != 0 || reading->settings->plugin_count > 0)
		return NULL;
	return url + 5 + strcspn(url + 5, "/");
}

static enum hfkv_status read_base_paths(struct reading *reading)
{
	CLEANUP(free_pointer) char *paths = NULL;
	const char *legacy = legacy_path(reading);
	if (legacy && *legacy)
		return config_set_base_paths(reading->config, "remote_url", legacy, reading->fault);
	enum hfkv_status status = setting_text(&reading->extra, "fs_base_path", &paths, reading->fault);
	if (status == HFKV_OK)
		status = setting_text(&reading->own, "base_path", &paths, reading->fault);
	if (status != HFKV_OK)
		return status;
	if (!paths && legacy)
		return fault_set(reading->fault, HFKV_INVALID,
				 "remote_url: no path in it; write fs://<host>:<port>/<directory>");
	if (!paths)
		return fault_set(reading->fault, HFKV_INVALID,
				 "%sbase_path: missing; give the directory (or several with "
				 "commas between)",
				 reading->own.prefix);
	char key[512];
	snprintf(key, sizeof(key), "%sbase_path", reading->own.prefix);
	return config_set_base_paths(reading->config, key, paths, reading->fault);
}

/* Reads `name` first from extra_config, then from the instance's own keys, which win. */
static enum hfkv_status read_both_bool(struct reading *reading, const char *name, bool *value)
{
	enum hfkv_status status = setting_bool(&reading->extra, name, value, reading->fault);
	return status == HFKV_OK ? setting_bool(&reading->own, name, value, reading->fault) : status;
}

static enum hfkv_status read_both_text(struct reading *reading, const char *name, char **value)
{
	enum hfkv_status status = setting_text(&reading->extra, name, value, reading->fault);
	return status == HFKV_OK ? setting_text(&reading->own, name, value, reading->fault) : status;
}

static enum hfkv_status read_both_count(struct reading *reading, const char *name, uint64_t *value)
{
	enum hfkv_status status = setting_count(&reading->extra, name, 1, INT64_MAX, value, reading->fault);
	return status == HFKV_OK ? setting_count(&reading->own, name, 1, INT64_MAX, value, reading->fault)
				 : status;
}

static enum hfkv_status refuse_with_full_chunks(const struct reading *reading, const char *key)
{
	const char *remedy =
	    reading->config->kind == CONNECTOR_FS ? ", or set full_chunks: false on an ordinary directory" : "";
	return fault_set(reading->fault, HFKV_INVALID,
			 "%s: true does not go with connector '%s', which stores full KV chunks "
			 "only; set it to false%s",
			 key, reading->config->name, remedy);
}

static enum hfkv_status check_full_chunks(const struct reading *reading)
{
	if (!reading->config->full_chunks)
		return HFKV_OK;
	if (reading->unfull)
		return refuse_with_full_chunks(reading, "save_unfull_chunk");
	if (reading->layerwise)
		return refuse_with_full_chunks(reading, "use_layerwise");
	const json_t *serde = setting_raw(&reading->top, "remote_serde");
	if (serde && (!json_is_string(serde) || strcmp(json_string_value(serde), "naive") != 0))
		return setting_refuse(
		    &reading->top, "remote_serde", serde,
		    "'naive': another serde changes the size of KV chunks, and full chunks only are stored",
		    reading->fault);
	return HFKV_OK;
}

static enum hfkv_status read_fs(struct reading *reading)
{
	struct connector_config *config = reading->config;
	config->save_chunk_meta = true;
	enum hfkv_status status = read_base_paths(reading);
	if (status == HFKV_OK)
		status = read_both_text(reading, "fs_connector_relative_tmp_dir", &config->relative_tmp_dir);
	if (status == HFKV_OK)
		status = config_check_tmp_dir("fs_connector_relative_tmp_dir", config->relative_tmp_dir,
					      reading->fault);
	if (status == HFKV_OK)
		status = read_both_count(reading, "fs_connector_read_ahead_size", &config->read_ahead_bytes);
	if (status == HFKV_OK)
		status = read_both_bool(reading, "fs_connector_use_odirect", &config->use_odirect);
	if (status == HFKV_OK)
		status = read_both_bool(reading, "save_chunk_meta", &config->save_chunk_meta);
	if (status == HFKV_OK)
		status = read_both_bool(reading, "full_chunks", &config->full_chunks);
	config->save_chunk_meta |= reading->layerwise; /* LMCache forces it on */
	if (status == HFKV_OK && config->use_odirect && config->save_chunk_meta) {
		log_warning(
		    "fs_connector_use_odirect: off, as save_chunk_meta makes file sizes unaligned, ignoring");
		config->use_odirect = false;
	}
	return status;
}

/* The token leaves the document's memory for a struct secret. An empty one is none, as LMCache has it. */
static enum hfkv_status read_token(struct reading *reading)
{
	char *token = NULL;
	enum hfkv_status status = setting_text_or_empty(&reading->own, "token", &token, reading->fault);
	return status == HFKV_OK && token ? setting_take_secret(token, &reading->config->token) : status;
}

static enum hfkv_status read_bucket(struct reading *reading)
{
	struct connector_config *config = reading->config;
	struct fault *fault = reading->fault;
	double ttl_secs = (double)config->metadata_ttl_ms / 1000;
	enum hfkv_status status = setting_text(&reading->own, "bucket_handle", &config->bucket_handle, fault);
	if (status == HFKV_OK && !config->bucket_handle)
		return fault_set(fault, HFKV_INVALID,
				 "%sbucket_handle: missing; give hf://buckets/<namespace>/<bucket>"
				 "[/<prefix>]",
				 reading->own.prefix);
	if (status == HFKV_OK)
		status = setting_text_or_empty(&reading->own, "token_env", &config->token_env, fault);
	if (status == HFKV_OK)
		status = read_token(reading);
	if (status == HFKV_OK)
		status = setting_bool(&reading->own, "create_bucket_if_missing", &config->create_bucket_if_missing,
				      fault);
	if (status == HFKV_OK)
		status = setting_text(&reading->own, "download_tmp_dir", &config->download_tmp_dir, fault);
	if (status == HFKV_OK)
		status = setting_number(&reading->own, "metadata_cache_ttl_secs", 0, 1e6, &ttl_secs, fault);
	if (status == HFKV_OK)
		status = read_both_bool(reading, "save_chunk_meta", &config->save_chunk_meta);
	config->metadata_ttl_ms = (int64_t)(ttl_secs * 1000);
	if (status == HFKV_OK && config->save_chunk_meta)
		return refuse_with_full_chunks(reading, "save_chunk_meta");
	return status;
}

/* LMCache's own keys that matter to us. */
static enum hfkv_status read_common(struct reading *reading)
{
	struct connector_config *config = reading->config;
	struct fault *fault = reading->fault;
	uint64_t chunk_tokens = 256;
	bool local_cpu = true;
	double blocking_secs = (double)config->read_timeout_ms / 1000;
	enum hfkv_status status = setting_bool(&reading->top, "use_layerwise", &reading->layerwise, fault);
	if (status == HFKV_OK)
		status = setting_bool(&reading->top, "save_unfull_chunk", &reading->unfull, fault);
	if (status == HFKV_OK)
		status = setting_count(&reading->top, "chunk_size", 1, UINT32_MAX, &chunk_tokens, fault);
	if (status == HFKV_OK)
		status = setting_bool(&reading->top, "local_cpu", &local_cpu, fault);
	if (status == HFKV_OK)
		status =
		    setting_number(&reading->top, "blocking_timeout_secs", 0.001, 86400, &blocking_secs, fault);
	if (status == HFKV_OK)
		status = read_both_count(reading, "chunk_bytes", &config->chunk_bytes);
	if (status == HFKV_OK)
		status = read_both_text(reading, "chunk_table", &config->chunk_table);
	config->read_timeout_ms = (int64_t)(blocking_secs * 1000);
	return status;
}

enum hfkv_status inprocess_config_read(const struct hfkv_settings *settings, const char *plugin_name,
				       struct connector_config *config, struct fault *fault)
{
	char prefix[384];
	int length = snprintf(prefix, sizeof(prefix), PLUGIN_PREFIX "%s.", plugin_name);
	if (length < 0 || (size_t)length >= sizeof(prefix))
		return fault_set(fault, HFKV_INVALID, "the plugin name is longer than %zu bytes", sizeof(prefix));
	config->name = strdup(plugin_name);
	if (!config->name)
		return HFKV_NO_MEMORY;
	size_t type_length = strcspn(plugin_name, ".");
	bool is_fs = type_length >= 2 && strncmp(plugin_name + type_length - 2, "fs", 2) == 0;
	config->kind = is_fs ? CONNECTOR_FS : CONNECTOR_BUCKET;
	struct reading reading = {
		.settings = settings,
		.config = config,
		.fault = fault,
		.top = { settings->root, "", false },
		.extra = { settings->extra_config, "", false },
		.own = { settings->extra_config, prefix, false },
	};
	enum hfkv_status status = read_common(&reading);
	if (status == HFKV_OK)
		status = is_fs ? read_fs(&reading) : read_bucket(&reading);
	if (status == HFKV_OK)
		status = check_full_chunks(&reading);
	if (status != HFKV_OK)
		return status;
	warn_of_unknown_keys(&reading, is_fs ? fs_keys : bucket_keys);
	return HFKV_OK;
}
