#include "tests/unit/cmocka_prelude.h"

#include "src/connector/connector_config.h"
#include "tests/unit/src/connector/log_lines.h"

#include <stdlib.h>

static const struct hfkv_open_options no_options = HFKV_OPEN_OPTIONS_INIT;

static enum hfkv_status read_text(enum hfkv_settings_format format, const char *text,
				  const struct hfkv_open_options *options, struct connector_config *ret_config,
				  struct fault *fault)
{
	struct hfkv_settings *settings = NULL;
	struct hfkv_error error = { HFKV_OK };
	enum hfkv_status status = hfkv_settings_parse(format, text, strlen(text), &settings, &error);
	if (status != HFKV_OK)
		return fault_set(fault, status, "%s", error.text);
	status = connector_config_read(settings, options, ret_config, fault);
	hfkv_settings_free(settings);
	return status;
}

static struct connector_config taken_with(enum hfkv_settings_format format, const char *text,
					  const struct hfkv_open_options *options)
{
	struct connector_config config = { 0 };
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = read_text(format, text, options, &config, &fault);
	if (status != HFKV_OK)
		fail_msg("refused: %s", fault.text);
	return config;
}

static struct connector_config yaml(const char *text)
{
	return taken_with(HFKV_SETTINGS_YAML, text, &no_options);
}

static struct connector_config l2(const char *text)
{
	return taken_with(HFKV_SETTINGS_JSON, text, &no_options);
}

/* The error names `first` and `second`: the key and, mostly, the value or what was expected. */
static void refused(enum hfkv_settings_format format, const char *text, const char *first, const char *second)
{
	struct connector_config config = { 0 };
	struct fault fault = FAULT_NONE;
	assert_int_equal(read_text(format, text, &no_options, &config, &fault), HFKV_INVALID);
	if (!strstr(fault.text, first) || !strstr(fault.text, second))
		fail_msg("'%s' and '%s' are not both in: %s", first, second, fault.text);
	assert_null(config.name);
}

/* ---- fs, in process ---- */

static void fs_has_the_defaults_of_lmcache(void **state)
{
	(void)state;
	struct connector_config config = yaml("remote_storage_plugins: [fs]\n"
					      "extra_config: {remote_storage_plugin.fs.base_path: /kv}\n");
	assert_int_equal(config.kind, CONNECTOR_FS);
	assert_false(config.multi_process);
	assert_int_equal(config.base_path_count, 1);
	assert_string_equal(config.base_paths[0], "/kv");
	assert_null(config.relative_tmp_dir);
	assert_int_equal(config.read_ahead_bytes, 0);
	assert_false(config.use_odirect);
	assert_true(config.save_chunk_meta);
	assert_true(config.full_chunks);
	assert_int_equal(config.chunk_bytes, 0);
	assert_int_equal(config.read_timeout_ms, 10000);
	assert_int_equal(config.timeout_ms, 30000);
	connector_config_done(&config);
}

static void fs_takes_every_key(void **state)
{
	(void)state;
	struct connector_config config =
	    yaml("chunk_size: 128\n"
		 "local_cpu: false\n"
		 "remote_serde: naive\n"
		 "blocking_timeout_secs: 3\n"
		 "remote_storage_plugins: [hfkv_fs.primary]\n"
		 "extra_config:\n"
		 "  remote_storage_plugin.hfkv_fs.primary.base_path: ' /a , /b,/c'\n"
		 "  remote_storage_plugin.hfkv_fs.primary.chunk_bytes: \"4096\"\n"
		 "  remote_storage_plugin.hfkv_fs.primary.module_path: hfkv.lmcache\n"
		 "  remote_storage_plugin.hfkv_fs.primary.class_name: FsConnectorAdapter\n"
		 "  fs_connector_relative_tmp_dir: tmp/here\n"
		 "  fs_connector_read_ahead_size: \"65536\"\n"
		 "  fs_connector_use_odirect: \"true\"\n"
		 "  save_chunk_meta: \"false\"\n");
	assert_int_equal(config.base_path_count, 3);
	assert_string_equal(config.base_paths[0], "/a");
	assert_string_equal(config.base_paths[1], "/b");
	assert_string_equal(config.base_paths[2], "/c");
	assert_int_equal(config.chunk_bytes, 4096);
	assert_string_equal(config.relative_tmp_dir, "tmp/here");
	assert_int_equal(config.read_ahead_bytes, 65536);
	assert_true(config.use_odirect);
	assert_false(config.save_chunk_meta);
	assert_int_equal(config.read_timeout_ms, 3000);
	connector_config_done(&config);
}

static void base_path_has_its_precedence(void **state)
{
	(void)state;
	refused(HFKV_SETTINGS_YAML, "remote_url: fs://host:1\n", "remote_url", "path");
	struct connector_config config =
	    yaml("remote_storage_plugins: [fs]\n"
		 "extra_config: {remote_storage_plugin.fs.base_path: /own, fs_base_path: /all}\n");
	assert_string_equal(config.base_paths[0], "/own");
	connector_config_done(&config);
	config = yaml("remote_storage_plugins: [fs]\nextra_config: {fs_base_path: /all}\n");
	assert_string_equal(config.base_paths[0], "/all");
	connector_config_done(&config);
	config = yaml("remote_url: fs://host:65432/legacy/dir\n");
	assert_string_equal(config.base_paths[0], "/legacy/dir");
	connector_config_done(&config);
	config = yaml("remote_url: \"fs:///legacy,/second\"\n");
	assert_int_equal(config.base_path_count, 2);
	assert_string_equal(config.base_paths[1], "/second");
	connector_config_done(&config);
}

static void the_longest_matching_instance_owns_a_key(void **state)
{
	(void)state;
	static const char text[] = "remote_storage_plugins: [fs, fs.backup, fs.backup.eu]\n"
				   "extra_config:\n"
				   "  remote_storage_plugin.fs.base_path: /one\n"
				   "  remote_storage_plugin.fs.backup.base_path: /two\n"
				   "  remote_storage_plugin.fs.backup.eu.base_path: /three\n"
				   "  remote_storage_plugin.fs.backup.eu.base_pth: /typo\n";
	static const char *const names[] = { "fs", "fs.backup", "fs.backup.eu" };
	static const char *const paths[] = { "/one", "/two", "/three" };
	for (size_t i = 0; i < 3; i++) {
		struct log_lines lines;
		log_lines_collect(&lines);
		struct hfkv_open_options options = HFKV_OPEN_OPTIONS_INIT;
		options.plugin_name = names[i];
		struct connector_config config = taken_with(HFKV_SETTINGS_YAML, text, &options);
		log_lines_collect(NULL);
		assert_string_equal(config.base_paths[0], paths[i]);
		assert_string_equal(config.name, names[i]);
		/* Only the owner warns of the misspelt key; to the others it is no business of theirs. */
		assert_int_equal(strstr(lines.text, "base_pth") != NULL, i == 2);
		connector_config_done(&config);
	}
}

static void unknown_keys_of_ours_are_named_with_the_nearest(void **state)
{
	(void)state;
	struct log_lines lines;
	log_lines_collect(&lines);
	struct connector_config config = yaml("remote_storage_plugins: [fs]\n"
					      "affinity: 3\n"
					      "extra_config:\n"
					      "  remote_storage_plugin.fs.base_path: /kv\n"
					      "  remote_storage_plugin.fs.chunk_byte: 5\n"
					      "  remote_storage_plugin.fs.zzzzzzzzzzzzzzzzzzzz: 5\n"
					      "  remote_storage_plugin.fs.module_path: hfkv.lmcache\n"
					      "  fs_connector_use_direct: true\n"
					      "  some_key_of_lmcache: 7\n");
	log_lines_collect(NULL);
	connector_config_done(&config);
	assert_non_null(strstr(lines.text, "remote_storage_plugin.fs.chunk_byte' (did you mean "
					   "'remote_storage_plugin.fs.chunk_bytes'?)"));
	assert_non_null(strstr(lines.text, "zzzzzzzzzzzzzzzzzzzz', ignoring"));
	assert_non_null(strstr(lines.text, "fs_connector_use_direct' (did you mean 'fs_connector_use_odirect'?)"));
	assert_null(strstr(lines.text, "module_path"));
	assert_null(strstr(lines.text, "some_key_of_lmcache"));
	assert_null(strstr(lines.text, "affinity"));
}

static void fs_refuses_what_does_not_go_with_full_chunks(void **state)
{
	(void)state;
#define FS_BASE "remote_storage_plugins: [fs]\nextra_config:\n  remote_storage_plugin.fs.base_path: /kv\n"
	refused(HFKV_SETTINGS_YAML, "save_unfull_chunk: true\n" FS_BASE, "save_unfull_chunk", "full");
	refused(HFKV_SETTINGS_YAML, "use_layerwise: true\n" FS_BASE, "use_layerwise", "full");
	refused(HFKV_SETTINGS_YAML, "remote_serde: cachegen\n" FS_BASE, "remote_serde", "cachegen");
	struct connector_config config =
	    yaml("save_unfull_chunk: true\nuse_layerwise: true\nremote_serde: cachegen\n" FS_BASE
		 "  remote_storage_plugin.fs.full_chunks: false\n"
		 "  save_chunk_meta: false\n");
	assert_false(config.full_chunks);
	assert_true(config.save_chunk_meta); /* use_layerwise forces it on */
	connector_config_done(&config);
}

static void fs_refuses_bad_values_by_name(void **state)
{
	(void)state;
	refused(HFKV_SETTINGS_YAML, "remote_storage_plugins: [fs]\n", "remote_storage_plugin.fs.base_path",
		"missing");
	refused(HFKV_SETTINGS_YAML, "remote_storage_plugins: [redis]\n", "remote_storage_plugins", "hfbucket");
	refused(HFKV_SETTINGS_YAML, "remote_storage_plugins: {a: 1}\n", "remote_storage_plugins", "list");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  fs_connector_relative_tmp_dir: /abs\n", "/abs", "absolute");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  fs_connector_relative_tmp_dir: a/../../b\n", "a/../../b", "..");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  fs_connector_read_ahead_size: -1\n", "fs_connector_read_ahead_size",
		"-1");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  fs_connector_use_odirect: maybe\n", "fs_connector_use_odirect",
		"maybe");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  remote_storage_plugin.fs.chunk_bytes: 0\n", "chunk_bytes",
		"whole number");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  remote_storage_plugin.fs.chunk_bytes: 5 MiB\n", "chunk_bytes",
		"5 MiB");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  remote_storage_plugin.fs.base_path: [a]\n", "base_path", "string");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  remote_storage_plugin.fs.base_path: \"/a,,/b\"\n", "base_path",
		"/a,,/b");
	refused(HFKV_SETTINGS_YAML, "chunk_size: 0\n" FS_BASE, "chunk_size", "0");
	refused(HFKV_SETTINGS_YAML, "extra_config: 5\n", "extra_config", "mapping");
	refused(HFKV_SETTINGS_YAML, FS_BASE "  chunk_bytes: 5\n  chunk_table: /t\n", "chunk_bytes", "chunk_table");
}

static void o_direct_goes_off_with_a_metadata_header(void **state)
{
	(void)state;
	struct log_lines lines;
	log_lines_collect(&lines);
	struct connector_config config = yaml(FS_BASE "  fs_connector_use_odirect: true\n");
	log_lines_collect(NULL);
	assert_false(config.use_odirect);
	assert_non_null(strstr(lines.text, "fs_connector_use_odirect"));
	connector_config_done(&config);
}

/* ---- hfbucket, in process ---- */

#define BUCKET_BASE                                                                                               \
	"remote_storage_plugins: [hfbucket.us]\nextra_config:\n"                                                  \
	"  remote_storage_plugin.hfbucket.us.bucket_handle: hf://buckets/a/b/c\n"

static void bucket_has_its_defaults(void **state)
{
	(void)state;
	struct connector_config config = yaml(BUCKET_BASE);
	assert_int_equal(config.kind, CONNECTOR_BUCKET);
	assert_string_equal(config.bucket_handle, "hf://buckets/a/b/c");
	assert_string_equal(config.token_env, "HF_TOKEN");
	assert_null(config.token);
	assert_false(config.create_bucket_if_missing);
	assert_null(config.download_tmp_dir);
	assert_int_equal(config.metadata_ttl_ms, 30000);
	assert_false(config.save_chunk_meta);
	connector_config_done(&config);
}

static void bucket_takes_every_key(void **state)
{
	(void)state;
	struct connector_config config =
	    yaml(BUCKET_BASE "  remote_storage_plugin.hfbucket.us.token_env: OTHER\n"
			     "  remote_storage_plugin.hfbucket.us.token: hf_abc\n"
			     "  remote_storage_plugin.hfbucket.us.create_bucket_if_missing: \"yes\"\n"
			     "  remote_storage_plugin.hfbucket.us.download_tmp_dir: /var/tmp/x\n"
			     "  remote_storage_plugin.hfbucket.us.metadata_cache_ttl_secs: \"1.5\"\n"
			     "  remote_storage_plugin.hfbucket.us.chunk_table: /etc/table\n"
			     "  save_chunk_meta: false\n");
	assert_string_equal(config.token_env, "OTHER");
	assert_string_equal(secret_reveal(config.token), "hf_abc");
	assert_true(config.create_bucket_if_missing);
	assert_string_equal(config.download_tmp_dir, "/var/tmp/x");
	assert_int_equal(config.metadata_ttl_ms, 1500);
	assert_string_equal(config.chunk_table, "/etc/table");
	connector_config_done(&config);
}

/* What templates leave behind, and LMCache takes. */
static void empty_tokens_are_none_and_outer_space_goes(void **state)
{
	(void)state;
	struct connector_config config =
	    yaml(BUCKET_BASE "  remote_storage_plugin.hfbucket.us.token_env: \"\"\n"
			     "  remote_storage_plugin.hfbucket.us.token: \"\"\n"
			     "  remote_storage_plugin.hfbucket.us.create_bucket_if_missing: \" true \"\n"
			     "  remote_storage_plugin.hfbucket.us.metadata_cache_ttl_secs: \" 30\\n\"\n"
			     "  remote_storage_plugin.hfbucket.us.chunk_bytes: \" 4096 \"\n");
	assert_string_equal(config.token_env, "");
	assert_true(!config.token || secret_length(config.token) == 0);
	assert_true(config.create_bucket_if_missing);
	assert_int_equal(config.metadata_ttl_ms, 30000);
	assert_int_equal(config.chunk_bytes, 4096);
	connector_config_done(&config);
	config = l2("{\"type\":\"hfbucket\",\"bucket_handle\":\"hf://buckets/a/b\",\"token\":\"\",\"token_env\":\"\"}");
	assert_string_equal(config.token_env, "");
	assert_null(config.token);
	connector_config_done(&config);
	refused(HFKV_SETTINGS_YAML, BUCKET_BASE "  remote_storage_plugin.hfbucket.us.metadata_cache_ttl_secs: \"  \"\n",
		"metadata_cache_ttl_secs", "number");
	refused(HFKV_SETTINGS_YAML, BUCKET_BASE "  remote_storage_plugin.hfbucket.us.chunk_bytes: \"4096 x\"\n",
		"chunk_bytes", "4096 x");
}

static void bucket_refuses_bad_values_by_name(void **state)
{
	(void)state;
	refused(HFKV_SETTINGS_YAML, "remote_storage_plugins: [hfbucket]\n", "bucket_handle", "missing");
	refused(HFKV_SETTINGS_YAML, "save_unfull_chunk: true\n" BUCKET_BASE, "save_unfull_chunk", "false");
	refused(HFKV_SETTINGS_YAML, "use_layerwise: true\n" BUCKET_BASE, "use_layerwise", "false");
	refused(HFKV_SETTINGS_YAML, BUCKET_BASE "  save_chunk_meta: true\n", "save_chunk_meta", "false");
	refused(HFKV_SETTINGS_YAML,
		BUCKET_BASE "  remote_storage_plugin.hfbucket.us.metadata_cache_ttl_secs: -1\n",
		"metadata_cache_ttl_secs", "-1");
	refused(HFKV_SETTINGS_YAML,
		BUCKET_BASE "  remote_storage_plugin.hfbucket.us.metadata_cache_ttl_secs: soon\n",
		"metadata_cache_ttl_secs", "soon");
	refused(HFKV_SETTINGS_YAML,
		BUCKET_BASE "  remote_storage_plugin.hfbucket.us.create_bucket_if_missing: 7\n",
		"create_bucket_if_missing", "7");
}

static void a_token_is_in_no_error(void **state)
{
	(void)state;
	struct connector_config config = { 0 };
	struct fault fault = FAULT_NONE;
	static const char text[] = BUCKET_BASE "  remote_storage_plugin.hfbucket.us.token: [hf_verysecret]\n";
	assert_int_equal(read_text(HFKV_SETTINGS_YAML, text, &no_options, &config, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, "token"));
	assert_null(strstr(fault.text, "verysecret"));
}

/* Wherever it was put by mistake. */
static void a_misplaced_token_is_in_no_error(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{\"type\":\"hfbucket\",\"token\" \"hf_secret\"}",
		"{\"type\":\"hfbucket\",\"token\":\"hf_secret",
		"{\"type\":\"plugin\",\"adapter_params\":\"{'token': 'hf_secret'}\"}",
		"{\"type\":\"plugin\",\"adapter_params\":[{\"token\":\"hf_secret\"}]}",
		"{\"type\":\"hfbucket\",\"bucket_handle\":{\"token\":\"hf_secret\"}}",
		"{\"extra_config\":\"{'token' 'hf_secret'}\"}",
		"{\"extra_config\":\"{\\\"token\\\" \\\"hf_secret\\\"}\"}",
	};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct connector_config config = { 0 };
		struct fault fault = FAULT_NONE;
		assert_int_equal(read_text(HFKV_SETTINGS_JSON, texts[i], &no_options, &config, &fault), HFKV_INVALID);
		if (strstr(fault.text, "secret"))
			fail_msg("a token in: %s", fault.text);
	}
}

/* ---- L2 ---- */

static void l2_bucket_takes_the_documented_json(void **state)
{
	(void)state;
	struct log_lines lines;
	log_lines_collect(&lines);
	struct connector_config config =
	    l2("{\"type\":\"hfbucket\",\"bucket_handle\":\"hf://buckets/a/b\",\"token_env\":\"T\",\"token\":\"x\","
	       "\"create_bucket_if_missing\":true,\"download_tmp_dir\":\"/tmp/lmcache-hfbucket-mp\","
	       "\"metadata_cache_ttl_secs\":30,\"num_workers\":8,\"max_capacity_gb\":0.5,\"affinity_tag\":\"a\","
	       "\"shared\":true,\"persist_enabled\":false,\"serde\":{\"type\":\"fp8\"},"
	       "\"eviction\":{\"eviction_policy\":\"LRU\",\"trigger_watermark\":0.85,\"eviction_ratio\":0.3}}");
	log_lines_collect(NULL);
	assert_string_equal(lines.text, "");
	assert_true(config.multi_process);
	assert_int_equal(config.kind, CONNECTOR_BUCKET);
	assert_string_equal(config.token_env, "T");
	assert_true(config.create_bucket_if_missing);
	assert_int_equal(config.workers, 8);
	assert_int_equal(config.capacity_bytes, 536870912);
	assert_int_equal(config.eviction, EVICTION_LRU);
	assert_true(config.trigger_watermark == 0.85);
	assert_true(config.eviction_ratio == 0.3);
	connector_config_done(&config);
}

static void l2_has_its_defaults(void **state)
{
	(void)state;
	struct connector_config config =
	    l2("{\"type\":\"fs_native\",\"base_path\":\"/kv,1\",\"relative_tmp_dir\":\"\","
	       "\"eviction\":{\"eviction_policy\":\"noop\"}}");
	assert_int_equal(config.kind, CONNECTOR_FS);
	assert_int_equal(config.base_path_count, 1);
	assert_string_equal(config.base_paths[0], "/kv,1"); /* LMCache's MP adapters know one path */
	assert_null(config.relative_tmp_dir);
	assert_false(config.save_chunk_meta);
	assert_int_equal(config.workers, 4);
	assert_int_equal(config.capacity_bytes, 0);
	assert_int_equal(config.eviction, EVICTION_NONE);
	assert_true(config.trigger_watermark == 0.8);
	assert_true(config.eviction_ratio == 0.2);
	connector_config_done(&config);
}

static void l2_finds_the_backend_of_a_plugin(void **state)
{
	(void)state;
	struct connector_config config =
	    l2("{\"type\":\"plugin\",\"module_path\":\"hfkv.lmcache\",\"class_name\":\"FsL2Adapter\","
	       "\"adapter_params\":{\"base_path\":\"/kv\",\"use_odirect\":true,\"read_ahead_size\":4096,"
	       "\"relative_tmp_dir\":\"t\",\"max_capacity_gb\":1},\"eviction\":{\"eviction_policy\":\"LRU\"}}");
	assert_int_equal(config.kind, CONNECTOR_FS);
	assert_true(config.use_odirect);
	assert_int_equal(config.read_ahead_bytes, 4096);
	assert_string_equal(config.relative_tmp_dir, "t");
	assert_int_equal(config.capacity_bytes, 1073741824);
	connector_config_done(&config);
	config = l2("{\"type\":\"native_plugin\",\"class_name\":\"Mine\",\"max_capacity_gb\":2,"
		    "\"adapter_params\":{\"bucket_handle\":\"hf://buckets/a/b\"}}");
	assert_int_equal(config.kind, CONNECTOR_BUCKET);
	assert_int_equal(config.capacity_bytes, 2147483648);
	connector_config_done(&config);
	refused(HFKV_SETTINGS_JSON, "{\"type\":\"plugin\",\"class_name\":\"Mine\",\"adapter_params\":{}}",
		"class_name", "Mine");
}

static void l2_refuses_wrong_types_and_ranges_by_name(void **state)
{
	(void)state;
	refused(HFKV_SETTINGS_JSON, "{\"type\":5,\"base_path\":\"/kv\"}", "type: 5", "fs_native");
	refused(HFKV_SETTINGS_JSON, "{\"type\":null,\"base_path\":\"/kv\"}", "type: null", "fs_native");
#define L2(rest) "{\"type\":\"hfbucket\",\"bucket_handle\":\"hf://buckets/a/b\"," rest "}"
	static const struct {
		const char *text, *key, *shown;
	} cases[] = {
		{ "{\"type\":\"hfbucket\"}", "bucket_handle", "missing" },
		{ "{\"type\":\"hfbucket\",\"bucket_handle\":3}", "bucket_handle", "3" },
		{ "{\"type\":\"nixl\"}", "type", "nixl" },
		{ "{\"type\":\"fs\"}", "base_path", "missing" },
		{ "{\"type\":\"fs\",\"base_path\":\"\"}", "base_path", "string" },
		{ "{\"type\":\"fs\",\"base_path\":\"/a\",\"relative_tmp_dir\":\"../x\"}", "relative_tmp_dir",
		  "../x" },
		{ "{\"type\":\"fs\",\"base_path\":\"/a\",\"read_ahead_size\":0}", "read_ahead_size", "0" },
		{ "{\"type\":\"fs\",\"base_path\":\"/a\",\"use_odirect\":\"true\"}", "use_odirect",
		  "true or false" },
		{ L2("\"num_workers\":0"), "num_workers", "0" },
		{ L2("\"num_workers\":true"), "num_workers", "whole number" },
		{ L2("\"num_workers\":2.5"), "num_workers", "2.5" },
		{ L2("\"num_workers\":\"4\""), "num_workers", "\"4\"" },
		{ L2("\"metadata_cache_ttl_secs\":-1"), "metadata_cache_ttl_secs", "-1" },
		{ L2("\"metadata_cache_ttl_secs\":true"), "metadata_cache_ttl_secs", "number" },
		{ L2("\"max_capacity_gb\":-0.1"), "max_capacity_gb", "-0.1" },
		{ L2("\"create_bucket_if_missing\":1"), "create_bucket_if_missing", "true or false" },
		{ L2("\"token_env\":7"), "token_env", "7" },
		{ L2("\"download_tmp_dir\":\"\""), "download_tmp_dir", "string" },
		{ L2("\"eviction\":5"), "eviction", "object" },
		{ L2("\"eviction\":{}"), "eviction_policy", "missing" },
		{ L2("\"eviction\":{\"eviction_policy\":\"FIFO\"}"), "eviction_policy", "FIFO" },
		{ L2("\"eviction\":{\"eviction_policy\":\"ARC\"}"), "eviction_policy", "ARC" },
		{ L2("\"eviction\":{\"eviction_policy\":\"LRU\",\"trigger_watermark\":1.5}"), "trigger_watermark",
		  "1.5" },
		{ L2("\"eviction\":{\"eviction_policy\":\"LRU\",\"eviction_ratio\":0}"), "eviction_ratio", "0" },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		refused(HFKV_SETTINGS_JSON, cases[i].text, cases[i].key, cases[i].shown);
}

static void policies_of_lmcaches_controller_pass_inside_it(void **state)
{
	(void)state;
	struct hfkv_open_options options = HFKV_OPEN_OPTIONS_INIT;
	options.without_own_evictor = 1;
	struct connector_config config =
	    taken_with(HFKV_SETTINGS_JSON, L2("\"eviction\":{\"eviction_policy\":\"IsolatedLRU\"}"), &options);
	assert_int_equal(config.eviction, EVICTION_ISOLATED_LRU);
	connector_config_done(&config);
}

static void a_token_that_lmcache_would_log_is_refused(void **state)
{
	(void)state;
	struct hfkv_open_options options = HFKV_OPEN_OPTIONS_INIT;
	options.literal_token_refused = 1;
	struct connector_config config = { 0 };
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    read_text(HFKV_SETTINGS_JSON, L2("\"token\":\"hf_verysecret\""), &options, &config, &fault);
	assert_int_equal(status, HFKV_INVALID);
	assert_non_null(strstr(fault.text, "token_env"));
	assert_null(strstr(fault.text, "verysecret"));
	static const char fs[] = "{\"type\":\"fs\",\"base_path\":\"/kv\",\"token\":\"hf_verysecret\"}";
	assert_int_equal(read_text(HFKV_SETTINGS_JSON, fs, &options, &config, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, "token_env"));
}

static void l2_warns_of_unknown_keys(void **state)
{
	(void)state;
	struct log_lines lines;
	log_lines_collect(&lines);
	struct connector_config config =
	    l2(L2("\"num_worker\":4,\"eviction\":{\"eviction_policy\":\"LRU\",\"watermark\":1}"));
	log_lines_collect(NULL);
	connector_config_done(&config);
	assert_non_null(strstr(lines.text, "'num_worker' (did you mean 'num_workers'?)"));
	assert_non_null(strstr(lines.text, "eviction.watermark"));
}

/* ---- the document ---- */

static void settings_can_be_put_together_key_by_key(void **state)
{
	(void)state;
	struct hfkv_settings *settings = NULL;
	struct hfkv_error error;
	assert_int_equal(hfkv_settings_new(&settings, &error), HFKV_OK);
	assert_int_equal(hfkv_settings_set(settings, NULL, "remote_storage_plugins", "hfkv_fs.x", &error),
			 HFKV_OK);
	assert_int_equal(
	    hfkv_settings_set(settings, "extra_config", "remote_storage_plugin.hfkv_fs.x.base_path", "/p", &error),
	    HFKV_OK);
	assert_int_equal(hfkv_settings_set(settings, "extra_config", "save_chunk_meta", "false", &error), HFKV_OK);
	assert_int_equal(hfkv_settings_set(settings, "other", "a", "b", &error), HFKV_INVALID);
	assert_int_equal(hfkv_settings_set(settings, NULL, "extra_config", "{}", &error), HFKV_INVALID);
	assert_string_equal(hfkv_settings_plugin_name(settings, 0), "hfkv_fs.x");
	assert_null(hfkv_settings_plugin_name(settings, 1));
	assert_int_equal(hfkv_settings_is_l2(settings), 0);
	struct connector_config config = { 0 };
	assert_int_equal(connector_config_read(settings, &no_options, &config, NULL), HFKV_OK);
	assert_string_equal(config.base_paths[0], "/p");
	assert_false(config.save_chunk_meta);
	connector_config_done(&config);
	hfkv_settings_free(settings);
}

static void what_the_host_knows_wins(void **state)
{
	(void)state;
	struct hfkv_open_options options = HFKV_OPEN_OPTIONS_INIT;
	options.chunk_bytes = 777;
	options.token_env = "ELSE";
	options.timeout_ms = 1234;
	struct connector_config config =
	    taken_with(HFKV_SETTINGS_YAML, BUCKET_BASE "  chunk_table: /t\n", &options);
	assert_int_equal(config.chunk_bytes, 777);
	assert_null(config.chunk_table);
	assert_string_equal(config.token_env, "ELSE");
	assert_int_equal(config.timeout_ms, 1234);
	assert_int_equal(config.read_timeout_ms, 1234);
	connector_config_done(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fs_has_the_defaults_of_lmcache),
		cmocka_unit_test(fs_takes_every_key),
		cmocka_unit_test(base_path_has_its_precedence),
		cmocka_unit_test(the_longest_matching_instance_owns_a_key),
		cmocka_unit_test(unknown_keys_of_ours_are_named_with_the_nearest),
		cmocka_unit_test(fs_refuses_what_does_not_go_with_full_chunks),
		cmocka_unit_test(fs_refuses_bad_values_by_name),
		cmocka_unit_test(o_direct_goes_off_with_a_metadata_header),
		cmocka_unit_test(bucket_has_its_defaults),
		cmocka_unit_test(bucket_takes_every_key),
		cmocka_unit_test(bucket_refuses_bad_values_by_name),
		cmocka_unit_test(empty_tokens_are_none_and_outer_space_goes),
		cmocka_unit_test(a_token_is_in_no_error),
		cmocka_unit_test(a_misplaced_token_is_in_no_error),
		cmocka_unit_test(l2_bucket_takes_the_documented_json),
		cmocka_unit_test(l2_has_its_defaults),
		cmocka_unit_test(l2_finds_the_backend_of_a_plugin),
		cmocka_unit_test(l2_refuses_wrong_types_and_ranges_by_name),
		cmocka_unit_test(policies_of_lmcaches_controller_pass_inside_it),
		cmocka_unit_test(a_token_that_lmcache_would_log_is_refused),
		cmocka_unit_test(l2_warns_of_unknown_keys),
		cmocka_unit_test(settings_can_be_put_together_key_by_key),
		cmocka_unit_test(what_the_host_knows_wins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
