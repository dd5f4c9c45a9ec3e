/*
 * hfkv serve: a bucket server on this machine, until SIGTERM or SIGINT.
 */
#include "backend/local_server/local_bucket_server.h"
#include "src/cli/commands.h"
#include "src/cli/option_parser.h"

#include <signal.h>
#include <stdio.h>

#define LIFE_MOST_SECONDS (7 * 86400)

struct serve_options {
	struct local_bucket_server_settings settings;
	bool print_env;
};

enum serve_option {
	OPTION_DATA = 256,
	OPTION_LISTEN,
	OPTION_PRINT_ENV,
	OPTION_TEST_CONTROLS,
	OPTION_NO_FSYNC,
	OPTION_TOKEN_SECONDS,
	OPTION_URL_SECONDS,
};

static const struct argp_option serve_argp_options[] = {
	{ "data", OPTION_DATA, "DIR", 0, "Directory that holds everything; made when missing (required)", 0 },
	{ "listen", OPTION_LISTEN, "ADDR:PORT", 0, "Where to serve (127.0.0.1:0; port 0 picks one)", 0 },
	{ "print-env", OPTION_PRINT_ENV, NULL, 0, "Print HF_ENDPOINT=... and HF_TOKEN=... once it serves", 0 },
	{ "no-fsync", OPTION_NO_FSYNC, NULL, 0,
	  "Do not wait for the disk: faster; a power loss may then cost what was stored last, a killed process "
	  "nothing",
	  0 },
	{ "token-seconds", OPTION_TOKEN_SECONDS, "N", 0, "Life of a CAS token (3600)", 0 },
	{ "url-seconds", OPTION_URL_SECONDS, "N", 0, "Life of a data URL (3600)", 0 },
	{ "test-controls", OPTION_TEST_CONTROLS, NULL, 0,
	  "Serve /_control/ to everybody who can connect: request counts, faults on demand. For tests only", 0 },
	{ 0 }
};

static error_t parse_life(const struct argp_state *state, const char *option, const char *text, int *ret_seconds)
{
	uint64_t seconds;
	error_t error = option_number(state, option, text, 1, LIFE_MOST_SECONDS, &seconds);
	if (error == 0)
		*ret_seconds = (int)seconds;
	return error;
}

static error_t serve_parse(int key, char *argument, struct argp_state *state)
{
	struct serve_options *options = state->input;
	struct local_bucket_server_settings *settings = &options->settings;
	switch (key) {
	case OPTION_DATA: settings->data_directory = argument; return 0;
	case OPTION_LISTEN: settings->listen = argument; return 0;
	case OPTION_PRINT_ENV: options->print_env = true; return 0;
	case OPTION_TEST_CONTROLS: settings->test_controls = true; return 0;
	case OPTION_NO_FSYNC: settings->without_fsync = true; return 0;
	case OPTION_TOKEN_SECONDS: return parse_life(state, "--token-seconds", argument, &settings->token_seconds);
	case OPTION_URL_SECONDS: return parse_life(state, "--url-seconds", argument, &settings->url_seconds);
	case ARGP_KEY_ARG: return option_error(state, "'%s' is one argument too many", argument);
	case ARGP_KEY_END:
		if (!settings->data_directory)
			return option_error(state, "where to keep the data? --data DIR is missing");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp serve_argp = {
	.options = serve_argp_options,
	.parser = serve_parse,
	.doc = "Serve buckets from this machine: the Hub's bucket API and the Xet content store."
	       "\vDIR keeps a write token and a read token (write-token, read-token; readable by you alone). "
	       "Point clients"
	       " at it with HF_ENDPOINT and HF_TOKEN. It speaks plain HTTP: keep it on loopback, or put TLS "
	       "before it.",
};

static void print_environment(const struct local_bucket_server *server)
{
	printf("HF_ENDPOINT=%s\nHF_TOKEN=%s\n", local_bucket_server_endpoint(server),
	       secret_reveal(local_bucket_server_write_token(server)));
	fflush(stdout);
}

/* Serves until a signal to end; they are blocked in all threads and waited for here. */
static enum hfkv_status serve(const struct serve_options *options, struct fault *fault)
{
	sigset_t ends;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	CLEANUP(local_bucket_server_freep) struct local_bucket_server *server = NULL;
	enum hfkv_status status = local_bucket_server_open(&options->settings, &server, fault);
	if (status == HFKV_OK)
		status = local_bucket_server_start(server, fault);
	if (status != HFKV_OK)
		return status;
	if (options->print_env)
		print_environment(server);
	else
		fprintf(stderr, "hfkv: serving %s\n", local_bucket_server_endpoint(server));
	int signal_number;
	sigwait(&ends, &signal_number);
	return HFKV_OK;
}

int cmd_serve(int argc, char **argv)
{
	struct serve_options options = { .print_env = false };
	if (options_parse(&serve_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = serve(&options, &fault);
	return status == HFKV_OK ? CLI_DONE : cli_fail(status, &fault);
}
