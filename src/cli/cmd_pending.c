/* Stands in for commands whose file has not landed: weak, so that the real one wins. */
#include "src/cli/commands.h"

#define PENDING(function)                                                                          \
	__attribute__((weak)) int function(int argc, char **argv)                                  \
	{                                                                                          \
		(void)argc;                                                                        \
		return cli_usage_error("hfkv", "'%s' is not built yet", argv[0]);                  \
	}

PENDING(cmd_mount)

__attribute__((weak)) int cmd_mount_as(int argc, char **argv, bool as_helper)
{
	(void)as_helper;
	return cmd_mount(argc, argv);
}

PENDING(cmd_umount)
PENDING(cmd_status)
PENDING(cmd_ls)
PENDING(cmd_stat)
PENDING(cmd_put)
PENDING(cmd_get)
PENDING(cmd_rm)
PENDING(cmd_chunk_size)
PENDING(cmd_verify)
PENDING(cmd_doctor)
PENDING(cmd_serve)
PENDING(cmd_kv)
