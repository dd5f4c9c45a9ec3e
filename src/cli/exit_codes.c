#include "src/cli/commands.h"

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>

const char *argp_program_version = "hfkv " HFKV_VERSION;

void cli_argp_prepare(void)
{
	argp_err_exit_status = CLI_USAGE;
}

int cli_exit_for(enum hfkv_status status)
{
	if (status == HFKV_OK)
		return CLI_DONE;
	if (status == HFKV_NOT_FOUND)
		return CLI_NOT_FOUND;
	if (status == HFKV_PARTIAL_KV_CHUNK || status == HFKV_OVERSIZE)
		return CLI_REFUSED_SIZE;
	if (status == HFKV_INVALID) /* a URL, name or setting that cannot be right */
		return CLI_USAGE;
	return CLI_FAILED;
}

/* Names from the network or the command line may hold control characters: an error stays one line. */
static void print_line(const char *text)
{
	fputs("hfkv: ", stderr);
	for (; *text; text++)
		putc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stderr);
	putc('\n', stderr);
}

int cli_fail(enum hfkv_status status, const struct fault *fault)
{
	print_line(fault_text(fault, status));
	return cli_exit_for(status);
}

int cli_usage_error(const char *command, const char *format, ...)
{
	char reason[512], text[640];
	va_list values;
	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	snprintf(text, sizeof(text), "%s (see '%s --help')", reason, command);
	print_line(text);
	return CLI_USAGE;
}
