#include "tests/unit/cmocka_prelude.h"

#include "backend/local_server/server_faults.h"

#include <string.h>

static struct server_faults *with_rules(const char *json)
{
	struct server_faults *faults = NULL;
	assert_int_equal(server_faults_new(&faults, NULL), HFKV_OK);
	assert_int_equal(server_faults_set(faults, json, strlen(json), NULL), HFKV_OK);
	return faults;
}

static int status_of(struct server_faults *faults, const char *route, const char *target, const char *body_text)
{
	CLEANUP(byte_buf_done) struct byte_buf body = BYTE_BUF_INIT(100);
	if (body_text)
		assert_true(byte_buf_append_text(&body, body_text));
	struct fault_plan plan = server_faults_plan(faults, route, target, body_text ? &body : NULL);
	int status = plan.status;
	fault_plan_done(&plan);
	return status;
}

static void rules_are_counted_apart(void **state)
{
	(void)state;
	CLEANUP(server_faults_freep)
	struct server_faults *faults =
	    with_rules("[{\"route\":\"tree\",\"skip\":1,\"times\":2,\"status\":500},"
		       "{\"route\":\"*\",\"path_contains\":\"x\",\"times\":1,\"status\":429}]");
	const int tree[] = { 0, 500, 500, 0, 0 };
	for (size_t i = 0; i < ARRAY_LENGTH(tree); i++)
		assert_int_equal(status_of(faults, "tree", "/t", NULL), tree[i]);
	assert_int_equal(status_of(faults, "batch", "/b", "a y"), 0);
	assert_int_equal(status_of(faults, "batch", "/b", "an x"), 429);
	assert_int_equal(status_of(faults, "batch", "/x", NULL), 0);
	server_faults_clear(faults);
	assert_int_equal(status_of(faults, "tree", "/x", NULL), 0);
}

static void a_plan_outlives_its_rule(void **state)
{
	(void)state;
	CLEANUP(server_faults_freep)
	struct server_faults *faults = with_rules(
	    "[{\"route\":\"*\",\"status\":503,\"headers\":{\"A\":\"1\",\"B\":\"2\"},\"body\":\"gone\"}]");
	struct fault_plan plan = server_faults_plan(faults, "tree", "/", NULL);
	server_faults_clear(faults);
	const char *header, *value;
	assert_string_equal(fault_plan_body(&plan), "gone");
	assert_true(fault_plan_header(&plan, 1, &header, &value));
	assert_string_equal(header, "B");
	assert_string_equal(value, "2");
	assert_false(fault_plan_header(&plan, 2, &header, &value));
	fault_plan_done(&plan);
	fault_plan_done(&plan);
	assert_string_equal(fault_plan_body(&plan), "");
}

static void a_plan_carries_everything(void **state)
{
	(void)state;
	CLEANUP(server_faults_freep)
	struct server_faults *faults = with_rules(
	    "[{\"route\":\"*\",\"delay_ms\":1,\"stall_after_bytes\":2,\"cut_after_bytes\":3,\"flip_byte_at\":4,"
	    "\"apply_first\":5,\"drop\":\"after_work\",\"expire_tokens\":true,\"expire_urls\":true,"
	    "\"reverse_order\":true}]");
	struct fault_plan plan = server_faults_plan(faults, "tree", "/", NULL);
	assert_true(plan.delay_ms == 1 && plan.stall_after_bytes == 2 && plan.cut_after_bytes == 3);
	assert_true(plan.flip_byte_at == 4 && plan.apply_first == 5 && plan.drop == DROP_AFTER_WORK);
	assert_true(plan.expire_tokens && plan.expire_urls && plan.reverse_order && plan.status == 0);
	fault_plan_done(&plan);
}

static void bad_rules_change_nothing(void **state)
{
	(void)state;
	CLEANUP(server_faults_freep)
	struct server_faults *faults = with_rules("[{\"route\":\"*\",\"status\":500}]");
	const char *bad[] = { "",
			      "{}",
			      "[1]",
			      "[{}]",
			      "[{\"route\":\"*\"},{\"route\":\"*\",\"skip\":-1}]",
			      "[{\"route\":\"*\",\"stauts\":500}]",
			      "[{\"route\":\"*\",\"drop\":\"soon\"}]" };
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct fault fault = FAULT_NONE;
		assert_int_equal(server_faults_set(faults, bad[i], strlen(bad[i]), &fault), HFKV_INVALID);
		assert_true(fault.text[0]);
	}
	assert_int_equal(status_of(faults, "tree", "/", NULL), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_counted_apart),
		cmocka_unit_test(a_plan_outlives_its_rule),
		cmocka_unit_test(a_plan_carries_everything),
		cmocka_unit_test(bad_rules_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
