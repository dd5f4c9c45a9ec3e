#include "src/connector/settings_document.h"

#include "common/cleanup.h"
#include "common/file_io.h"
#include "src/connector/yaml_tree.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

DEFINE_CLEANUP(hfkv_settings_free, struct hfkv_settings *);

enum hfkv_status error_from_fault(enum hfkv_status status, const struct fault *fault, struct hfkv_error *error)
{
	if (!error || status == HFKV_OK)
		return status;
	error->status = status;
	error->http_status = fault ? fault->http_status : 0;
	error->error_number = fault ? fault->error_number : 0;
	snprintf(error->text, sizeof(error->text), "%s", fault_text(fault, status));
	return status;
}

bool is_our_plugin_name(const char *name)
{
	static const char *const types[] = { "fs", "hfbucket", "hfkv_fs", "hfkv_bucket" };
	size_t length = strcspn(name, ".");
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		if (strlen(types[i]) == length && strncmp(types[i], name, length) == 0)
			return true;
	return false;
}

/* Tokens do not stay in freed memory. */
static void wipe_tokens(json_t *node)
{
	const char *key;
	json_t *child;
	json_object_foreach(node, key, child)
	{
		size_t length = strlen(key);
		if (json_is_string(child) && length >= 5 && strcmp(key + length - 5, "token") == 0)
			explicit_bzero((char *)json_string_value(child), json_string_length(child));
		else
			wipe_tokens(child);
	}
}

void hfkv_settings_free(struct hfkv_settings *settings)
{
	if (!settings)
		return;
	if (settings->root)
		wipe_tokens(settings->root);
	json_decref(settings->root);
	for (size_t i = 0; i < settings->plugin_count; i++)
		free(settings->plugin_names[i]);
	free(settings->plugin_names);
	free(settings);
}

static enum hfkv_status add_plugin_name(struct hfkv_settings *settings, const char *name, size_t length)
{
	char **names = realloc(settings->plugin_names, (settings->plugin_count + 1) * sizeof(*names));
	if (!names)
		return HFKV_NO_MEMORY;
	settings->plugin_names = names;
	names[settings->plugin_count] = strndup(name, length);
	if (!names[settings->plugin_count])
		return HFKV_NO_MEMORY;
	settings->plugin_count++;
	return HFKV_OK;
}

/* LMCache's environment variable form: names with commas between. */
static enum hfkv_status split_plugin_names(struct hfkv_settings *settings, const char *list)
{
	while (*list) {
		list += strspn(list, ", ");
		size_t length = strcspn(list, ", ");
		enum hfkv_status status = length ? add_plugin_name(settings, list, length) : HFKV_OK;
		if (status != HFKV_OK)
			return status;
		list += length;
	}
	return HFKV_OK;
}

static enum hfkv_status read_plugin_names(struct hfkv_settings *settings, struct fault *fault)
{
	const json_t *list = json_object_get(settings->root, "remote_storage_plugins");
	if (!list || json_is_null(list))
		return HFKV_OK;
	if (json_is_string(list))
		return split_plugin_names(settings, json_string_value(list));
	if (!json_is_array(list))
		return fault_set(fault, HFKV_INVALID, "remote_storage_plugins: not a list of names");
	size_t index;
	json_t *name;
	json_array_foreach(list, index, name)
	{
		if (!json_is_string(name) || json_string_length(name) == 0)
			return fault_set(fault, HFKV_INVALID, "remote_storage_plugins: entry %zu is not a name",
					 index + 1);
		enum hfkv_status status =
		    add_plugin_name(settings, json_string_value(name), json_string_length(name));
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

/* extra_config may be missing, or (as LMCache takes it) a JSON text. */
static enum hfkv_status find_extra_config(struct hfkv_settings *settings, struct fault *fault)
{
	json_t *extra = json_object_get(settings->root, "extra_config");
	enum hfkv_status status = HFKV_OK;
	if (json_is_string(extra)) {
		json_t *parsed = NULL;
		status = json_tree_parse(json_string_value(extra), json_string_length(extra), &parsed, fault);
		if (status != HFKV_OK) {
			fault_add_context(fault, "extra_config");
			return status;
		}
		json_object_set_new(settings->root, "extra_config", parsed);
	} else if (!extra || json_is_null(extra)) {
		json_object_set_new(settings->root, "extra_config", json_object());
	}
	settings->extra_config = json_object_get(settings->root, "extra_config");
	if (!json_is_object(settings->extra_config))
		return fault_set(fault, HFKV_INVALID, "extra_config: not a mapping");
	return HFKV_OK;
}

/* Takes `root` over, also on failure. */
static enum hfkv_status settings_from_tree(json_t *root, struct hfkv_settings **ret_settings, struct fault *fault)
{
	CLEANUP(hfkv_settings_freep) struct hfkv_settings *settings = calloc(1, sizeof(*settings));
	if (!settings) {
		json_decref(root);
		return HFKV_NO_MEMORY;
	}
	settings->root = root;
	if (!json_is_object(root))
		return fault_set(fault, HFKV_INVALID, "the configuration is not a mapping of keys to values");
	if (!hfkv_settings_is_l2(settings)) {
		enum hfkv_status status = find_extra_config(settings, fault);
		if (status == HFKV_OK)
			status = read_plugin_names(settings, fault);
		if (status != HFKV_OK)
			return status;
	}
	*ret_settings = TAKE_PTR(settings);
	return HFKV_OK;
}

static enum hfkv_status parse_text(enum hfkv_settings_format format, const char *text, size_t length,
				   struct hfkv_settings **ret_settings, struct fault *fault)
{
	json_t *tree = NULL;
	enum hfkv_status status = format == HFKV_SETTINGS_JSON ? json_tree_parse(text, length, &tree, fault)
							       : yaml_tree_parse(text, length, &tree, fault);
	return status == HFKV_OK ? settings_from_tree(tree, ret_settings, fault) : status;
}

enum hfkv_status hfkv_settings_parse(enum hfkv_settings_format format, const char *text, size_t length,
				     struct hfkv_settings **ret_settings, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	return error_from_fault(parse_text(format, text, length, ret_settings, &fault), &fault, error);
}

/* The whole file in malloc'd memory; a file larger than any configuration is cut one byte past the limit, and
 * so refused. */
static enum hfkv_status read_text(const char *file, char **ret_text, size_t *ret_length, struct fault *fault)
{
	CLEANUP(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fault_set_errno(fault, errno, "configuration '%s'", file);
	CLEANUP(free_pointer) char *text = malloc(CONFIG_TEXT_MAX_BYTES + 1);
	if (!text)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for configuration '%s'", file);
	int64_t length = file_io_read(fd, text, CONFIG_TEXT_MAX_BYTES + 1);
	if (length < 0)
		return fault_set_errno(fault, errno, "configuration '%s'", file);
	*ret_text = TAKE_PTR(text);
	*ret_length = (size_t)length;
	return HFKV_OK;
}

enum hfkv_status hfkv_settings_load(const char *file, struct hfkv_settings **ret_settings,
				    struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	CLEANUP(free_pointer) char *text = NULL;
	size_t length = 0;
	enum hfkv_status status = read_text(file, &text, &length, &fault);
	if (status != HFKV_OK)
		return error_from_fault(status, &fault, error);
	size_t name_length = strlen(file);
	bool is_json = name_length > 5 && strcasecmp(file + name_length - 5, ".json") == 0;
	status = parse_text(is_json ? HFKV_SETTINGS_JSON : HFKV_SETTINGS_YAML, text, length, ret_settings, &fault);
	explicit_bzero(text, length);
	if (status != HFKV_OK)
		fault_add_context(&fault, "configuration '%s'", file);
	return error_from_fault(status, &fault, error);
}

enum hfkv_status hfkv_settings_new(struct hfkv_settings **ret_settings, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	json_t *root = json_object();
	if (!root)
		return error_from_fault(HFKV_NO_MEMORY, NULL, error);
	return error_from_fault(settings_from_tree(root, ret_settings, &fault), &fault, error);
}

enum hfkv_status hfkv_settings_set(struct hfkv_settings *settings, const char *section, const char *key,
				   const char *value, struct hfkv_error *error)
{
	struct fault fault = FAULT_NONE;
	bool top_level = !section;
	if (!top_level && (strcmp(section, "extra_config") != 0 || !settings->extra_config)) {
		fault_set(&fault, HFKV_INVALID, "no section '%s' in this document: NULL or 'extra_config'",
			  section);
		return error_from_fault(HFKV_INVALID, &fault, error);
	}
	if (top_level && strcmp(key, "extra_config") == 0) {
		fault_set(&fault, HFKV_INVALID,
			  "extra_config: set its keys one by one, with 'extra_config' as the section");
		return error_from_fault(HFKV_INVALID, &fault, error);
	}
	json_t *node = yaml_plain_scalar(value, strlen(value));
	if (!node || json_object_set_new(top_level ? settings->root : settings->extra_config, key, node) != 0) {
		fault_set(&fault, HFKV_INVALID, "%s: key or value is not UTF-8", key);
		return error_from_fault(HFKV_INVALID, &fault, error);
	}
	if (!top_level || strcmp(key, "remote_storage_plugins") != 0)
		return HFKV_OK;
	for (size_t i = 0; i < settings->plugin_count; i++)
		free(settings->plugin_names[i]);
	settings->plugin_count = 0;
	return error_from_fault(read_plugin_names(settings, &fault), &fault, error);
}

int hfkv_settings_is_l2(const struct hfkv_settings *settings)
{
	return json_object_get(settings->root, "type") != NULL;
}

const char *hfkv_settings_plugin_name(const struct hfkv_settings *settings, size_t n)
{
	for (size_t i = 0; i < settings->plugin_count; i++)
		if (is_our_plugin_name(settings->plugin_names[i]) && n-- == 0)
			return settings->plugin_names[i];
	const char *url = json_string_value(json_object_get(settings->root, "remote_url"));
	bool has_legacy = settings->plugin_count == 0 && url && strncmp(url, "fs://", 5) == 0;
	return has_legacy && n == 0 ? "fs" : NULL;
}
