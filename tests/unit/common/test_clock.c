#include "tests/unit/cmocka_prelude.h"

#include "common/clock.h"

static void deadlines_follow_the_movable_clock(void **state)
{
	(void)state;
	struct deadline deadline = deadline_after_ms(60000);
	assert_false(deadline_passed(deadline));
	assert_in_range(deadline_left_ms(deadline), 50000, 60000);
	clock_advance_for_tests(60001);
	assert_true(deadline_passed(deadline));
	assert_int_equal(deadline_left_ms(deadline), 0);
}

static void no_deadline_never_passes(void **state)
{
	(void)state;
	assert_false(deadline_passed(DEADLINE_NONE));
	assert_true(deadline_after_ms(INT64_MAX).at_ms == INT64_MAX);
	struct deadline soon = deadline_after_ms(5);
	assert_int_equal(deadline_earlier(DEADLINE_NONE, soon).at_ms, soon.at_ms);
}

static void a_wait_ends_at_its_deadline(void **state)
{
	(void)state;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition;
	condition_init(&condition);
	pthread_mutex_lock(&mutex);
	struct deadline deadline = deadline_after_ms(30);
	while (deadline_wait(&condition, &mutex, deadline))
		continue;
	assert_true(deadline_passed(deadline));
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&condition);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines_follow_the_movable_clock),
		cmocka_unit_test(no_deadline_never_passes),
		cmocka_unit_test(a_wait_ends_at_its_deadline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
