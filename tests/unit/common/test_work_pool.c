#include "tests/unit/cmocka_prelude.h"

#include "common/clock.h"
#include "common/work_pool.h"

#include <stdatomic.h>

struct job {
	struct work_item item;
	pthread_barrier_t *meet; /* waited on when not NULL */
	atomic_int *ran, *cancelled;
};

static void job_run(struct work_item *item)
{
	struct job *job = (struct job *)item;
	if (job->meet)
		pthread_barrier_wait(job->meet);
	atomic_fetch_add(job->ran, 1);
}

static void job_cancel(struct work_item *item)
{
	struct job *job = (struct job *)item;
	atomic_fetch_add(job->cancelled, 1);
}

static struct work_pool *new_pool(size_t max_threads, size_t max_queued)
{
	struct work_pool_settings settings = { "test", max_threads, max_queued, 50, 0 };
	struct work_pool *pool;
	assert_int_equal(work_pool_new(&settings, &pool), HFKV_OK);
	return pool;
}

/* Eight jobs that all wait for each other end only if eight threads run them. */
static void grows_to_run_blocked_jobs_side_by_side(void **state)
{
	(void)state;
	enum { JOBS = 8 };
	pthread_barrier_t meet;
	pthread_barrier_init(&meet, NULL, JOBS + 1);
	atomic_int ran = 0, cancelled = 0;
	struct job jobs[JOBS];
	struct work_pool *pool = new_pool(JOBS, JOBS);
	for (int i = 0; i < JOBS; i++) {
		jobs[i] = (struct job){ { job_run, job_cancel, NULL }, &meet, &ran, &cancelled };
		assert_int_equal(work_pool_submit(pool, &jobs[i].item), HFKV_OK);
	}
	pthread_barrier_wait(&meet);
	work_pool_free(pool);
	assert_int_equal(ran, JOBS);
	assert_int_equal(cancelled, 0);
	pthread_barrier_destroy(&meet);
}

static void says_busy_when_full_and_cancels_what_waits(void **state)
{
	(void)state;
	pthread_barrier_t meet;
	pthread_barrier_init(&meet, NULL, 2);
	atomic_int ran = 0, cancelled = 0;
	struct work_pool *pool = new_pool(1, 1);
	struct job blocker = { { job_run, job_cancel, NULL }, &meet, &ran, &cancelled };
	struct job waiting = { { job_run, job_cancel, NULL }, NULL, &ran, &cancelled };
	struct job refused = waiting;
	assert_int_equal(work_pool_submit(pool, &blocker.item), HFKV_OK);
	enum hfkv_status status;
	while ((status = work_pool_submit(pool, &waiting.item)) == HFKV_BUSY)
		sched_yield(); /* until the only thread has taken the blocker */
	assert_int_equal(status, HFKV_OK);
	assert_int_equal(work_pool_submit(pool, &refused.item), HFKV_BUSY);
	pthread_barrier_wait(&meet);
	work_pool_free(pool);
	assert_int_equal(ran + cancelled, 2);
	pthread_barrier_destroy(&meet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_to_run_blocked_jobs_side_by_side),
		cmocka_unit_test(says_busy_when_full_and_cancels_what_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
