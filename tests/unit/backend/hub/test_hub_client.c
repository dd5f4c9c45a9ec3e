/* The Hub's endpoints against a scripted server: what is sent, what is made of answers good and bad. */
#include "tests/unit/backend/http/http_world.h"

#include "backend/hub/hub_batch.h"
#include "backend/hub/hub_bucket.h"
#include "backend/hub/hub_paths_info.h"
#include "backend/hub/hub_tree.h"
#include "backend/hub/hub_xet_access.h"

#include <string.h>

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* One answer for every request; the last request is kept. */
struct script {
	const char *status_line, *fields, *body;
	const char *later_body; /* from the second request on; NULL: body */
	char target[2048], method[16], authorization[64];
	char sent[4096];
};

static bool answer_by_script(struct loopback_exchange *exchange, void *context)
{
	struct script *script = context;
	snprintf(script->target, sizeof(script->target), "%s", exchange->target);
	snprintf(script->method, sizeof(script->method), "%s", exchange->method);
	script->authorization[0] = '\0';
	loopback_field(exchange, "Authorization", script->authorization, sizeof(script->authorization));
	size_t length =
	    exchange->body_length < sizeof(script->sent) - 1 ? exchange->body_length : sizeof(script->sent) - 1;
	memcpy(script->sent, exchange->body, length);
	script->sent[length] = '\0';
	bool later = exchange->number > 0 && script->later_body;
	return loopback_answer(exchange, script->status_line, later ? "" : script->fields,
			       later ? script->later_body : script->body);
}

struct hub_world {
	struct http_world http;
	struct script script;
	struct hub_auth *auth;
	struct hub_client *hub;
	struct fault fault;
};

static void hub_begin(struct hub_world *world, const char *status_line, const char *body)
{
	setenv("HF_TOKEN", "hf_test", 1);
	memset(world, 0, sizeof(*world));
	world->fault = FAULT_NONE;
	world->script = (struct script){ .status_line = status_line, .fields = "", .body = body };
	http_world_begin(&world->http, answer_by_script, &world->script);
	assert_int_equal(hub_auth_new(&(struct hub_auth_places){ 0 }, &world->auth, NULL), HFKV_OK);
	struct hub_client_settings settings = { world->http.client, world->auth,
						loopback_server_url(world->http.server, "/base/"),
						"org/my bucket" };
	assert_int_equal(hub_client_new(&settings, &world->hub, NULL), HFKV_OK);
}

static void hub_end(struct hub_world *world)
{
	hub_client_free(world->hub);
	hub_auth_free(world->auth);
	http_world_end(&world->http);
}

static struct deadline soon(void)
{
	return deadline_after_ms(20000);
}

/* ---- paths-info ---- */

static void test_paths_info_matches_by_path(void **state)
{
	(void)state;
	struct hub_world world;
	hub_begin(&world, "200 OK",
		  "[{\"type\":\"file\",\"path\":\"b\",\"size\":7,\"xetHash\":\"" HASH
		  "\",\"mtime\":\"2026-01-31T23:59:59.123Z\"},"
		  "{\"type\":\"file\",\"path\":\"not asked\",\"size\":1,\"xetHash\":\"" HASH "\"},"
		  "{\"type\":\"directory\",\"path\":\"c\"}, {\"path\":\"d\"},"
		  "{\"type\":\"file\",\"path\":\"a%2F\\u00e9\",\"size\":0}]");
	struct hub_path_info infos[] = {
		{ .path = "a%2F\xc3\xa9" }, { .path = "b" }, { .path = "c" }, { .path = "d" }, { .path = "b" }
	};
	assert_int_equal(hub_paths_info_get(world.hub, infos, 5, soon(), &world.fault), HFKV_OK);
	assert_string_equal(world.script.method, "POST");
	assert_string_equal(world.script.target, "/base/api/buckets/org/my%20bucket/paths-info");
	assert_string_equal(world.script.authorization, "Bearer hf_test");
	assert_true(infos[0].found && infos[0].entry.size_bytes == 0);
	assert_true(infos[1].found && infos[1].entry.size_bytes == 7);
	assert_int_equal(infos[1].entry.modified_at_ms, 1769903999123);
	assert_false(infos[2].found || infos[2].senseless);
	assert_true(!infos[3].found && infos[3].senseless);
	assert_true(infos[4].found && infos[4].answered);
	hub_end(&world);
}

static void test_paths_info_failures_answer_nothing(void **state)
{
	(void)state;
	const struct {
		const char *line, *body;
		enum hfkv_status status;
	} cases[] = { { "401 Unauthorized", "{\"error\":\"Invalid\"}", HFKV_AUTH },
		      { "404 Not Found", "", HFKV_NOT_FOUND },
		      { "400 Bad", "[]", HFKV_UNAVAILABLE },
		      { "416 Bad", "[]", HFKV_UNAVAILABLE },
		      { "409 Conflict", "[]", HFKV_UNAVAILABLE } };
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct hub_world world;
		hub_begin(&world, cases[i].line, cases[i].body);
		struct hub_path_info info = { .path = "a" };
		assert_int_equal(hub_paths_info_get(world.hub, &info, 1, soon(), &world.fault), cases[i].status);
		assert_false(info.answered);
		if (cases[i].status == HFKV_AUTH)
			assert_non_null(strstr(world.fault.text, "the variable HF_TOKEN"));
		hub_end(&world);
	}
}

/* A cut or mangled answer is asked for again. */
static void test_mangled_json_is_asked_again(void **state)
{
	(void)state;
	const char *const mangled[] = { "[{\"type\":\"file\",\"pa", "{}", "", "<html>", "[5]", "[null]", "[[[]]]", "[{\"path\":5}]" };
	for (size_t i = 0; i < ARRAY_LENGTH(mangled); i++) {
		struct hub_world world;
		hub_begin(&world, "200 OK", mangled[i]);
		world.script.later_body = "[]";
		struct hub_path_info info = { .path = "a" };
		assert_int_equal(hub_paths_info_get(world.hub, &info, 1, soon(), &world.fault), HFKV_OK);
		assert_true(info.answered && !info.found);
		assert_int_equal(loopback_server_requests(world.http.server), 2);
		hub_end(&world);
	}
}

static bool answer_nothing_found(struct loopback_exchange *exchange, void *context)
{
	atomic_uint *longest = context;
	unsigned commas = 0;
	for (size_t i = 0; i < exchange->body_length; i++)
		commas += exchange->body[i] == ',';
	if (commas + 1 > atomic_load(longest))
		atomic_store(longest, commas + 1);
	return loopback_answer(exchange, "200 OK", "", "[]");
}

static void test_paths_info_is_split(void **state)
{
	(void)state;
	struct hub_world world;
	hub_begin(&world, "200 OK", "[]");
	hub_client_free(world.hub);
	atomic_uint longest = 0;
	struct loopback_server *server = loopback_server_start(answer_nothing_found, &longest);
	struct hub_client_settings settings = { world.http.client, world.auth, loopback_server_url(server, ""),
						"o/b" };
	assert_int_equal(hub_client_new(&settings, &world.hub, NULL), HFKV_OK);
	static struct hub_path_info infos[5001];
	for (size_t i = 0; i < 5001; i++)
		infos[i].path = "p";
	assert_int_equal(hub_paths_info_get(world.hub, infos, 5001, soon(), NULL), HFKV_OK);
	assert_int_equal(loopback_server_requests(server), 6);
	assert_int_equal(atomic_load(&longest), 1000);
	hub_end(&world);
	loopback_server_stop(server);
}

/* ---- tree ---- */

static enum hfkv_status join_paths(void *context, const struct hub_entry *entry)
{
	struct byte_buf *names = context;
	return byte_buf_printf(names, "%s%s|", entry->path, entry->is_directory ? "/" : "") ? HFKV_OK
											    : HFKV_NO_MEMORY;
}

#define FILE_ENTRY(path) "{\"type\":\"file\",\"path\":\"" path "\",\"size\":1,\"xetHash\":\"" HASH "\"}"

static void test_tree_pages_and_filter(void **state)
{
	(void)state;
	struct hub_world world;
	char link[256];
	struct byte_buf names = BYTE_BUF_INIT(1000);
	hub_begin(
	    &world, "200 OK",
	    "[" FILE_ENTRY("a b/1") "," FILE_ENTRY("a b.json") "," FILE_ENTRY("a b") ", {\"type\":\"file\",\"path\":\"a b/no size\"}]");
	snprintf(link, sizeof(link), "Link: <%s>; rel=\"next\"\r\n",
		 loopback_server_url(world.http.server, "/base/next?cursor=%2Fx"));
	world.script.fields = link;
	world.script.later_body = "[{\"type\":\"directory\",\"path\":\"a b/d\"}," FILE_ENTRY("a b/d/deep") "]";
	assert_int_equal(hub_tree_list(world.hub, "a b", false, join_paths, &names, soon(), NULL), HFKV_OK);
	assert_string_equal(byte_buf_text(&names), "a b/1|a b/d/|");
	assert_string_equal(world.script.target, "/base/next?cursor=%2Fx");
	byte_buf_clear(&names);
	world.script.fields = "";
	assert_int_equal(hub_tree_list(world.hub, "a b", true, join_paths, &names, soon(), NULL), HFKV_OK);
	assert_string_equal(world.script.target,
			    "/base/api/buckets/org/my%20bucket/tree/a%20b?recursive=true&limit=5000");
	assert_string_equal(byte_buf_text(&names), "a b/d/deep|");
	byte_buf_done(&names);
	hub_end(&world);
}

static void test_tree_refuses_odd_links(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hub_world world;
		char link[256];
		struct byte_buf names = BYTE_BUF_INIT(100000);
		hub_begin(&world, "200 OK", "[" FILE_ENTRY("x") "]");
		snprintf(link, sizeof(link), "Link: <%s>; rel=\"next\"\r\n",
			 i == 0 ? "http://127.0.0.1:9/elsewhere"
				: loopback_server_url(world.http.server, "/base/circle"));
		world.script.fields = link;
		assert_int_equal(hub_tree_list(world.hub, "", true, join_paths, &names, soon(), NULL),
				 HFKV_CORRUPT);
		byte_buf_done(&names);
		hub_end(&world);
	}
}

/* ---- batch ---- */

static void test_batch_lines_and_outcomes(void **state)
{
	(void)state;
	const struct {
		const char *line, *body;
		enum hfkv_status status;
		enum hub_batch_outcome first, second;
	} cases[] = {
		{ "200 OK", "{\"success\":true,\"processed\":2,\"succeeded\":2,\"failed\":[]}", HFKV_OK,
		  HUB_BATCH_APPLIED, HUB_BATCH_APPLIED },
		{ "200 OK", "{\"success\":false,\"failed\":[{\"path\":\"q\\\"d\",\"error\":\"no\"}]}", HFKV_OK,
		  HUB_BATCH_APPLIED, HUB_BATCH_REFUSED },
		{ "422 Unprocessable",
		  "{\"success\":false,\"failed\":[{\"path\":\"q\\\"d\",\"error\":\"no\"},{\"path\":\"a\","
		  "\"error\":\"x\"}]}",
		  HFKV_OK, HUB_BATCH_REFUSED, HUB_BATCH_REFUSED },
		{ "422 Unprocessable", "{}", HFKV_INVALID, HUB_BATCH_UNKNOWN, HUB_BATCH_UNKNOWN },
		{ "200 OK", "{\"success\":false}", HFKV_UNAVAILABLE, HUB_BATCH_UNKNOWN, HUB_BATCH_UNKNOWN },
		{ "200 OK", "oops", HFKV_UNAVAILABLE, HUB_BATCH_UNKNOWN, HUB_BATCH_UNKNOWN },
		{ "500 No", "{\"success\":true}", HFKV_UNAVAILABLE, HUB_BATCH_UNKNOWN, HUB_BATCH_UNKNOWN },
		{ "413 Full", "", HFKV_QUOTA, HUB_BATCH_UNKNOWN, HUB_BATCH_UNKNOWN },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct hub_world world;
		hub_begin(&world, cases[i].line, cases[i].body);
		struct hub_batch_line lines[] = { { .kind = HUB_BATCH_ADD, .path = "a", .modified_at_ms = 5 },
						  { .kind = HUB_BATCH_DELETE, .path = "q\"d" } };
		assert_int_equal(hub_batch_commit(world.hub, lines, 2, soon(), &world.fault), cases[i].status);
		assert_int_equal(lines[0].outcome, cases[i].first);
		assert_int_equal(lines[1].outcome, cases[i].second);
		assert_int_equal(loopback_server_requests(world.http.server), 1); /* never sent again by itself */
		assert_string_equal(
		    world.script.sent,
		    "{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":"
		    "\"0000000000000000000000000000000000000000000000000000000000000000\",\"mtime\":5}\n"
		    "{\"type\":\"deleteFile\",\"path\":\"q\\\"d\"}\n");
		hub_end(&world);
	}
}

/* ---- buckets and access ---- */

static void test_bucket_calls(void **state)
{
	(void)state;
	struct hub_world world;
	struct hub_bucket_info info;
	hub_begin(&world, "409 Conflict", "{\"url\":\"x\"}");
	assert_int_equal(hub_bucket_create(world.hub, soon(), NULL), HFKV_OK);
	assert_string_equal(world.script.sent, "{\"visibility\":\"private\"}");
	hub_end(&world);

	hub_begin(&world, "200 OK",
		  "{\"id\":\"org/"
		  "b\",\"private\":true,\"size\":9,\"totalFiles\":2,\"updatedAt\":\"2026-01-01T00:00:00+01:00\"}");
	assert_int_equal(hub_bucket_get_info(world.hub, soon(), &info, NULL), HFKV_OK);
	assert_true(info.is_private && info.size_bytes == 9 && info.file_count == 2);
	assert_int_equal(info.updated_at_ms, 1767222000000);
	assert_string_equal(hub_bucket_other_kind(world.hub, soon()), "model");
	assert_string_equal(world.script.target, "/base/api/models/org/my%20bucket");
	hub_end(&world);
}

static enum hfkv_status join_buckets(void *context, const struct hub_bucket_info *info)
{
	return byte_buf_printf(context, "%s|", info->id) ? HFKV_OK : HFKV_NO_MEMORY;
}

static void test_bucket_list(void **state)
{
	(void)state;
	struct hub_world world;
	char link[256];
	struct byte_buf names = BYTE_BUF_INIT(1000);
	hub_begin(&world, "200 OK", "[{\"id\":\"org/a\"},{\"noid\":1}]");
	snprintf(link, sizeof(link), "Link: <%s>; rel=\"next\"\r\n",
		 loopback_server_url(world.http.server, "/base/p2"));
	world.script.fields = link;
	world.script.later_body = "[{\"id\":\"org/b\"}]";
	assert_int_equal(hub_bucket_list(world.hub, join_buckets, &names, soon(), NULL), HFKV_OK);
	assert_string_equal(byte_buf_text(&names), "org/a|org/b|");
	assert_int_equal(loopback_server_requests(world.http.server), 2);
	world.script.later_body = "{}";
	assert_int_equal(hub_bucket_list(world.hub, join_buckets, &names, soon(), NULL), HFKV_CORRUPT);
	byte_buf_done(&names);
	hub_end(&world);
}

static void test_xet_access(void **state)
{
	(void)state;
	const char *const bad[] = { "{}", "[]", "{\"accessToken\":\"\",\"exp\":1,\"casUrl\":\"u\"}",
				    "{\"accessToken\":\"t\",\"exp\":\"1\",\"casUrl\":\"u\"}" };
	struct hub_world world;
	struct hub_xet_access access;
	hub_begin(&world, "200 OK",
		  "{\"accessToken\":\"xet-secret\",\"exp\":1234567890,\"casUrl\":\"http://127.0.0.1:1\"}");
	assert_int_equal(hub_xet_access_get(world.hub, true, soon(), &access, NULL), HFKV_OK);
	assert_string_equal(access.cas_url, "http://127.0.0.1:1");
	assert_string_equal(secret_reveal(access.token), "xet-secret");
	assert_int_equal(access.expires_at_s, 1234567890);
	free(access.cas_url);
	secret_unref(access.token);
	hub_end(&world);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		hub_begin(&world, "200 OK", bad[i]);
		assert_int_equal(hub_xet_access_get(world.hub, false, soon(), &access, &world.fault),
				 HFKV_CORRUPT);
		hub_end(&world);
	}
}

static void test_settings(void **state)
{
	(void)state;
	const char *const bad_buckets[] = { "b", "a/b/c", "/b", "a/", "" };
	const char *const bad_endpoints[] = { "ftp://h", "h", "http://h/?q", "https://u:p@h", "http://h x" };
	struct hub_client *hub = NULL;
	struct fault fault = FAULT_NONE;
	for (size_t i = 0; i < ARRAY_LENGTH(bad_buckets); i++) {
		struct hub_client_settings settings = { .endpoint = "http://localhost", .bucket = bad_buckets[i] };
		assert_int_equal(hub_client_new(&settings, &hub, &fault), HFKV_INVALID);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(bad_endpoints); i++) {
		struct hub_client_settings settings = { .endpoint = bad_endpoints[i], .bucket = "a/b" };
		assert_int_equal(hub_client_new(&settings, &hub, &fault), HFKV_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_info_matches_by_path),
		cmocka_unit_test(test_paths_info_failures_answer_nothing),
		cmocka_unit_test(test_mangled_json_is_asked_again),
		cmocka_unit_test(test_paths_info_is_split),
		cmocka_unit_test(test_tree_pages_and_filter),
		cmocka_unit_test(test_tree_refuses_odd_links),
		cmocka_unit_test(test_batch_lines_and_outcomes),
		cmocka_unit_test(test_bucket_calls),
		cmocka_unit_test(test_bucket_list),
		cmocka_unit_test(test_xet_access),
		cmocka_unit_test(test_settings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
