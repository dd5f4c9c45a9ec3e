/*
 * Time as hfkv uses it: a monotonic clock in milliseconds that tests can move, and deadlines on it.
 *
 * Any thread. Wall-clock time (for mtimes and token expiry) is clock_wall_ms and never feeds a deadline.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Milliseconds on the monotonic clock, plus whatever clock_advance_for_tests added. */
int64_t clock_now_ms(void);

/* Milliseconds since the Unix epoch. */
int64_t clock_wall_ms(void);

/* Moves clock_now_ms forward. Waits that are under way are not shortened. */
void clock_advance_for_tests(int64_t ms);

/* A point on clock_now_ms by which a call must have returned. */
struct deadline {
	int64_t at_ms; /* INT64_MAX: none */
};

#define DEADLINE_NONE ((struct deadline){ INT64_MAX })

struct deadline deadline_after_ms(int64_t ms);
bool deadline_passed(struct deadline deadline);
/* Whole milliseconds left, 0 when passed, INT64_MAX when there is no deadline. */
int64_t deadline_left_ms(struct deadline deadline);
struct deadline deadline_earlier(struct deadline a, struct deadline b);

/* Initialises a condition variable on the monotonic clock, as deadline_wait needs. */
void condition_init(pthread_cond_t *condition);

/* pthread_cond_wait bounded by `deadline`; `mutex` is held. False when the deadline has passed.
 * May wake early: callers loop on their own condition. */
bool deadline_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, struct deadline deadline);

#endif
