/* The places of a token, in their order. */
#include "tests/unit/cmocka_prelude.h"

#include "backend/hub/hub_auth.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct places_world {
	char directory[64], file[96], own_file[96];
};

static void write_text(const char *path, const char *text)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int begin(void **state)
{
	struct places_world *world = calloc(1, sizeof(*world));
	strcpy(world->directory, "/tmp/hub-auth-XXXXXX");
	if (!mkdtemp(world->directory))
		return -1;
	snprintf(world->file, sizeof(world->file), "%s/given", world->directory);
	snprintf(world->own_file, sizeof(world->own_file), "%s/token", world->directory);
	unsetenv("HF_TOKEN");
	unsetenv("MY_TOKEN");
	unsetenv("HF_TOKEN_PATH");
	setenv("HF_HOME", world->directory, 1);
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct places_world *world = *state;
	unlink(world->file);
	unlink(world->own_file);
	rmdir(world->directory);
	free(world);
	return 0;
}

static void expect_token(const struct hub_auth_places *places, const char *expected)
{
	CLEANUP(hub_auth_freep) struct hub_auth *auth = NULL;
	assert_int_equal(hub_auth_new(places, &auth, NULL), HFKV_OK);
	CLEANUP(secret_unrefp) struct secret *token = hub_auth_token(auth);
	char words[HUB_AUTH_ORIGIN_BYTES];
	hub_auth_describe(auth, words);
	if (!expected) {
		assert_null(token);
		assert_non_null(strstr(words, "no token"));
		return;
	}
	assert_non_null(token);
	assert_string_equal(secret_reveal(token), expected);
	assert_null(strstr(words, expected));
}

static void test_order(void **state)
{
	struct places_world *world = *state;
	CLEANUP(secret_unrefp) struct secret *configured = secret_new("hf_configured", 13);
	struct hub_auth_places all = { "MY_TOKEN", configured, world->file };
	struct hub_auth_places no_configured = { "MY_TOKEN", NULL, world->file };
	struct hub_auth_places variable = { "MY_TOKEN", NULL, NULL };
	struct hub_auth_places none = { 0 };
	expect_token(&none, NULL);
	write_text(world->own_file, "hf_own\n");
	expect_token(&none, "hf_own");
	setenv("HF_TOKEN", "hf_standard", 1);
	expect_token(&none, "hf_standard");
	expect_token(&variable, "hf_standard");
	write_text(world->file, "  hf_file \r\n");
	expect_token(&no_configured, "hf_file");
	expect_token(&all, "hf_configured");
	setenv("MY_TOKEN", "hf_mine", 1);
	expect_token(&all, "hf_mine");
	setenv("MY_TOKEN", "  ", 1); /* empty counts as absent */
	expect_token(&all, "hf_configured");
	write_text(world->file, "");
	expect_token(&no_configured, "hf_standard");
}

static void test_own_tools_places(void **state)
{
	struct places_world *world = *state;
	struct hub_auth_places none = { 0 };
	write_text(world->file, "hf_path");
	setenv("HF_TOKEN_PATH", world->file, 1);
	expect_token(&none, "hf_path");
	setenv("HF_TOKEN_PATH", "/nonexistent/token", 1);
	expect_token(&none, NULL);
}

static void test_bad_files(void **state)
{
	struct places_world *world = *state;
	struct hub_auth_places places = { NULL, NULL, world->file };
	struct hub_auth *auth = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(hub_auth_new(&places, &auth, &fault), HFKV_INVALID);
	assert_non_null(strstr(fault.text, world->file));
	write_text(world->file, "hf_secret two words");
	assert_int_equal(hub_auth_new(&places, &auth, &fault), HFKV_INVALID);
	assert_null(strstr(fault.text, "hf_secret"));
	char *long_text = malloc(HUB_TOKEN_FILE_MAX_BYTES + 2);
	memset(long_text, 'x', HUB_TOKEN_FILE_MAX_BYTES + 1);
	long_text[HUB_TOKEN_FILE_MAX_BYTES + 1] = '\0';
	write_text(world->file, long_text);
	free(long_text);
	assert_int_equal(hub_auth_new(&places, &auth, &fault), HFKV_INVALID);
}

static void test_reload(void **state)
{
	struct places_world *world = *state;
	struct hub_auth_places places = { NULL, NULL, world->file };
	write_text(world->file, "hf_one");
	CLEANUP(hub_auth_freep) struct hub_auth *auth = NULL;
	assert_int_equal(hub_auth_new(&places, &auth, NULL), HFKV_OK);
	write_text(world->file, "hf_two");
	assert_int_equal(hub_auth_reload(auth, NULL), HFKV_OK);
	CLEANUP(secret_unrefp) struct secret *second = hub_auth_token(auth);
	assert_string_equal(secret_reveal(second), "hf_two");
	unlink(world->file);
	assert_int_equal(hub_auth_reload(auth, NULL), HFKV_INVALID);
	CLEANUP(secret_unrefp) struct secret *kept = hub_auth_token(auth);
	assert_string_equal(secret_reveal(kept), "hf_two");
}

static void test_a_token_for_a_name_is_not_shown(void **state)
{
	(void)state;
	static const char *const names[] = { "hf_secretsecretsecretsecret", "secret token", "secret-token", "1secret", "" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct hub_auth_places places = { .environment_name = names[i] };
		struct hub_auth *auth = NULL;
		struct fault fault = FAULT_NONE;
		assert_int_equal(hub_auth_new(&places, &auth, &fault), HFKV_INVALID);
		assert_null(strstr(fault.text, "secret"));
		assert_non_null(strstr(fault.text, "token_env"));
	}
	struct hub_auth_places short_name = { .environment_name = "hf_token" };
	expect_token(&short_name, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, begin, end),
		cmocka_unit_test_setup_teardown(test_a_token_for_a_name_is_not_shown, begin, end),
		cmocka_unit_test_setup_teardown(test_own_tools_places, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_files, begin, end),
		cmocka_unit_test_setup_teardown(test_reload, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
