/*
 * The settings of one connector or L2 adapter, read, checked and completed with defaults.
 *
 * The document (settings_document.h) is what a person wrote; this is what the backends obey. Reading it logs a
 * warning for each key of ours that is not known, with the nearest known one; everything wrong is an error that
 * names key, value and what was expected. Whether a bucket handle parses is for the opener, which knows buckets.
 *
 * Plain value; owner thread.
 */
#ifndef SRC_CONNECTOR_CONNECTOR_CONFIG_H
#define SRC_CONNECTOR_CONNECTOR_CONFIG_H

#include "common/secret.h"
#include "src/connector/settings_document.h"

#include <stdbool.h>

enum connector_kind { CONNECTOR_FS, CONNECTOR_BUCKET };
enum eviction_policy { EVICTION_NONE, EVICTION_LRU, EVICTION_ARC, EVICTION_ISOLATED_LRU };

struct connector_config {
	enum connector_kind kind;
	bool multi_process; /* an L2 document: MP keys, skip what is there already */
	char *name;         /* the instance, for messages: "fs.primary", or the L2 type */

	/* fs */
	char **base_paths; /* none of them empty */
	size_t base_path_count;
	char *relative_tmp_dir;    /* NULL: beside the final file */
	uint64_t read_ahead_bytes; /* 0: off */
	bool use_odirect;
	bool save_chunk_meta;
	bool full_chunks;

	/* bucket */
	char *bucket_handle;
	char *token_env;
	struct secret *token; /* NULL: none */
	bool create_bucket_if_missing;
	char *download_tmp_dir; /* NULL: chosen by the opener */
	int64_t metadata_ttl_ms;

	/* the size rule; at most one of the two is set */
	uint64_t chunk_bytes; /* tensor bytes; 0: not known */
	char *chunk_table;    /* a file; NULL: none */
	uint32_t header_groups;

	int64_t read_timeout_ms; /* of get, exists, contains, remove */
	int64_t timeout_ms;      /* of everything else */

	/* L2 */
	uint64_t workers; /* threads; 0: the opener chooses */
	uint64_t capacity_bytes;
	enum eviction_policy eviction;
	double trigger_watermark, eviction_ratio;
};

/* Frees what it owns; a zeroed one is fine. */
void connector_config_done(struct connector_config *config);

/* Reads an in-process or an L2 document. The caller releases *ret_config with connector_config_done. */
MUST_CHECK enum hfkv_status connector_config_read(const struct hfkv_settings *settings,
						  const struct hfkv_open_options *options,
						  struct connector_config *ret_config, struct fault *fault);

/* ---- the two readers behind it; both fill a config that holds the defaults ---- */

MUST_CHECK enum hfkv_status inprocess_config_read(const struct hfkv_settings *settings, const char *plugin_name,
						  struct connector_config *config, struct fault *fault);
MUST_CHECK enum hfkv_status l2_config_read(const struct hfkv_settings *settings,
					   const struct hfkv_open_options *options,
					   struct connector_config *config, struct fault *fault);

/* Adds path[0..length) as it is. */
MUST_CHECK enum hfkv_status config_add_base_path(struct connector_config *config, const char *path, size_t length);
/* Splits `paths` at commas, trims spaces, refuses empty ones. `key` is for messages. */
MUST_CHECK enum hfkv_status config_set_base_paths(struct connector_config *config, const char *key,
						  const char *paths, struct fault *fault);
/* Refuses an absolute directory and one with a `..` in it. */
MUST_CHECK enum hfkv_status config_check_tmp_dir(const char *key, const char *relative_tmp_dir,
						 struct fault *fault);
/* Warns of an unknown key, naming the nearest known one. `known` is NULL-terminated. */
void config_warn_unknown(const char *prefix, const char *name, const char *const *known);

#endif
