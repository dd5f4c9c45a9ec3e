/*
 * The options that say how large a full KV chunk is: a number, a table, a model's config.json, or its geometry.
 * Shared by mount, verify, chunk-size and kv.
 *
 * Main thread only. Strings point into argv.
 */
#ifndef SRC_CLI_CHUNK_OPTIONS_H
#define SRC_CLI_CHUNK_OPTIONS_H

#include "cache/kv_chunk_spec.h"
#include "src/cli/option_parser.h"

#include <stdbool.h>

struct chunk_options {
	uint64_t chunk_bytes; /* 0: not given, as every number here */
	const char *table_file;
	const char *model_config_file;
	struct kv_geometry geometry; /* tokens and dtype serve model_config_file too */
	uint64_t tensor_parallel;
	unsigned meta_groups; /* tensor groups of LMCache's metadata header */
};

/* The child parser; its input is a struct chunk_options. */
extern const struct argp chunk_argp;

/* Whether any source of a full size is named. */
bool chunk_options_given(const struct chunk_options *options);

/* The full size, header included. INVALID for none, several or incomplete sources, and for a table, which has many sizes. */
MUST_CHECK enum hfkv_status chunk_options_full_size(const struct chunk_options *options, uint64_t *ret_bytes,
						    struct fault *fault);

/* The rule for a directory of chunks. INVALID as above. The caller unrefs it. */
MUST_CHECK enum hfkv_status chunk_options_spec(const struct chunk_options *options, struct kv_chunk_spec **ret_spec,
					       struct fault *fault);

#endif
