#include "backend/cas/cas_token.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdatomic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define THREADS 16

/* Gives out numbered tokens, slowly when asked to. */
struct issuer {
	atomic_int fetches, at_once, most_at_once;
	int64_t seconds;
	enum hfkv_status status;
	pthread_barrier_t *all_started; /* NULL: answer at once */
};

static enum hfkv_status issue(void *context, enum cas_scope scope, struct deadline deadline,
			      struct cas_access *ret_access, struct fault *fault)
{
	struct issuer *issuer = context;
	int number = atomic_fetch_add(&issuer->fetches, 1), now = atomic_fetch_add(&issuer->at_once, 1) + 1;
	(void)deadline;
	if (now > atomic_load(&issuer->most_at_once))
		atomic_store(&issuer->most_at_once, now);
	if (issuer->all_started && number == 0)
		pthread_barrier_wait(issuer->all_started);
	atomic_fetch_sub(&issuer->at_once, 1);
	if (issuer->status != HFKV_OK)
		return fault_set(fault, issuer->status, "no token today");
	char text[32];
	snprintf(text, sizeof(text), "%s-%d", scope == CAS_SCOPE_READ ? "read" : "write", number);
	*ret_access = (struct cas_access){ strdup("http://cas//"), secret_new(text, strlen(text)),
					   clock_wall_ms() / 1000 + issuer->seconds };
	return HFKV_OK;
}

static struct cas_token *token_over(struct issuer *issuer)
{
	struct cas_token *token = NULL;
	assert_int_equal(cas_token_new(issue, issuer, &token, NULL), HFKV_OK);
	return token;
}

static void expect_token(struct cas_token *token, enum cas_scope scope, const char *want)
{
	CLEANUP(cas_access_done) struct cas_access access = { 0 };
	assert_int_equal(cas_token_get(token, scope, DEADLINE_NONE, &access, NULL), HFKV_OK);
	assert_string_equal(secret_reveal(access.token), want);
	assert_string_equal(access.url, "http://cas");
}

static void a_good_token_is_kept_for_its_scope(void **state)
{
	(void)state;
	struct issuer issuer = { .seconds = 3600 };
	struct cas_token *token = token_over(&issuer);
	expect_token(token, CAS_SCOPE_READ, "read-0");
	expect_token(token, CAS_SCOPE_READ, "read-0");
	expect_token(token, CAS_SCOPE_WRITE, "write-1");
	expect_token(token, CAS_SCOPE_READ, "read-0");
	cas_token_free(token);
}

static void a_token_near_its_end_is_renewed(void **state)
{
	(void)state;
	struct issuer issuer = { .seconds = 25 };
	struct cas_token *token = token_over(&issuer);
	expect_token(token, CAS_SCOPE_READ, "read-0");
	issuer.seconds = 40;
	expect_token(token, CAS_SCOPE_READ, "read-1");
	expect_token(token, CAS_SCOPE_READ, "read-1");
	cas_token_free(token);
}

static void a_rejected_token_is_replaced_once(void **state)
{
	(void)state;
	struct issuer issuer = { .seconds = 3600 };
	struct cas_token *token = token_over(&issuer);
	CLEANUP(cas_access_done) struct cas_access old = { 0 };
	assert_int_equal(cas_token_get(token, CAS_SCOPE_READ, DEADLINE_NONE, &old, NULL), HFKV_OK);
	cas_token_reject(token, CAS_SCOPE_READ, &old);
	expect_token(token, CAS_SCOPE_READ, "read-1");
	/* Whoever still holds the old one says so later: the new one stays. */
	cas_token_reject(token, CAS_SCOPE_READ, &old);
	expect_token(token, CAS_SCOPE_READ, "read-1");
	cas_token_free(token);
}

static void a_failure_is_passed_on_and_not_kept(void **state)
{
	(void)state;
	struct issuer issuer = { .seconds = 3600, .status = HFKV_AUTH };
	struct cas_token *token = token_over(&issuer);
	struct cas_access access = { 0 };
	struct fault fault = FAULT_NONE;
	assert_int_equal(cas_token_get(token, CAS_SCOPE_WRITE, DEADLINE_NONE, &access, &fault), HFKV_AUTH);
	assert_string_equal(fault.text, "no token today");
	issuer.status = HFKV_OK;
	expect_token(token, CAS_SCOPE_WRITE, "write-1");
	cas_token_free(token);
}

struct asker {
	struct cas_token *token;
	pthread_barrier_t *all_started;
	pthread_t thread;
	bool waits;
};

static void *ask(void *context)
{
	struct asker *asker = context;
	if (asker->waits)
		pthread_barrier_wait(asker->all_started);
	expect_token(asker->token, CAS_SCOPE_READ, "read-0");
	return NULL;
}

static void many_that_ask_at_once_cause_one_fetch(void **state)
{
	(void)state;
	pthread_barrier_t all_started;
	struct issuer issuer = { .seconds = 3600, .all_started = &all_started };
	struct cas_token *token = token_over(&issuer);
	struct asker askers[THREADS];
	/* The one inside the fetch goes on when the last of the others is about to ask. */
	pthread_barrier_init(&all_started, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		askers[i] = (struct asker){ .token = token, .all_started = &all_started, .waits = i > 0 };
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(askers[i].thread, NULL);
	assert_int_equal(atomic_load(&issuer.fetches), 1);
	assert_int_equal(atomic_load(&issuer.most_at_once), 1);
	pthread_barrier_destroy(&all_started);
	cas_token_free(token);
}

/* A fetch that does not end holds others only until their deadline. */
static void *ask_first(void *context)
{
	struct asker *asker = context;
	expect_token(asker->token, CAS_SCOPE_READ, "read-0");
	return NULL;
}

static void waiting_for_anothers_fetch_keeps_the_deadline(void **state)
{
	(void)state;
	pthread_barrier_t release;
	struct issuer issuer = { .seconds = 3600, .all_started = &release };
	struct cas_token *token = token_over(&issuer);
	struct asker first = { .token = token };
	struct cas_access access = { 0 };
	pthread_barrier_init(&release, NULL, 2);
	assert_int_equal(pthread_create(&first.thread, NULL, ask_first, &first), 0);
	while (atomic_load(&issuer.fetches) == 0)
		sched_yield();
	assert_int_equal(cas_token_get(token, CAS_SCOPE_READ, deadline_after_ms(20), &access, NULL), HFKV_TIMEOUT);
	pthread_barrier_wait(&release);
	pthread_join(first.thread, NULL);
	pthread_barrier_destroy(&release);
	cas_token_free(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_token_is_kept_for_its_scope),
		cmocka_unit_test(a_token_near_its_end_is_renewed),
		cmocka_unit_test(a_rejected_token_is_replaced_once),
		cmocka_unit_test(a_failure_is_passed_on_and_not_kept),
		cmocka_unit_test(many_that_ask_at_once_cause_one_fetch),
		cmocka_unit_test(waiting_for_anothers_fetch_keeps_the_deadline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
