/*
 * Typed reading of single settings out of a configuration tree, with errors that name key, value and expectation.
 *
 * A scope is an object and a prefix: setting "base_path" of scope "remote_storage_plugin.fs." is the object's
 * member "remote_storage_plugin.fs.base_path". Every reader leaves its output alone when the setting is absent or
 * null, so outputs start at their defaults and a later scope overrides an earlier one. Pure; any thread.
 */
#ifndef SRC_CONNECTOR_SETTING_READER_H
#define SRC_CONNECTOR_SETTING_READER_H

#include "common/fault.h"
#include "common/secret.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct setting_scope {
	const json_t *object; /* NULL: an empty one */
	const char *prefix;   /* in front of every name; "" for none */
	/* JSON has types: "30" is no number and "true" no boolean. Else LMCache's leniency: they are,
	 * outer white space aside. */
	bool strict;
};

/* A non-empty string: *text is freed and replaced by a copy, which the caller frees. */
MUST_CHECK enum hfkv_status setting_text(const struct setting_scope *scope, const char *name, char **text,
					 struct fault *fault);
/* As setting_text, and an empty string is a value. */
MUST_CHECK enum hfkv_status setting_text_or_empty(const struct setting_scope *scope, const char *name, char **text,
						  struct fault *fault);
MUST_CHECK enum hfkv_status setting_bool(const struct setting_scope *scope, const char *name, bool *value,
					 struct fault *fault);
/* A whole number in [min, max]. */
MUST_CHECK enum hfkv_status setting_count(const struct setting_scope *scope, const char *name, uint64_t min,
					  uint64_t max, uint64_t *value, struct fault *fault);
/* A number in [min, max]; fractions allowed. */
MUST_CHECK enum hfkv_status setting_number(const struct setting_scope *scope, const char *name, double min,
					   double max, double *value, struct fault *fault);

/* The raw member, NULL when absent or null. Borrowed. */
const json_t *setting_raw(const struct setting_scope *scope, const char *name);

/* INVALID: "<key>: <value> is not <expected>". Not shown is what may be or hold a token: a value of
 * a key that ends in "token", objects, lists, and whatever stands for "adapter_params". */
enum hfkv_status setting_refuse(const struct setting_scope *scope, const char *name, const json_t *value,
				const char *expected, struct fault *fault);

/* Moves a token's text out of ordinary memory: `text` is wiped and freed, whatever the outcome. NO_MEMORY. */
MUST_CHECK enum hfkv_status setting_take_secret(char *text, struct secret **ret_secret);

#endif
