#include "src/cli/mount_status.h"

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *counters_json(const struct kv_cache_counters *counters)
{
	return json_pack("{so so so so so so so so so so so so so}", "stat_calls", number(counters->stat_calls_to_store),
			 "stats_from_cache", number(counters->stats_answered_from_cache), "list_calls",
			 number(counters->list_calls_to_store), "downloads", number(counters->downloads),
			 "downloaded_bytes", number(counters->downloaded_bytes), "staged_hits",
			 number(counters->staged_hits), "verify_failures", number(counters->verify_failures), "commits",
			 number(counters->commits), "committed_bytes", number(counters->committed_bytes),
			 "commit_batches", number(counters->commit_batches), "commit_failures",
			 number(counters->commit_failures), "commits_pending", number(counters->commits_pending),
			 "evictions", number(counters->evictions));
}

static json_t *staging_json(struct kv_cache *cache, const struct kv_cache_counters *counters)
{
	return json_pack("{ss so so so sb}", "dir", kv_cache_staging_dir(cache), "used_bytes",
			 number(counters->staging_used_bytes), "limit_bytes", number(counters->staging_limit_bytes),
			 "files", number(counters->staged_files), "private_tmpfs",
			 kv_cache_staging_is_private_tmpfs(cache));
}

/* What the kernel asked. */
static void add_session(json_t *status, struct fs_session *session)
{
	struct fs_session_counters counters = { 0 };
	if (session)
		fs_session_counters_read(session, &counters);
	json_t *requests = json_object();
	for (int operation = 0; operation < FS_OP_COUNT; operation++)
		json_object_set_new(requests, fs_operation_name((enum fs_operation)operation),
				    number(counters.requests[operation]));
	json_object_set_new(status, "passthrough", json_boolean(counters.passthrough));
	json_object_set_new(status, "requests", requests);
	json_object_set_new(status, "files",
			    json_pack("{so so so so so}", "inodes", number(counters.inodes), "open",
				      number(counters.open_files), "scratch", number(counters.scratch_files),
				      "passthrough_opens", number(counters.passthrough_opens), "errors",
				      number(counters.errors)));
}

json_t *mount_status_json(const struct mount_view *view)
{
	const struct mount_options *options = view->options;
	struct kv_cache_counters counters = { 0 };
	kv_cache_counters_read(view->cache, &counters);
	json_t *status = json_pack(
		"{ss ss sI ss ss ss ss sb sI sI}", "mountpoint", options->mountpoint, "source", options->source, "pid",
		(json_int_t)getpid(), "state", view->draining ? "draining" : "running", "version", HFKV_VERSION, "layout",
		options->session.layout == FS_LAYOUT_KV ? "kv" : "plain", "commit",
		options->cache.commit == KV_CACHE_COMMIT_SYNC ? "sync" : "writeback", "read_only",
		options->session.read_only, "uptime_seconds", (json_int_t)(view->uptime_ms / 1000),
		"drain_timeout_seconds", (json_int_t)((options->drain_timeout_ms + 999) / 1000));
	if (!status)
		return NULL;
	json_object_set_new(status, "staging", staging_json(view->cache, &counters));
	json_object_set_new(status, "counters", counters_json(&counters));
	json_object_set_new(status, "refusals",
			    json_pack("{so so so}", "partial", number(counters.refused_partial), "oversize",
				      number(counters.refused_oversize), "hidden_wrong_size",
				      number(counters.hidden_wrong_size)));
	add_session(status, view->session);
	return status;
}
