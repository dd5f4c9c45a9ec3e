/*
 * What `hfkv status` and the mount's hidden file tell of a living mount, as JSON.
 *
 *     mountpoint, source, pid, state (running | draining), version, layout (kv | plain), commit (sync | writeback),
 *     read_only, passthrough, uptime_seconds, drain_timeout_seconds,
 *     staging   { dir, used_bytes, limit_bytes, files, private_tmpfs }
 *     counters  { stat_calls, stats_from_cache, list_calls, downloads, downloaded_bytes, staged_hits, verify_failures,
 *                 commits, committed_bytes, commit_batches, commit_failures, commits_pending, evictions }
 *     refusals  { partial, oversize, hidden_wrong_size }
 *     requests  { lookup, getattr, ... }   what the kernel asked the daemon
 *     files     { inodes, open, scratch, passthrough_opens, errors }
 */
#ifndef SRC_CLI_MOUNT_STATUS_H
#define SRC_CLI_MOUNT_STATUS_H

#include "src/cli/mount_options.h"

#include <jansson.h>

struct mount_view {
	const struct mount_options *options;
	struct kv_cache *cache;
	struct fs_session *session; /* NULL once it was unmounted */
	bool draining;
	int64_t uptime_ms;
};

/* A new reference; NULL when there is no memory. Never blocks. Any thread that may read cache and session. */
json_t *mount_status_json(const struct mount_view *view);

#endif
