/*
 * Mounts a bucket that lives in this process's memory: for trying the mount by hand and for tests that need no server.
 *
 *     mount_memory MOUNTPOINT [chunk_bytes=N] [plain] [staging_bytes=N] [private_tmpfs] [writeback] [no_passthrough]
 *                  [tmp_dir=NAME] [ttl_ms=N] [negative_ttl_ms=N] [allow_other] [read_only]
 *
 * Prints "ready" once the mount answers; ends on SIGTERM or SIGINT, or when it is unmounted.
 */
#include "backend/store/store_open.h"
#include "common/log.h"
#include "fuse/fs_session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct fs_session *session;

static void on_signal(int number)
{
	(void)number;
	fs_session_stop(session);
}

static void on_ready(void *context)
{
	(void)context;
	puts("ready");
	fflush(stdout);
}

static bool take_option(const char *text, struct kv_cache_settings *cache, struct fs_session_settings *mount,
			uint64_t *chunk_bytes)
{
	const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
	bool known = true;
	if (strncmp(text, "chunk_bytes=", 12) == 0)
		*chunk_bytes = strtoull(value, NULL, 10);
	else if (strncmp(text, "staging_bytes=", 14) == 0)
		cache->staging_bytes = strtoull(value, NULL, 10);
	else if (strncmp(text, "ttl_ms=", 7) == 0)
		cache->metadata_ttl_ms = mount->metadata_ttl_ms = strtoll(value, NULL, 10);
	else if (strncmp(text, "negative_ttl_ms=", 16) == 0)
		cache->negative_ttl_ms = mount->negative_ttl_ms = strtoll(value, NULL, 10);
	else if (strncmp(text, "tmp_dir=", 8) == 0)
		mount->tmp_dir = value;
	else if (strcmp(text, "plain") == 0)
		mount->layout = FS_LAYOUT_PLAIN;
	else if (strcmp(text, "private_tmpfs") == 0)
		cache->staging_private_tmpfs = true;
	else if (strcmp(text, "writeback") == 0)
		cache->commit = KV_CACHE_COMMIT_WRITEBACK;
	else if (strcmp(text, "no_passthrough") == 0)
		mount->no_passthrough = true;
	else if (strcmp(text, "allow_other") == 0)
		mount->allow_other = true;
	else if (strcmp(text, "read_only") == 0)
		mount->read_only = true;
	else
		known = false;
	return known;
}

static enum hfkv_status serve(struct kv_cache_settings *cache_settings, struct fs_session_settings *mount,
			      struct fault *fault)
{
	enum hfkv_status status = store_open_memory(&cache_settings->store, fault);
	if (status != HFKV_OK)
		return status;
	struct kv_cache *cache = NULL;
	status = kv_cache_open(cache_settings, &cache, fault);
	if (status == HFKV_OK) {
		mount->cache = cache;
		status = fs_session_open(mount, &session, fault);
		if (status == HFKV_OK) {
			struct sigaction action = { .sa_handler = on_signal };
			sigaction(SIGTERM, &action, NULL);
			sigaction(SIGINT, &action, NULL);
			status = fs_session_run(session, fault);
			fs_session_close(session);
		}
		kv_cache_close(cache, deadline_after_ms(5000), NULL);
	}
	object_store_free(cache_settings->store);
	return status;
}

int main(int argc, char **argv)
{
	struct kv_cache_settings cache = kv_cache_settings_default();
	struct fs_session_settings mount = fs_session_settings_default();
	uint64_t chunk_bytes = 1024 * 1024;
	cache.prefix = "prod";
	cache.staging_label = "test";
	mount.source = "hf://buckets/test/memory/prod";
	mount.ready = on_ready;
	if (argc < 2)
		return 2;
	mount.mountpoint = argv[1];
	for (int i = 2; i < argc; i++)
		if (!take_option(argv[i], &cache, &mount, &chunk_bytes)) {
			fprintf(stderr, "unknown option %s\n", argv[i]);
			return 2;
		}
	log_configure((struct log_settings){ getenv("HFKV_TEST_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, false });
	struct fault fault = FAULT_NONE;
	struct kv_chunk_spec *spec = NULL;
	enum hfkv_status status = HFKV_OK;
	if (mount.layout == FS_LAYOUT_KV)
		status = kv_chunk_spec_new(chunk_bytes, 0, &spec, &fault);
	cache.spec = mount.spec = spec;
	if (status == HFKV_OK)
		status = serve(&cache, &mount, &fault);
	kv_chunk_spec_free(spec);
	if (status == HFKV_OK)
		return 0;
	fprintf(stderr, "mount_memory: %s\n", fault_text(&fault, status));
	return 1;
}
