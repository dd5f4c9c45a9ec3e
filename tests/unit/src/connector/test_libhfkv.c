/* The shared library as a stranger uses it: its public headers, plain C, nothing else of hfkv. */
#include "tests/unit/cmocka_prelude.h"

#include "hfkv/hfkv.h"
#include "tests/unit/src/connector/scratch_dir.h"

#include <poll.h>
#include <string.h>

#define BYTES   5000
#define KEYS    4
#define WAIT_MS 20000

struct fixture {
	char root[SCRATCH_PATH_BYTES];
	struct hfkv_settings *settings;
	char data[KEYS][BYTES], back[KEYS][BYTES];
	struct hfkv_item items[KEYS];
};

static const char *const mp_keys[KEYS] = { "m@00000001@0@a", "m@00000001@0@b", "m@00000001@0@c@salt",
					   "m@00000001@0@d" };

static int set_up(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	struct hfkv_error error;
	char text[512];
	scratch_dir_make(fixture->root);
	assert_string_not_equal(fixture->root, "");
	snprintf(text, sizeof(text), "{\"type\": \"fs\", \"base_path\": \"%s\", \"num_workers\": 2}", fixture->root);
	assert_int_equal(hfkv_settings_parse(HFKV_SETTINGS_JSON, text, strlen(text), &fixture->settings, &error), HFKV_OK);
	assert_int_equal(hfkv_settings_is_l2(fixture->settings), 1);
	for (int i = 0; i < KEYS; i++) {
		memset(fixture->data[i], '0' + i, BYTES);
		fixture->items[i].key = mp_keys[i];
		fixture->items[i].data = fixture->data[i];
		fixture->items[i].length = BYTES;
	}
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	hfkv_settings_free(fixture->settings);
	scratch_dir_remove(fixture->root);
	test_free(fixture);
	return 0;
}

static void aim_at_back(struct fixture *fixture)
{
	for (int i = 0; i < KEYS; i++)
		fixture->items[i].data = fixture->back[i];
}

static void await_readable(int fd)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
}

static struct hfkv_completion finish_batch(struct hfkv_connector *connector, enum hfkv_operation operation,
					   struct fixture *fixture)
{
	struct hfkv_completion completion;
	uint64_t id = 0;
	assert_int_equal(hfkv_connector_submit(connector, operation, fixture->items, KEYS, &id, NULL), HFKV_OK);
	await_readable(hfkv_connector_event_fd(connector));
	assert_int_equal(hfkv_connector_drain(connector, &completion, 1), 1);
	assert_int_equal(completion.id, id);
	return completion;
}

static void a_native_client_goes_round_over_one_descriptor(void **state)
{
	struct fixture *fixture = *state;
	struct hfkv_connector *connector = NULL;
	struct hfkv_error error;
	assert_int_equal(hfkv_connector_open(fixture->settings, NULL, &connector, &error), HFKV_OK);
	assert_int_equal(finish_batch(connector, HFKV_OP_PUT, fixture).status, HFKV_OK);
	aim_at_back(fixture);
	assert_int_equal(finish_batch(connector, HFKV_OP_GET, fixture).status, HFKV_OK);
	for (int i = 0; i < KEYS; i++)
		assert_memory_equal(fixture->back[i], fixture->data[i], BYTES);
	assert_int_equal(finish_batch(connector, HFKV_OP_REMOVE, fixture).status, HFKV_OK);
	assert_int_equal(finish_batch(connector, HFKV_OP_EXISTS, fixture).status, HFKV_OK);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(fixture->items[i].status, HFKV_NOT_FOUND);
	assert_int_equal(hfkv_connector_ping(connector, NULL), HFKV_OK);
	hfkv_connector_close(connector);
}

static enum hfkv_status count_bytes(void *context, const char *name, uint64_t bytes)
{
	(void)name;
	*(uint64_t *)context += bytes;
	return HFKV_OK;
}

static struct hfkv_l2_result finish_task(struct hfkv_l2 *l2, enum hfkv_l2_kind kind, struct fixture *fixture)
{
	struct hfkv_l2_result result;
	uint64_t task = 0;
	assert_int_equal(hfkv_l2_submit(l2, kind, fixture->items, KEYS, &task, NULL), HFKV_OK);
	await_readable(hfkv_l2_event_fd(l2, kind));
	assert_int_equal(hfkv_l2_query(l2, kind, task, &result), HFKV_OK);
	return result;
}

static void an_adapter_goes_round_and_is_found_again_after_a_restart(void **state)
{
	struct fixture *fixture = *state;
	struct hfkv_open_options options = HFKV_OPEN_OPTIONS_INIT;
	options.without_own_evictor = 1;
	for (int life = 0; life < 2; life++) {
		struct hfkv_l2 *l2 = NULL;
		struct hfkv_error error;
		assert_int_equal(hfkv_l2_open(fixture->settings, &options, &l2, &error), HFKV_OK);
		uint64_t listed = 0;
		assert_int_equal(hfkv_l2_list(l2, count_bytes, &listed, 0, &error), HFKV_OK);
		assert_int_equal(listed, life == 0 ? 0 : KEYS * BYTES);
		if (life == 0)
			assert_int_equal(finish_task(l2, HFKV_L2_STORE, fixture).bytes, KEYS * BYTES);
		assert_int_equal(finish_task(l2, HFKV_L2_LOOKUP, fixture).ok_count, KEYS);
		aim_at_back(fixture);
		assert_int_equal(finish_task(l2, HFKV_L2_LOAD, fixture).ok_count, KEYS);
		assert_memory_equal(fixture->back, fixture->data, sizeof(fixture->back));
		hfkv_l2_unlock(l2, mp_keys, KEYS);
		struct hfkv_l2_usage usage;
		hfkv_l2_usage_read(l2, &usage);
		assert_int_equal(usage.total_bytes, KEYS * BYTES);
		assert_int_equal(usage.locked_keys, 0);
		hfkv_l2_close(l2);
	}
}

static void errors_have_words(void **state)
{
	(void)state;
	struct hfkv_settings *settings = NULL;
	struct hfkv_connector *connector = NULL;
	struct hfkv_l2 *l2 = NULL;
	struct hfkv_error error = { HFKV_OK, 0, 0, "" };
	assert_int_equal(hfkv_settings_new(&settings, &error), HFKV_OK);
	assert_int_equal(hfkv_connector_open(settings, NULL, &connector, &error), HFKV_INVALID);
	assert_int_equal(error.status, HFKV_INVALID);
	assert_non_null(strstr(error.text, "remote_storage_plugins"));
	assert_int_equal(hfkv_l2_open(settings, NULL, &l2, &error), HFKV_INVALID);
	assert_non_null(strstr(error.text, "type"));
	assert_string_equal(hfkv_status_name(HFKV_NOT_FOUND), "not found");
	assert_string_not_equal(hfkv_version(), "");
	hfkv_settings_free(settings);
	hfkv_settings_free(NULL);
	hfkv_connector_close(NULL);
	hfkv_l2_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_native_client_goes_round_over_one_descriptor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_adapter_goes_round_and_is_found_again_after_a_restart, set_up,
						tear_down),
		cmocka_unit_test(errors_have_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
