/*
 * What is inside a struct hfkv_settings (include/hfkv/hfkv_settings.h declares its functions): one tree, and which
 * of the two documents it is. Changed by one thread, then read by any.
 */
#ifndef SRC_CONNECTOR_SETTINGS_DOCUMENT_H
#define SRC_CONNECTOR_SETTINGS_DOCUMENT_H

#include "common/fault.h"
#include "hfkv/hfkv_settings.h"

#include <jansson.h>
#include <stdbool.h>

struct hfkv_settings {
	json_t *root;         /* an object */
	json_t *extra_config; /* the in-process document's section, borrowed from root; never NULL there */
	char **plugin_names;  /* remote_storage_plugins, owned; all of them, ours and others' */
	size_t plugin_count;
};

/* Copies a fault into the words of the public API (NULL: not wanted) and returns `status`. */
enum hfkv_status error_from_fault(enum hfkv_status status, const struct fault *fault, struct hfkv_error *error);

/* Whether `name`'s part before the first dot is one of our in-process types. */
bool is_our_plugin_name(const char *name);

#endif
