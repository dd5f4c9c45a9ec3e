#include "tests/unit/backend/local_server/scratch_directory.h"

#include "backend/local_server/server_keys.h"

static struct server_keys *open_keys(void **state)
{
	struct server_keys *keys = NULL;
	assert_int_equal(server_keys_open(*state, &keys, NULL), HFKV_OK);
	return keys;
}

static void tokens_are_made_once(void **state)
{
	CLEANUP(server_keys_freep) struct server_keys *first = open_keys(state), *again = open_keys(state);
	const char *token = secret_reveal(server_keys_write_token(first));
	assert_string_equal(token, secret_reveal(server_keys_write_token(again)));
	assert_int_equal(server_keys_hub_right(again, token), RIGHT_WRITE);
	assert_int_equal(server_keys_hub_right(again, ""), RIGHT_NONE);
	assert_int_equal(server_keys_hub_right(again, "hf_local_write_"), RIGHT_NONE);
	server_keys_free(TAKE_PTR(again));
}

static void an_empty_key_file_is_told(void **state)
{
	char path[100];
	snprintf(path, sizeof(path), "%s/read-token", (char *)*state);
	FILE *stream = fopen(path, "w");
	assert_non_null(stream);
	fclose(stream);
	struct server_keys *keys = NULL;
	struct fault fault = FAULT_NONE;
	assert_int_equal(server_keys_open(*state, &keys, &fault), HFKV_CORRUPT);
	assert_non_null(strstr(fault.text, "read-token"));
}

static void grants_survive_the_wire_and_nothing_else(void **state)
{
	CLEANUP(server_keys_freep) struct server_keys *keys = open_keys(state);
	struct cas_grant grant = { .bucket = 42, .right = RIGHT_READ, .expires_at_s = 1700000000 }, got;
	char token[CAS_TOKEN_BYTES];
	server_keys_make_cas_token(keys, &grant, token);
	assert_true(server_keys_read_cas_token(keys, token, &got));
	assert_true(got.bucket == 42 && got.right == RIGHT_READ && got.expires_at_s == 1700000000);
	for (size_t i = 0; token[i]; i++) {
		char kept = token[i];
		token[i] = kept == '1' ? '2' : '1';
		assert_false(server_keys_read_cas_token(keys, token, &got));
		token[i] = kept;
	}
	token[strlen(token) - 1] = '\0';
	assert_false(server_keys_read_cas_token(keys, token, &got));
	assert_false(server_keys_read_cas_token(keys, "", &got));
	assert_false(server_keys_read_cas_token(keys, ".", &got));
}

static void a_signature_fits_one_url(void **state)
{
	CLEANUP(server_keys_freep) struct server_keys *keys = open_keys(state);
	struct content_hash xorb = { { 1 } }, other = { { 2 } };
	char signature[URL_SIGNATURE_BYTES], long_ranges[URL_RANGES_BYTES + 1];
	assert_true(server_keys_sign_url(keys, &xorb, "0-9,20-29", 5, signature));
	assert_true(server_keys_check_url(keys, &xorb, "0-9,20-29", 5, signature));
	assert_false(server_keys_check_url(keys, &other, "0-9,20-29", 5, signature));
	assert_false(server_keys_check_url(keys, &xorb, "0-9", 5, signature));
	assert_false(server_keys_check_url(keys, &xorb, "0-9,20-29", 6, signature));
	assert_false(server_keys_check_url(keys, &xorb, "0-9,20-29", 5, ""));
	memset(long_ranges, '1', sizeof(long_ranges));
	long_ranges[URL_RANGES_BYTES] = '\0';
	assert_false(server_keys_sign_url(keys, &xorb, long_ranges, 5, signature));
	assert_false(server_keys_check_url(keys, &xorb, long_ranges, 5, signature));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tokens_are_made_once, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(an_empty_key_file_is_told, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(grants_survive_the_wire_and_nothing_else, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(a_signature_fits_one_url, scratch_make, scratch_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
