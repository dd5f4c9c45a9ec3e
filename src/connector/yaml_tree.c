#include "src/connector/yaml_tree.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct yaml_reader {
	yaml_parser_t parser;
	struct fault *fault;
};

static void done_json(json_t **tree)
{
	json_decref(*tree);
}

static enum hfkv_status refuse(struct yaml_reader *reader, const yaml_mark_t *mark, const char *reason)
{
	return fault_set(reader->fault, HFKV_INVALID, "line %zu, column %zu: %s", mark->line + 1, mark->column + 1,
			 reason);
}

static enum hfkv_status next_event(struct yaml_reader *reader, yaml_event_t *ret_event)
{
	if (yaml_parser_parse(&reader->parser, ret_event))
		return HFKV_OK;
	const char *problem = reader->parser.problem ? reader->parser.problem : "not readable as YAML";
	return refuse(reader, &reader->parser.problem_mark, problem);
}

static bool is_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

/* Whole text as a number, or NULL. */
static json_t *plain_number(const char *text)
{
	const char *digits = text + (*text == '-' || *text == '+');
	if (!isdigit((unsigned char)digits[0]) && !(digits[0] == '.' && isdigit((unsigned char)digits[1])))
		return NULL;
	char *end;
	errno = 0;
	int base = strncasecmp(digits, "0x", 2) == 0 ? 16 : 10;
	long long integer = strtoll(text, &end, base);
	if (errno == 0 && *end == '\0')
		return json_integer(integer);
	double real = strtod(text, &end);
	return *end == '\0' ? json_real(real) : NULL; /* not finite: NULL as well, so it stays text */
}

json_t *yaml_plain_scalar(const char *text, size_t length)
{
	static const char *const true_words[] = { "true", "yes", "on", NULL };
	static const char *const false_words[] = { "false", "no", "off", NULL };
	static const char *const null_words[] = { "", "~", "null", NULL };
	if (strlen(text) != length)
		return NULL;
	if (is_word(text, null_words))
		return json_null();
	if (is_word(text, true_words))
		return json_true();
	if (is_word(text, false_words))
		return json_false();
	json_t *number = plain_number(text);
	return number ? number : json_stringn(text, length);
}

static json_t *scalar_value(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag;
	if (plain)
		return yaml_plain_scalar(text, length);
	return strlen(text) == length ? json_stringn(text, length) : NULL;
}

static enum hfkv_status read_node(struct yaml_reader *reader, yaml_event_t *event, int depth, json_t **ret_node);

static enum hfkv_status read_sequence(struct yaml_reader *reader, int depth, json_t **ret_node)
{
	CLEANUP(done_json) json_t *list = json_array();
	for (;;) {
		yaml_event_t event;
		enum hfkv_status status = next_event(reader, &event);
		if (status != HFKV_OK)
			return status;
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			*ret_node = TAKE_PTR(list);
			return HFKV_OK;
		}
		json_t *element = NULL;
		status = read_node(reader, &event, depth, &element);
		yaml_event_delete(&event);
		if (status != HFKV_OK)
			return status;
		if (json_array_append_new(list, element) != 0)
			return HFKV_NO_MEMORY;
	}
}

/* The value of `key_event`, added to `map`. */
static enum hfkv_status read_pair(struct yaml_reader *reader, yaml_event_t *key_event, int depth, json_t *map)
{
	if (key_event->type != YAML_SCALAR_EVENT)
		return refuse(reader, &key_event->start_mark, "a key must be plain text");
	const char *key = (const char *)key_event->data.scalar.value;
	if (strlen(key) != key_event->data.scalar.length)
		return refuse(reader, &key_event->start_mark, "a key holds a NUL byte");
	yaml_event_t event;
	enum hfkv_status status = next_event(reader, &event);
	if (status != HFKV_OK)
		return status;
	json_t *value = NULL;
	status = read_node(reader, &event, depth, &value);
	yaml_mark_t mark = event.start_mark;
	yaml_event_delete(&event);
	if (status != HFKV_OK)
		return status;
	if (json_object_set_new(map, key, value) != 0)
		return refuse(reader, &mark, "a key is not UTF-8");
	return HFKV_OK;
}

static enum hfkv_status read_mapping(struct yaml_reader *reader, int depth, json_t **ret_node)
{
	CLEANUP(done_json) json_t *map = json_object();
	for (;;) {
		yaml_event_t event;
		enum hfkv_status status = next_event(reader, &event);
		if (status != HFKV_OK)
			return status;
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			*ret_node = TAKE_PTR(map);
			return HFKV_OK;
		}
		status = read_pair(reader, &event, depth, map);
		yaml_event_delete(&event);
		if (status != HFKV_OK)
			return status;
	}
}

static enum hfkv_status read_node(struct yaml_reader *reader, yaml_event_t *event, int depth, json_t **ret_node)
{
	if (depth >= CONFIG_TREE_MAX_DEPTH)
		return refuse(reader, &event->start_mark, "nested too deep (32 levels at most)");
	if (event->type == YAML_SEQUENCE_START_EVENT)
		return read_sequence(reader, depth + 1, ret_node);
	if (event->type == YAML_MAPPING_START_EVENT)
		return read_mapping(reader, depth + 1, ret_node);
	if (event->type == YAML_ALIAS_EVENT)
		return refuse(reader, &event->start_mark, "aliases are not taken: write the value out");
	if (event->type != YAML_SCALAR_EVENT)
		return refuse(reader, &event->start_mark, "a value is missing");
	*ret_node = scalar_value(event);
	if (!*ret_node)
		return refuse(reader, &event->start_mark, "a value holds a NUL byte or is not UTF-8");
	return HFKV_OK;
}

/* Stream start, document start, one node, then nothing more but the ends. */
static enum hfkv_status read_document(struct yaml_reader *reader, json_t **ret_tree)
{
	CLEANUP(done_json) json_t *tree = NULL;
	bool done = false;
	while (!done) {
		yaml_event_t event;
		enum hfkv_status status = next_event(reader, &event);
		if (status != HFKV_OK)
			return status;
		done = event.type == YAML_STREAM_END_EVENT;
		bool skipped = done || event.type == YAML_STREAM_START_EVENT ||
			       event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_DOCUMENT_START_EVENT;
		if (!skipped)
			status = tree ? refuse(reader, &event.start_mark, "only one document is taken")
				      : read_node(reader, &event, 0, &tree);
		yaml_event_delete(&event);
		if (status != HFKV_OK)
			return status;
	}
	*ret_tree = tree && !json_is_null(tree) ? TAKE_PTR(tree) : json_object();
	return *ret_tree ? HFKV_OK : HFKV_NO_MEMORY;
}

static enum hfkv_status check_length(size_t length, struct fault *fault)
{
	if (length <= CONFIG_TEXT_MAX_BYTES)
		return HFKV_OK;
	return fault_set(fault, HFKV_INVALID, "the configuration has %zu bytes; at most %d are taken", length,
			 CONFIG_TEXT_MAX_BYTES);
}

enum hfkv_status yaml_tree_parse(const char *text, size_t length, json_t **ret_tree, struct fault *fault)
{
	enum hfkv_status status = check_length(length, fault);
	if (status != HFKV_OK)
		return status;
	struct yaml_reader reader = { .fault = fault };
	if (!yaml_parser_initialize(&reader.parser))
		return HFKV_NO_MEMORY;
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
	status = read_document(&reader, ret_tree);
	yaml_parser_delete(&reader.parser);
	return status;
}

static bool deeper_than(const json_t *node, int levels)
{
	if (!json_is_object(node) && !json_is_array(node))
		return false;
	if (levels == 0)
		return true;
	const char *key;
	json_t *child;
	json_object_foreach((json_t *)node, key, child) if (deeper_than(child, levels - 1)) return true;
	size_t index;
	json_array_foreach(node, index, child) if (deeper_than(child, levels - 1)) return true;
	return false;
}

enum hfkv_status json_tree_parse(const char *text, size_t length, json_t **ret_tree, struct fault *fault)
{
	enum hfkv_status status = check_length(length, fault);
	if (status != HFKV_OK)
		return status;
	json_error_t error;
	CLEANUP(done_json) json_t *tree = json_loadb(text, length, 0, &error);
	if (!tree) {
		/* Behind "near" stands the text itself, which may be a token. */
		char *quoted = strstr(error.text, " near ");
		if (quoted)
			*quoted = '\0';
		return fault_set(fault, HFKV_INVALID, "line %d, column %d: %s", error.line, error.column,
				 error.text);
	}
	if (deeper_than(tree, CONFIG_TREE_MAX_DEPTH))
		return fault_set(fault, HFKV_INVALID, "nested too deep (%d levels at most)",
				 CONFIG_TREE_MAX_DEPTH);
	*ret_tree = TAKE_PTR(tree);
	return HFKV_OK;
}
