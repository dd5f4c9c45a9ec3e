#include "tests/unit/cmocka_prelude.h"

#include "src/cli/control_socket.h"

#include <string.h>
#include <sys/stat.h>

struct scratch {
	char directory[64], path[96];
};

static int make_scratch(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));
	strcpy(scratch->directory, "/tmp/hfkv-control-XXXXXX");
	if (!mkdtemp(scratch->directory))
		return -1;
	snprintf(scratch->path, sizeof(scratch->path), "%s/sock", scratch->directory);
	*state = scratch;
	return 0;
}

static int remove_scratch(void **state)
{
	struct scratch *scratch = *state;
	int left = rmdir(scratch->directory); /* fails when the server left something */
	free(scratch);
	return left;
}

static json_t *echo(void *context, const char *request)
{
	(void)context;
	return strcmp(request, "nothing") == 0 ? NULL : json_pack("{ss}", "request", request);
}

static struct control_server *server_at(const char *path)
{
	struct control_server *server = NULL;
	struct fault fault = FAULT_NONE;
	if (control_server_new(path, echo, NULL, &server, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	return server;
}

static void answers_come_back(void **state)
{
	const struct scratch *scratch = *state;
	struct control_server *server = server_at(scratch->path);
	for (int i = 0; i < 50; i++) {
		json_t *answer = NULL;
		pid_t pid = 0;
		assert_int_equal(control_ask(scratch->path, "hello", deadline_after_ms(5000), &answer, &pid, NULL), HFKV_OK);
		assert_string_equal(json_string_value(json_object_get(answer, "request")), "hello");
		assert_int_equal(pid, getpid());
		json_decref(answer);
	}
	control_server_free(server);
}

static void no_answer_is_an_error_answer(void **state)
{
	const struct scratch *scratch = *state;
	struct control_server *server = server_at(scratch->path);
	json_t *answer = NULL;
	assert_int_equal(control_ask(scratch->path, "nothing", deadline_after_ms(5000), &answer, NULL, NULL), HFKV_OK);
	assert_non_null(json_object_get(answer, "error"));
	json_decref(answer);
	control_server_free(server);
}

static void the_socket_is_private_and_goes(void **state)
{
	const struct scratch *scratch = *state;
	struct control_server *server = server_at(scratch->path);
	struct stat about;
	assert_int_equal(stat(scratch->path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
	control_server_free(server);
	assert_int_equal(access(scratch->path, F_OK), -1);
}

static void nobody_there_is_unavailable(void **state)
{
	const struct scratch *scratch = *state;
	struct fault fault = FAULT_NONE;
	json_t *answer = NULL;
	assert_int_equal(control_ask(scratch->path, "hello", deadline_after_ms(1000), &answer, NULL, &fault),
			 HFKV_UNAVAILABLE);
	assert_null(answer);
}

static void a_left_over_is_replaced(void **state)
{
	const struct scratch *scratch = *state;
	fclose(fopen(scratch->path, "w"));
	struct control_server *server = server_at(scratch->path);
	json_t *answer = NULL;
	assert_int_equal(control_ask(scratch->path, "hello", deadline_after_ms(5000), &answer, NULL, NULL), HFKV_OK);
	json_decref(answer);
	control_server_free(server);
}

static void long_paths_work(void **state)
{
	const struct scratch *scratch = *state;
	char directory[256], path[300];
	snprintf(directory, sizeof(directory), "%s/%0120d", scratch->directory, 1);
	snprintf(path, sizeof(path), "%s/sock", directory);
	assert_int_equal(mkdir(directory, 0700), 0);
	struct control_server *server = server_at(path);
	json_t *answer = NULL;
	assert_int_equal(control_ask(path, "hello", deadline_after_ms(5000), &answer, NULL, NULL), HFKV_OK);
	json_decref(answer);
	control_server_free(server);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_come_back, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(no_answer_is_an_error_answer, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(the_socket_is_private_and_goes, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(nobody_there_is_unavailable, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(a_left_over_is_replaced, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(long_paths_work, make_scratch, remove_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
