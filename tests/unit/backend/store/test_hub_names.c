/* What becomes of a batch that fails in every way, against a Hub of names that is played here. */
#include "tests/unit/backend/http/http_world.h"

#include "backend/store/hub_names.h"

#include <jansson.h>
#include <string.h>

#define NAMES_MAX 16

/* A Hub that knows names and misbehaves on batch calls. */
struct played_hub {
	pthread_mutex_t mutex;
	char names[NAMES_MAX][32]; /* "" : none */
	char hashes[NAMES_MAX][65];

	unsigned fail_times;     /* so many batch calls fail; then all is well */
	unsigned apply_first;    /* lines applied before a failing call ends */
	const char *fail_answer; /* its status line; NULL: the connection is cut */
	const char *fail_fields;
	const char *refuse; /* a name the Hub refuses in its list; NULL: none */
	bool bucket_missing;
	unsigned batches, questions;
};

static size_t find(struct played_hub *hub, const char *name)
{
	for (size_t i = 0; i < NAMES_MAX; i++)
		if (strcmp(hub->names[i], name) == 0)
			return i;
	return NAMES_MAX;
}

static void apply_line(struct played_hub *hub, const json_t *line)
{
	const char *path = json_string_value(json_object_get(line, "path"));
	size_t at = find(hub, path);
	if (strcmp(json_string_value(json_object_get(line, "type")), "deleteFile") == 0) {
		if (at < NAMES_MAX)
			hub->names[at][0] = '\0';
		return;
	}
	if (at == NAMES_MAX)
		at = find(hub, "");
	snprintf(hub->names[at], sizeof(hub->names[at]), "%s", path);
	snprintf(hub->hashes[at], sizeof(hub->hashes[at]), "%s",
		 json_string_value(json_object_get(line, "xetHash")));
}

static unsigned apply_lines(struct played_hub *hub, char *body, unsigned limit)
{
	unsigned applied = 0;
	for (char *rest = NULL, *text = strtok_r(body, "\n", &rest); text && applied < limit;
	     text = strtok_r(NULL, "\n", &rest)) {
		json_auto_t *line = json_loads(text, 0, NULL);
		const char *path = json_string_value(json_object_get(line, "path"));
		if (hub->refuse && strcmp(path, hub->refuse) == 0)
			continue;
		apply_line(hub, line);
		applied++;
	}
	return applied;
}

static bool answer_batch(struct loopback_exchange *exchange, struct played_hub *hub)
{
	hub->batches++;
	if (hub->bucket_missing)
		return loopback_answer(exchange, "404 Not Found", "X-Error-Code: RepoNotFound\r\n", "");
	if (hub->fail_times > 0) {
		hub->fail_times--;
		apply_lines(hub, (char *)exchange->body, hub->apply_first);
		return hub->fail_answer &&
		       loopback_answer(exchange, hub->fail_answer, hub->fail_fields ? hub->fail_fields : "", "");
	}
	apply_lines(hub, (char *)exchange->body, NAMES_MAX);
	char body[256] = "{\"success\":true,\"failed\":[]}";
	if (hub->refuse)
		snprintf(body, sizeof(body),
			 "{\"success\":false,\"failed\":[{\"path\":\"%s\",\"error\":\"not wanted\"}]}",
			 hub->refuse);
	return loopback_answer(exchange, "200 OK", "", body);
}

static bool answer_question(struct loopback_exchange *exchange, struct played_hub *hub)
{
	hub->questions++;
	json_auto_t *answer = json_array();
	for (size_t i = 0; i < NAMES_MAX; i++)
		if (hub->names[i][0])
			json_array_append_new(answer,
					      json_pack("{s:s,s:s,s:i,s:s}", "type", "file", "path", hub->names[i],
							"size", 5, "xetHash", hub->hashes[i]));
	char *text = json_dumps(answer, 0);
	bool fine = loopback_answer(exchange, "200 OK", "", text);
	free(text);
	return fine;
}

static bool play_hub(struct loopback_exchange *exchange, void *context)
{
	struct played_hub *hub = context;
	SCOPED_LOCK(&hub->mutex);
	return strstr(exchange->target, "/batch") ? answer_batch(exchange, hub) : answer_question(exchange, hub);
}

struct names_world {
	struct http_world http;
	struct hub_auth *auth;
	struct hub_names names;
	struct hub_name_change changes[8];
	struct fault fault;
};

static enum hfkv_status make_bucket(void *context, struct deadline deadline, struct fault *fault)
{
	struct played_hub *hub = context;
	(void)deadline;
	if (!hub->refuse) {
		hub->bucket_missing = false;
		return HFKV_OK;
	}
	return fault_set(fault, HFKV_FORBIDDEN, "may not");
}

static void names_begin(struct names_world *world, struct played_hub *hub)
{
	*world = (struct names_world){ .fault = FAULT_NONE };
	pthread_mutex_init(&hub->mutex, NULL);
	http_world_begin(&world->http, play_hub, hub);
	assert_int_equal(hub_auth_new(&(struct hub_auth_places){ 0 }, &world->auth, NULL), HFKV_OK);
	struct hub_client_settings settings = { world->http.client, world->auth,
						loopback_server_url(world->http.server, ""), "o/b" };
	assert_int_equal(hub_client_new(&settings, &world->names.hub, NULL), HFKV_OK);
	world->names.on_missing_bucket = make_bucket;
	world->names.context = hub;
	static const char *const paths[] = { "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" };
	for (size_t i = 0; i < 8; i++) {
		world->changes[i] =
		    (struct hub_name_change){ .kind = HUB_BATCH_ADD, .path = paths[i], .size_bytes = 5 };
		memset(world->changes[i].hash.bytes, (int)i + 1, 32);
	}
}

static void names_end(struct names_world *world)
{
	hub_client_free(world->names.hub);
	hub_auth_free(world->auth);
	http_world_end(&world->http);
}

static enum hfkv_status change_all(struct names_world *world)
{
	return hub_names_change(&world->names, world->changes, 8, deadline_after_ms(20000), &world->fault);
}

static size_t count_ok(const struct names_world *world)
{
	size_t count = 0;
	for (size_t i = 0; i < 8; i++)
		count += world->changes[i].status == HFKV_OK;
	return count;
}

/* 3 of 8 landed, then 500. */
static void test_half_applied(void **state)
{
	(void)state;
	struct played_hub hub = { .fail_times = 1, .apply_first = 3, .fail_answer = "500 Oops" };
	struct names_world world;
	names_begin(&world, &hub);
	assert_int_equal(change_all(&world), HFKV_UNAVAILABLE);
	assert_int_equal(count_ok(&world), 3);
	assert_int_equal(world.changes[3].fault.http_status, 500);
	assert_int_equal(hub.batches, 1);
	assert_int_equal(hub.questions, 1);
	names_end(&world);
}

/* Second form: everything landed and the answer was lost. */
static void test_lost_answer(void **state)
{
	(void)state;
	struct played_hub hub = { .fail_times = 1, .apply_first = 8 };
	struct names_world world;
	names_begin(&world, &hub);
	assert_int_equal(change_all(&world), HFKV_OK);
	assert_int_equal(count_ok(&world), 8);
	assert_int_equal(hub.batches, 1);
	names_end(&world);
}

/* Nothing landed: it is sent again. */
static void test_nothing_applied(void **state)
{
	(void)state;
	const char *const answers[] = { "503 No", "429 Slow", NULL };
	for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
		struct played_hub hub = { .fail_times = 2, .fail_answer = answers[i] };
		struct names_world world;
		names_begin(&world, &hub);
		assert_int_equal(change_all(&world), HFKV_OK);
		assert_int_equal(count_ok(&world), 8);
		assert_true(hub.batches >= 3);
		names_end(&world);
	}
}

/* An answer that never comes leaves time to ask. */
static void test_deadline_leaves_time_to_ask(void **state)
{
	(void)state;
	struct played_hub hub = { .fail_times = 1000,
				  .fail_answer = "429 Slow",
				  .fail_fields = "RateLimit: \"api\";r=0;t=100\r\n" };
	struct names_world world;
	names_begin(&world, &hub);
	assert_int_equal(change_all(&world), HFKV_RATE_LIMITED);
	assert_int_equal(count_ok(&world), 0);
	assert_int_equal(world.changes[7].fault.retry_after_ms, 100000);
	assert_int_equal(hub.questions, 0); /* a 429 was not applied */
	names_end(&world);
}

static void test_refused_line(void **state)
{
	(void)state;
	struct played_hub hub = { .refuse = "n4" };
	struct names_world world;
	names_begin(&world, &hub);
	assert_int_equal(change_all(&world), HFKV_UNAVAILABLE);
	assert_int_equal(count_ok(&world), 7);
	assert_non_null(strstr(world.changes[4].fault.text, "not wanted"));
	for (size_t i = 0; i < 8; i++)
		world.changes[i].kind = HUB_BATCH_DELETE;
	assert_int_equal(change_all(&world), HFKV_OK); /* n4 is not there: refusing to delete it is no failure */
	names_end(&world);
}

static void test_missing_bucket(void **state)
{
	(void)state;
	struct played_hub hub = { .bucket_missing = true };
	struct names_world world;
	names_begin(&world, &hub);
	assert_int_equal(change_all(&world), HFKV_OK);
	hub.bucket_missing = true;
	hub.refuse = "x";
	assert_int_equal(change_all(&world), HFKV_FORBIDDEN);
	assert_string_equal(world.fault.text, "may not");
	assert_int_equal(count_ok(&world), 0);
	names_end(&world);
}

static void test_check(void **state)
{
	(void)state;
	struct played_hub hub = { .fail_times = 0 };
	struct names_world world;
	names_begin(&world, &hub);
	assert_int_equal(change_all(&world), HFKV_OK);
	world.changes[2].size_bytes = 6;
	memset(world.changes[3].hash.bytes, 0x77, 32);
	world.changes[4].kind = HUB_BATCH_DELETE;
	assert_int_equal(hub_names_check(&world.names, world.changes, 8, deadline_after_ms(20000), NULL), HFKV_OK);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(world.changes[i].status, i >= 2 && i <= 4 ? HFKV_UNAVAILABLE : HFKV_OK);
	names_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_applied),    cmocka_unit_test(test_lost_answer),
		cmocka_unit_test(test_nothing_applied), cmocka_unit_test(test_deadline_leaves_time_to_ask),
		cmocka_unit_test(test_refused_line),    cmocka_unit_test(test_missing_bucket),
		cmocka_unit_test(test_check),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
