/* Stands in for cmd_kv.c until it lands. */
#include "src/cli/commands.h"

int cmd_kv(int argc, char **argv)
{
	(void)argc;
	return cli_usage_error("hfkv", "'%s' is not built yet", argv[0]);
}
