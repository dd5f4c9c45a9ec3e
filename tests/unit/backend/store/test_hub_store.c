/* The store on a bucket that is missing, is something else, or renames badly: against a Hub that is played here.
 */
#include "tests/unit/cmocka_prelude.h"

#include "backend/store/store_open.h"
#include "common/cleanup.h"
#include "tests/unit/backend/http/loopback_server.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY_HASH "0000000000000000000000000000000000000000000000000000000000000000"

struct played_hub {
	pthread_mutex_t mutex;
	bool bucket_exists, is_model, may_not_create;
	bool refuse_copies; /* a batch applies its deletes and refuses its copies */
	char name[64];      /* the one (empty) object there is; "": none */
	unsigned creations;
};

static bool answer_batch(struct loopback_exchange *exchange, struct played_hub *hub)
{
	const char *body = (const char *)exchange->body;
	bool copies = strstr(body, "copyFile") != NULL;
	if (strstr(body, "deleteFile"))
		hub->name[0] = '\0';
	if (copies && hub->refuse_copies)
		return loopback_answer(
		    exchange, "200 OK", "",
		    "{\"success\":false,\"failed\":[{\"path\":\"to\",\"error\":\"no copies\"}]}");
	const char *path = strstr(body, "\"path\":\"") + 8;
	if (copies || strstr(body, "addFile"))
		snprintf(hub->name, sizeof(hub->name), "%.*s", (int)strcspn(path, "\""), path);
	return loopback_answer(exchange, "200 OK", "", "{\"success\":true,\"failed\":[]}");
}

static bool answer_bucket_route(struct loopback_exchange *exchange, struct played_hub *hub)
{
	char entry[256] = "[]";
	if (strstr(exchange->target, "/batch"))
		return answer_batch(exchange, hub);
	if (strstr(exchange->target, "/xet-write-token")) {
		char access[256];
		snprintf(access, sizeof(access), "{\"accessToken\":\"t\",\"exp\":%lld,\"casUrl\":\"%s\"}",
			 (long long)clock_wall_ms() / 1000 + 3600, loopback_server_url(exchange->server, ""));
		return loopback_answer(exchange, "200 OK", "", access);
	}
	if (!strstr(exchange->target, "/paths-info"))
		return loopback_answer(exchange, "200 OK", "", "{\"id\":\"o/b\"}");
	if (hub->name[0])
		snprintf(entry, sizeof(entry),
			 "[{\"type\":\"file\",\"path\":\"%s\",\"size\":0,\"xetHash\":\"%s\"}]", hub->name,
			 EMPTY_HASH);
	return loopback_answer(exchange, "200 OK", "", entry);
}

static bool play_hub(struct loopback_exchange *exchange, void *context)
{
	struct played_hub *hub = context;
	SCOPED_LOCK(&hub->mutex);
	if (strcmp(exchange->method, "POST") == 0 && strcmp(exchange->target, "/api/buckets/o/b") == 0) {
		hub->creations++;
		if (hub->may_not_create)
			return loopback_answer(exchange, "403 Forbidden", "", "{\"error\":\"read-only token\"}");
		hub->bucket_exists = true;
		return loopback_answer(exchange, "200 OK", "", "{\"url\":\"x\"}");
	}
	if (hub->is_model && strcmp(exchange->target, "/api/models/o/b") == 0)
		return loopback_answer(exchange, "200 OK", "", "{}");
	if (strcmp(exchange->target, "/v2/shards") == 0)
		return loopback_answer(exchange, "200 OK", "", "{\"type\":\"result\"}\n");
	if (!hub->bucket_exists || strncmp(exchange->target, "/api/buckets/", 13) != 0)
		return loopback_answer(exchange, "404 Not Found", "X-Error-Code: RepoNotFound\r\n", "");
	return answer_bucket_route(exchange, hub);
}

struct store_world {
	struct played_hub hub;
	struct loopback_server *server;
	struct object_store *store;
	struct fault fault;
};

static void world_begin(struct store_world *world, bool create_bucket_if_missing)
{
	setenv("HF_TOKEN", "hf_test", 1);
	memset(world, 0, sizeof(*world));
	world->fault = FAULT_NONE;
	pthread_mutex_init(&world->hub.mutex, NULL);
	world->server = loopback_server_start(play_hub, &world->hub);
	struct store_settings settings = { .endpoint = loopback_server_url(world->server, ""),
					   .bucket = "o/b",
					   .create_bucket_if_missing = create_bucket_if_missing };
	assert_int_equal(store_open_hub(&settings, &world->store, NULL), HFKV_OK);
}

static void world_end(struct store_world *world)
{
	object_store_free(world->store);
	loopback_server_stop(world->server);
}

static struct deadline soon(void)
{
	return deadline_after_ms(20000);
}

static enum hfkv_status put_empty(struct store_world *world, const char *path)
{
	struct object_put put = { .path = path, .source.fd = -1 };
	return object_store_put_many(world->store, &put, 1, NULL, NULL, soon(), &world->fault);
}

static enum hfkv_status visit_nothing(void *context, const struct object_list_entry *entry)
{
	(void)context, (void)entry;
	return HFKV_BUG;
}

static void test_missing_bucket(void **state)
{
	(void)state;
	struct store_world world;
	struct object_stat stat = { .path = "k" };
	world_begin(&world, false);
	assert_int_equal(object_store_probe(world.store, soon(), &world.fault), HFKV_NOT_FOUND);
	assert_non_null(strstr(world.fault.text, "create_bucket_if_missing"));
	assert_int_equal(object_store_stat_many(world.store, &stat, 1, soon(), NULL), HFKV_UNAVAILABLE);
	assert_int_equal(stat.status, HFKV_UNAVAILABLE); /* no absence from anything but a good answer */
	assert_int_equal(object_store_list(world.store, "", true, visit_nothing, NULL, soon(), NULL),
			 HFKV_NOT_FOUND);
	assert_int_equal(put_empty(&world, "k"), HFKV_NOT_FOUND);
	assert_int_equal(world.hub.creations, 0);
	world_end(&world);
}

/* Reads find nothing; the first write creates; a creation that failed is tried again by a later write. */
static void test_bucket_is_created_lazily(void **state)
{
	(void)state;
	struct store_world world;
	struct object_stat stat = { .path = "k" };
	world_begin(&world, true);
	assert_int_equal(object_store_probe(world.store, soon(), NULL), HFKV_OK);
	assert_int_equal(object_store_stat_many(world.store, &stat, 1, soon(), NULL), HFKV_OK);
	assert_int_equal(stat.status, HFKV_NOT_FOUND);
	assert_int_equal(object_store_list(world.store, "", true, visit_nothing, NULL, soon(), NULL), HFKV_OK);
	assert_int_equal(world.hub.creations, 0);
	world.hub.may_not_create = true;
	assert_int_equal(put_empty(&world, "k"), HFKV_FORBIDDEN);
	assert_non_null(strstr(world.fault.text, "cures no bad credentials"));
	assert_non_null(strstr(world.fault.text, "read-only token"));
	world.hub.may_not_create = false;
	assert_int_equal(put_empty(&world, "k"), HFKV_OK);
	assert_int_equal(world.hub.creations, 2);
	assert_int_equal(object_store_stat_many(world.store, &stat, 1, soon(), NULL), HFKV_OK);
	assert_int_equal(stat.status, HFKV_OK);
	world_end(&world);
}

static void test_repository_is_no_bucket(void **state)
{
	(void)state;
	struct store_world world;
	world_begin(&world, false);
	world.hub.is_model = true;
	assert_int_equal(object_store_probe(world.store, soon(), &world.fault), HFKV_INVALID);
	assert_non_null(strstr(world.fault.text, "model repository"));
	world_end(&world);
}

static void test_rename(void **state)
{
	(void)state;
	struct store_world world;
	struct object_info info = { 0 };
	world_begin(&world, false);
	world.hub.bucket_exists = true;
	strcpy(world.hub.name, "from");
	assert_int_equal(object_store_rename(world.store, "from", &info, "to", soon(), NULL), HFKV_OK);
	assert_string_equal(world.hub.name, "to");
	/* The copy is refused and the delete was done: the old name comes back. */
	strcpy(world.hub.name, "from");
	world.hub.refuse_copies = true;
	assert_int_equal(object_store_rename(world.store, "from", &info, "to", soon(), &world.fault),
			 HFKV_UNAVAILABLE);
	assert_non_null(strstr(world.fault.text, "no copies"));
	assert_string_equal(world.hub.name, "from");
	world_end(&world);
}

static void test_settings(void **state)
{
	(void)state;
	struct object_store *store;
	struct fault fault = FAULT_NONE;
	struct store_settings settings[] = { { .bucket = "nobucket" },
					     { .bucket = "a/b", .endpoint = "ftp://h" },
					     { .bucket = "a/b", .ca_file = "/nonexistent" } };
	for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
		assert_int_equal(store_open_hub(&settings[i], &store, &fault), HFKV_INVALID);
	assert_int_equal(store_open_memory(&store, NULL), HFKV_OK);
	assert_int_equal(store_reload_token(store, NULL), HFKV_INVALID);
	object_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_bucket),
		cmocka_unit_test(test_bucket_is_created_lazily),
		cmocka_unit_test(test_repository_is_no_bucket),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_settings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
