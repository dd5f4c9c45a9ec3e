#include "src/cli/network_options.h"

enum { KEY_ENDPOINT = 0x1000, KEY_TOKEN_ENV, KEY_TOKEN_FILE, KEY_CA_FILE, KEY_JSON };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Network:", 90 },
	{ "endpoint", KEY_ENDPOINT, "URL", 0, "The Hub to use (default: HF_ENDPOINT, then the public Hub)", 90 },
	{ "token-env", KEY_TOKEN_ENV, "NAME", 0, "Environment variable that holds the token (default: HF_TOKEN)", 90 },
	{ "token-file", KEY_TOKEN_FILE, "FILE", 0, "File that holds the token when the variable does not (default: the one Hugging Face's tools keep)", 90 },
	{ "ca-file", KEY_CA_FILE, "FILE", 0, "Certificates to trust instead of the system's", 90 },
	{ "json", KEY_JSON, NULL, 0, "Print results as JSON", 90 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct network_options *values = state->input;
	switch (key) {
	case KEY_ENDPOINT: values->endpoint = argument; return 0;
	case KEY_TOKEN_ENV: values->token_environment = argument; return 0;
	case KEY_TOKEN_FILE: values->token_file = argument; return 0;
	case KEY_CA_FILE: values->ca_file = argument; return 0;
	case KEY_JSON: values->json = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp network_argp = { .options = options, .parser = parse };

enum hfkv_status network_open_store(const struct network_options *values, const char *bucket, const char *face,
				    struct object_store **ret_store, struct fault *fault)
{
	struct store_settings settings = {
		.endpoint = values->endpoint,
		.bucket = bucket,
		.token = { .environment_name = values->token_environment, .file = values->token_file },
		.ca_file = values->ca_file,
		.create_bucket_if_missing = values->create_bucket_if_missing,
		.user_agent_suffix = face,
	};
	return store_open_hub(&settings, ret_store, fault);
}
