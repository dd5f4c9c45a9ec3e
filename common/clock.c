#include "common/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t test_offset_ms;

static int64_t read_ms(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_now_ms(void)
{
	return read_ms(CLOCK_MONOTONIC) + atomic_load_explicit(&test_offset_ms, memory_order_relaxed);
}

int64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

void clock_advance_for_tests(int64_t ms)
{
	atomic_fetch_add(&test_offset_ms, ms);
}

struct deadline deadline_after_ms(int64_t ms)
{
	struct deadline deadline;
	if (__builtin_add_overflow(clock_now_ms(), ms, &deadline.at_ms))
		return DEADLINE_NONE;
	return deadline;
}

bool deadline_passed(struct deadline deadline)
{
	return deadline_left_ms(deadline) == 0;
}

int64_t deadline_left_ms(struct deadline deadline)
{
	if (deadline.at_ms == INT64_MAX)
		return INT64_MAX;
	int64_t left = deadline.at_ms - clock_now_ms();
	return left > 0 ? left : 0;
}

struct deadline deadline_earlier(struct deadline a, struct deadline b)
{
	return a.at_ms <= b.at_ms ? a : b;
}

void condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

bool deadline_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, struct deadline deadline)
{
	if (deadline.at_ms == INT64_MAX) {
		pthread_cond_wait(condition, mutex);
		return true;
	}
	int64_t left_ms = deadline_left_ms(deadline);
	if (left_ms == 0)
		return false;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += left_ms / 1000;
	until.tv_nsec += (left_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(condition, mutex, &until);
	return !deadline_passed(deadline);
}
