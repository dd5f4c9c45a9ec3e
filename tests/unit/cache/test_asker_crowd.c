#include "tests/unit/cmocka_prelude.h"

#include "cache/asker_crowd.h"

static void a_loop_is_no_crowd(void **state)
{
	(void)state;
	struct asker_crowd crowd = { .last_arrival_ms = 0 };
	for (int64_t now_ms = 1000; now_ms < 1200; now_ms++) {
		asker_crowd_note(&crowd, 7 + (uint64_t)now_ms % 2, now_ms); /* nor are two */
		assert_false(asker_crowd_is_on(&crowd, now_ms));
	}
	/* Three, but far apart. */
	for (int64_t now_ms = 2000; now_ms < 3000; now_ms += 8) {
		asker_crowd_note(&crowd, 1 + (uint64_t)now_ms / 8 % 3, now_ms);
		assert_false(asker_crowd_is_on(&crowd, now_ms));
	}
}

static void a_crowd_is_waited_for_longer_while_it_is_large(void **state)
{
	(void)state;
	struct asker_crowd crowd = { .last_arrival_ms = 0 };
	for (uint64_t asker = 1; asker <= 3; asker++)
		asker_crowd_note(&crowd, asker, 1000);
	assert_true(asker_crowd_is_on(&crowd, 1000));
	assert_false(asker_crowd_is_on(&crowd, 1020));
	assert_int_equal(asker_crowd_wait_until(&crowd, 1000), 1003);
	asker_crowd_note(&crowd, 4, 1024);
	assert_int_equal(asker_crowd_wait_until(&crowd, 1000), 1025);
	for (int i = 0; i < 5; i++)
		asker_crowd_called(&crowd, 100);
	assert_int_equal(asker_crowd_wait_until(&crowd, 1024), 1024 + 8 * 3);
	asker_crowd_note(&crowd, 5, 1200);
	assert_int_equal(asker_crowd_wait_until(&crowd, 1024),
			 1024 + 8 * 25 > 1200 + 8 * 3 ? 1200 + 8 * 3 : 1024 + 8 * 25);
	asker_crowd_called(&crowd, 2);
	assert_int_equal(asker_crowd_wait_until(&crowd, 1200), 1203);
}

static void a_crowd_that_never_comes_is_not_waited_for(void **state)
{
	(void)state;
	struct asker_crowd crowd = { .last_arrival_ms = 0 };
	unsigned waits = 0;
	/* One look-up after the other, each by another thread, 2 s long. */
	for (int64_t now_ms = 10000; now_ms < 12000; now_ms++) {
		asker_crowd_note(&crowd, (uint64_t)now_ms, now_ms);
		if (!asker_crowd_is_on(&crowd, now_ms))
			continue;
		waits++;
		asker_crowd_waited(&crowd, 1, now_ms);
	}
	assert_int_equal(waits, 4);
	/* Company makes it wait again. */
	asker_crowd_waited(&crowd, 5, 12000);
	assert_int_equal(crowd.alone, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_is_no_crowd),
		cmocka_unit_test(a_crowd_is_waited_for_longer_while_it_is_large),
		cmocka_unit_test(a_crowd_that_never_comes_is_not_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
