/*
 * Everything that `hfkv mount` was told, checked as far as it can be without network or kernel.
 *
 * Main thread only. Owned strings where it says so; release with mount_options_done.
 */
#ifndef SRC_CLI_MOUNT_OPTIONS_H
#define SRC_CLI_MOUNT_OPTIONS_H

#include "cache/kv_cache.h"
#include "common/log.h"
#include "fuse/fs_session.h"
#include "src/cli/chunk_options.h"
#include "src/cli/mount_arguments.h"
#include "src/cli/network_options.h"

struct mount_options {
	const char *url_text, *mountpoint_text; /* as given */
	struct network_options network;
	struct chunk_options chunk;
	struct kv_cache_settings cache;     /* store, spec and prefix still unset */
	struct fs_session_settings session; /* cache, spec, mountpoint and source still unset */
	bool layout_given;
	int64_t drain_timeout_ms;
	const char *log_level; /* a level, or @FILE that holds one */
	const char *log_file;
	bool log_json, foreground, fake;

	/* made from the above by mount_options_read; owned */
	struct bucket_url url;
	char *mountpoint; /* absolute, without symbolic links */
	char *source;     /* hf://buckets/... as shown in /proc/mounts */
	struct kv_chunk_spec *spec;
	char *absolute_paths[4]; /* backing of file names that a daemon in / must still find */
	struct mount_arguments arguments;
};

/* Reads the arguments. 0, or an exit code after the error was printed. */
MUST_CHECK int mount_options_read(int argc, char **argv, bool as_helper, struct mount_options *ret_options);
void mount_options_done(struct mount_options *options);

/* Sets level and form of the log from the options, reading @FILE again. */
MUST_CHECK enum hfkv_status mount_options_apply_log(const struct mount_options *options, struct fault *fault);

#endif
