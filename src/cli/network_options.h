/*
 * The options that every command which uses the network shares, and the store they open.
 *
 * Main thread only. Strings point into argv.
 */
#ifndef SRC_CLI_NETWORK_OPTIONS_H
#define SRC_CLI_NETWORK_OPTIONS_H

#include "backend/store/store_open.h"
#include "src/cli/option_parser.h"

#include <stdbool.h>

struct network_options {
	const char *endpoint, *token_environment, *token_file, *ca_file;
	bool json;
	bool create_bucket_if_missing;
};

/* The child parser; its input is a struct network_options. A parent passes it in ARGP_KEY_INIT through child_inputs. */
extern const struct argp network_argp;

/* Opens the store of `bucket` ("ns/name"). `face` goes into the user agent. Needs no network. */
MUST_CHECK enum hfkv_status network_open_store(const struct network_options *options, const char *bucket,
					       const char *face, struct object_store **ret_store, struct fault *fault);

DEFINE_CLEANUP(object_store_free, struct object_store *);

#endif
