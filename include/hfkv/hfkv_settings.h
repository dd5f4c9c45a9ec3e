/*
 * Settings of a backend, as LMCache writes them down.
 *
 * Two documents are understood: LMCache's own configuration (YAML, or the same tree as JSON), which names
 * in-process connectors in `remote_storage_plugins` and holds their keys in `extra_config`; and the JSON of one L2
 * adapter, an object with a "type". This is the document only: keys are judged when a connector or an adapter is
 * opened from it.
 *
 * A settings object is changed by one thread and then read by any number. It is copied by every open.
 */
#ifndef HFKV_SETTINGS_H
#define HFKV_SETTINGS_H

#include "hfkv/hfkv_status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The words that go with a failed call. Every call takes one as its last argument, NULL when not wanted, and
 * writes it only when it fails. Holds no secret. */
struct hfkv_error {
	enum hfkv_status status;
	int http_status;  /* 0 when no HTTP answer was involved */
	int error_number; /* errno at the origin, 0 when none */
	char text[512];   /* one line: what, why, and what to do */
};

struct hfkv_settings;

enum hfkv_settings_format {
	HFKV_SETTINGS_YAML, /* LMCache's configuration file; JSON text is YAML too */
	HFKV_SETTINGS_JSON, /* an L2 adapter's JSON, or LMCache's configuration as JSON */
};

/* Parses `length` bytes of text. INVALID with line and column for text that does not parse, is nested deeper
 * than 32, or is larger than 1 MiB. The caller frees the result. Never blocks. */
enum hfkv_status hfkv_settings_parse(enum hfkv_settings_format format, const char *text, size_t length,
				     struct hfkv_settings **ret_settings, struct hfkv_error *error);

/* As hfkv_settings_parse for a file; a name that ends in .json is JSON, anything else YAML. Blocks on the disk. */
enum hfkv_status hfkv_settings_load(const char *file, struct hfkv_settings **ret_settings,
				    struct hfkv_error *error);

/* An empty LMCache configuration, to be filled with hfkv_settings_set. */
enum hfkv_status hfkv_settings_new(struct hfkv_settings **ret_settings, struct hfkv_error *error);

/* Sets one key. `section` is NULL for the top level or "extra_config" (which is no key itself: INVALID). `value` is
 * read as a YAML value, so "30" is a number and "true" a boolean; both are taken wherever the key wants that
 * type. */
enum hfkv_status hfkv_settings_set(struct hfkv_settings *settings, const char *section, const char *key,
				   const char *value, struct hfkv_error *error);

/* Whether the document is one L2 adapter's (it has a "type"): 1, else 0. */
int hfkv_settings_is_l2(const struct hfkv_settings *settings);

/* The n-th in-process connector of our types that the document names ("fs.primary"), or NULL past the last one. A
 * `remote_url: fs://...` without plugins is listed as "fs". Borrowed from `settings`. */
const char *hfkv_settings_plugin_name(const struct hfkv_settings *settings, size_t n);

/* Wipes tokens and frees. NULL is fine. */
void hfkv_settings_free(struct hfkv_settings *settings);

/* What a host program knows beside the document. Fill with HFKV_OPEN_OPTIONS_INIT, then change fields. All
 * strings are borrowed during the call that takes the options. */
struct hfkv_open_options {
	size_t struct_bytes;       /* sizeof(struct hfkv_open_options), so that the structure can grow */
	const char *plugin_name;   /* in-process: which instance; NULL: the first of our types */
	uint64_t chunk_bytes;      /* tensor bytes of a full KV chunk as the host knows them; 0: as set */
	uint32_t header_groups;    /* tensor groups of LMCache's metadata header; 0: 1 */
	int without_own_evictor;   /* L2: the host evicts (LMCache's controller) */
	int literal_token_refused; /* L2: a "token" in the settings is refused, as the host would log it */
	const char *endpoint;      /* NULL: HF_ENDPOINT, then the public Hub */
	const char *token_env;     /* NULL: the settings' */
	const char *token_file;    /* NULL: none */
	const char *ca_file;       /* NULL: the system's */
	int64_t timeout_ms;        /* the longest a call may block; 0: 30000 */
};
#define HFKV_OPEN_OPTIONS_INIT { sizeof(struct hfkv_open_options), NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0 }

#ifdef __cplusplus
}
#endif

#endif
