/*
 * hfkv chunk-size: the full size of a KV chunk, as one number.
 */
#include "src/cli/chunk_options.h"
#include "src/cli/commands.h"
#include "src/cli/object_report.h"

#include <stdio.h>

static error_t chunk_size_parse(int key, char *argument, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = state->input; return 0;
	case ARGP_KEY_ARG: return option_error(state, "takes options only, not '%s'", argument);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child chunk_size_children[] = { { &chunk_argp, 0, NULL, 0 }, { 0 } };
static const struct argp chunk_size_argp = {
	.parser = chunk_size_parse, .children = chunk_size_children,
	.doc = "Print the bytes of a full KV chunk: the --chunk-bytes of a mount with the same options.",
};

int cmd_chunk_size(int argc, char **argv)
{
	struct chunk_options options = { 0 };
	struct fault fault = FAULT_NONE;
	uint64_t bytes = 0;
	if (options_parse(&chunk_size_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	enum hfkv_status status = chunk_options_full_size(&options, &bytes, &fault);
	if (status != HFKV_OK)
		return cli_fail(status, &fault);
	printf("%llu\n", (unsigned long long)bytes);
	return stdout_finish(CLI_DONE);
}
