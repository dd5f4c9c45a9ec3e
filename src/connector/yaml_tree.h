/*
 * Text of a configuration as one JSON tree: YAML through libyaml, JSON through jansson.
 *
 * YAML scalars get their types as LMCache's own reader (PyYAML) gives them: plain null, true/yes/on, numbers;
 * quoted text stays text. Aliases, several documents, and keys that are not scalars are refused: no configuration
 * needs them, and an alias can make a small text a huge tree. Pure; any thread.
 */
#ifndef SRC_CONNECTOR_YAML_TREE_H
#define SRC_CONNECTOR_YAML_TREE_H

#include "common/fault.h"

#include <jansson.h>
#include <stddef.h>

#define CONFIG_TEXT_MAX_BYTES (1024 * 1024)
#define CONFIG_TREE_MAX_DEPTH 32

/* Both: INVALID with line and column for what does not parse, is too large or too deep. The caller decrefs the
 * tree. An empty YAML document is an empty object. */
MUST_CHECK enum hfkv_status yaml_tree_parse(const char *text, size_t length, json_t **ret_tree,
					    struct fault *fault);
MUST_CHECK enum hfkv_status json_tree_parse(const char *text, size_t length, json_t **ret_tree,
					    struct fault *fault);

/* What a plain YAML scalar stands for: null, boolean, number, else a string. NULL: not UTF-8 or no memory. */
json_t *yaml_plain_scalar(const char *text, size_t length);

#endif
