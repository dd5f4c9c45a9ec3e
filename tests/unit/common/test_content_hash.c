#include "tests/unit/cmocka_prelude.h"

#include "common/content_hash.h"

#include <stdio.h>

static struct content_hash counting_hash(void)
{
	struct content_hash hash;
	for (unsigned i = 0; i < CONTENT_HASH_BYTES; i++)
		hash.bytes[i] = (uint8_t)i;
	return hash;
}

static const char counting_text[] = "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918";

static void formats_with_reversed_groups(void **state)
{
	(void)state;
	struct content_hash hash = counting_hash();
	char text[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(&hash, text);
	assert_string_equal(text, counting_text);
}

static void parses_what_it_formats(void **state)
{
	(void)state;
	struct content_hash parsed, expected = counting_hash();
	assert_true(content_hash_parse(counting_text, &parsed));
	assert_true(content_hash_equal(&parsed, &expected));
}

static void refuses_other_lengths_and_digits(void **state)
{
	(void)state;
	struct content_hash hash = { { 0 } };
	char text[80];
	snprintf(text, sizeof(text), "%s0", counting_text);
	assert_false(content_hash_parse(text, &hash));
	text[63] = '\0';
	assert_false(content_hash_parse(text, &hash));
	snprintf(text, sizeof(text), "%s", counting_text);
	text[10] = 'g';
	assert_false(content_hash_parse(text, &hash));
	assert_true(content_hash_is_zero(&hash));
}

static void compares_like_the_text(void **state)
{
	(void)state;
	struct content_hash low, high;
	assert_true(content_hash_parse("0000000000000001" "ffffffffffffffffffffffffffffffff" "ffffffffffffffff", &low));
	assert_true(content_hash_parse("0000000000000100" "00000000000000000000000000000000" "0000000000000000", &high));
	assert_true(content_hash_compare(&low, &high) < 0);
	assert_true(content_hash_compare(&high, &low) > 0);
	assert_int_equal(content_hash_compare(&low, &low), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_with_reversed_groups),
		cmocka_unit_test(parses_what_it_formats),
		cmocka_unit_test(refuses_other_lengths_and_digits),
		cmocka_unit_test(compares_like_the_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
