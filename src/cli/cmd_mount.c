/*
 * hfkv mount: shows a bucket as a directory, in the background once it answers, or in the foreground.
 */
#include "src/cli/commands.h"
#include "src/cli/mount_daemon.h"

int cmd_mount(int argc, char **argv)
{
	return cmd_mount_as(argc, argv, false);
}

int cmd_mount_as(int argc, char **argv, bool as_helper)
{
	CLEANUP(mount_options_done) struct mount_options options = { 0 };
	struct daemon_start start = { .ready_fd = -1 };
	struct fault fault = FAULT_NONE;
	int code = mount_options_read(argc, argv, as_helper, &options);
	if (code != 0 || options.fake)
		return code;
	if (!options.foreground) {
		enum hfkv_status status = daemonize(&start, &fault);
		if (status != HFKV_OK)
			return cli_fail(status, &fault);
	}
	return mount_daemon_run(&options, &start);
}
