#include "src/connector/connector_config.h"

#include "common/log.h"
#include "src/connector/nearest_word.h"

#include <string.h>

#define DEFAULT_TIMEOUT_MS      30000
#define DEFAULT_READ_TIMEOUT_MS 10000 /* LMCache's blocking_timeout_secs */
#define DEFAULT_METADATA_TTL_MS 30000

void connector_config_done(struct connector_config *config)
{
	for (size_t i = 0; i < config->base_path_count; i++)
		free(config->base_paths[i]);
	free(config->base_paths);
	free(config->name);
	free(config->relative_tmp_dir);
	free(config->bucket_handle);
	free(config->token_env);
	secret_unref(config->token);
	free(config->download_tmp_dir);
	free(config->chunk_table);
	*config = (struct connector_config){ 0 };
}

enum hfkv_status config_add_base_path(struct connector_config *config, const char *path, size_t length)
{
	char **paths = realloc(config->base_paths, (config->base_path_count + 1) * sizeof(*paths));
	if (!paths)
		return HFKV_NO_MEMORY;
	config->base_paths = paths;
	paths[config->base_path_count] = strndup(path, length);
	if (!paths[config->base_path_count])
		return HFKV_NO_MEMORY;
	config->base_path_count++;
	return HFKV_OK;
}

enum hfkv_status config_set_base_paths(struct connector_config *config, const char *key, const char *paths,
				       struct fault *fault)
{
	for (const char *rest = paths;;) {
		const char *start = rest + strspn(rest, " \t");
		size_t whole = strcspn(start, ",");
		size_t length = whole;
		while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t'))
			length--;
		if (length == 0)
			return fault_set(fault, HFKV_INVALID,
					 "%s: an empty path in '%s'; give one directory or several with "
					 "commas between",
					 key, paths);
		enum hfkv_status status = config_add_base_path(config, start, length);
		if (status != HFKV_OK)
			return status;
		if (start[whole] == '\0')
			return HFKV_OK;
		rest = start + whole + 1;
	}
}

enum hfkv_status config_check_tmp_dir(const char *key, const char *relative_tmp_dir, struct fault *fault)
{
	if (!relative_tmp_dir)
		return HFKV_OK;
	if (relative_tmp_dir[0] == '/')
		return fault_set(fault, HFKV_INVALID, "%s: '%s' is absolute; it must be relative to the base path",
				 key, relative_tmp_dir);
	for (const char *part = relative_tmp_dir; *part;) {
		size_t length = strcspn(part, "/");
		if (length == 2 && part[0] == '.' && part[1] == '.')
			return fault_set(fault, HFKV_INVALID,
					 "%s: '%s' has a '..' in it; it must stay under the base path", key,
					 relative_tmp_dir);
		part += length;
		part += strspn(part, "/");
	}
	return HFKV_OK;
}

void config_warn_unknown(const char *prefix, const char *name, const char *const *known)
{
	const char *nearest = nearest_word(name, known);
	if (nearest)
		log_warning("unknown setting '%s%s' (did you mean '%s%s'?), ignoring", prefix, name, prefix,
			    nearest);
	else
		log_warning("unknown setting '%s%s', ignoring", prefix, name);
}

static enum hfkv_status fill_defaults(const struct hfkv_open_options *options, struct connector_config *config)
{
	*config = (struct connector_config){
		.full_chunks = true,
		.metadata_ttl_ms = DEFAULT_METADATA_TTL_MS,
		.header_groups = options->header_groups ? options->header_groups : 1,
		.timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS,
		.read_timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_READ_TIMEOUT_MS,
		.trigger_watermark = 0.8,
		.eviction_ratio = 0.2,
		.token_env = strdup("HF_TOKEN"),
	};
	return config->token_env ? HFKV_OK : HFKV_NO_MEMORY;
}

/* What the host program knows wins over what the document says. */
static enum hfkv_status apply_options(const struct hfkv_open_options *options, struct connector_config *config,
				      struct fault *fault)
{
	if (options->chunk_bytes) {
		config->chunk_bytes = options->chunk_bytes;
		free(config->chunk_table);
		config->chunk_table = NULL;
	}
	if (config->chunk_bytes && config->chunk_table)
		return fault_set(fault, HFKV_INVALID, "%s: chunk_bytes and chunk_table exclude each other",
				 config->name);
	if (options->timeout_ms)
		config->read_timeout_ms = config->timeout_ms;
	if (!options->token_env)
		return HFKV_OK;
	char *copy = strdup(options->token_env);
	if (!copy)
		return HFKV_NO_MEMORY;
	free(config->token_env);
	config->token_env = copy;
	return HFKV_OK;
}

static enum hfkv_status read_document(const struct hfkv_settings *settings,
				      const struct hfkv_open_options *options, struct connector_config *config,
				      struct fault *fault)
{
	if (hfkv_settings_is_l2(settings))
		return l2_config_read(settings, options, config, fault);
	const char *name = options->plugin_name ? options->plugin_name : hfkv_settings_plugin_name(settings, 0);
	if (!name)
		return fault_set(fault, HFKV_INVALID,
				 "the configuration names no connector of ours: remote_storage_plugins "
				 "needs 'fs' or 'hfbucket' (inside LMCache 'hfkv_fs' or 'hfkv_bucket')");
	if (!is_our_plugin_name(name))
		return fault_set(fault, HFKV_INVALID,
				 "plugin '%s' is not of type fs, hfbucket, hfkv_fs or hfkv_bucket", name);
	return inprocess_config_read(settings, name, config, fault);
}

enum hfkv_status connector_config_read(const struct hfkv_settings *settings,
				       const struct hfkv_open_options *options,
				       struct connector_config *ret_config, struct fault *fault)
{
	CLEANUP(connector_config_done) struct connector_config config;
	enum hfkv_status status = fill_defaults(options, &config);
	if (status == HFKV_OK)
		status = read_document(settings, options, &config, fault);
	if (status == HFKV_OK)
		status = apply_options(options, &config, fault);
	if (status != HFKV_OK)
		return status;
	*ret_config = config;
	config = (struct connector_config){ 0 };
	return HFKV_OK;
}
