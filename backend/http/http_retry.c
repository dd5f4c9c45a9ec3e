#include "backend/http/http_retry.h"

#include "backend/http/http_status.h"

#include <string.h>
#include <sys/random.h>

#define TRIES_WITHOUT_DEADLINE 6 /* as the reference clients */
#define BACKOFF_BASE_MS        200
#define BACKOFF_CAP_MS         8000
#define SHORTEST_TRY_MS        20 /* with less time left a try could only report the deadline */
#define ASKED_WAIT_SLACK_MS    100 /* servers count whole seconds */

struct http_retry http_retry_begin(struct http_client *client, struct deadline deadline,
				   struct http_cancel *cancel)
{
	return (struct http_retry){
		.client = client,
		.cancel = cancel,
		.deadline = deadline,
		.max_tries = deadline.at_ms == INT64_MAX ? TRIES_WITHOUT_DEADLINE : 0,
		.base_ms = BACKOFF_BASE_MS,
		.cap_ms = BACKOFF_CAP_MS,
	};
}

/* Uniform in [0, below). A failing random source costs spread, nothing else. */
static int64_t random_below(int64_t below)
{
	uint32_t random = 0;
	if (below <= 0 || getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return 0;
	return (int64_t)(random % (uint64_t)below);
}

static bool worth_a_retry(enum hfkv_status status, const struct fault *fault)
{
	if (status != HFKV_UNAVAILABLE && status != HFKV_TIMEOUT && status != HFKV_RATE_LIMITED)
		return false;
	return !fault || fault->http_status < 300 || http_status_may_pass(fault->http_status);
}

static int64_t next_wait_ms(const struct http_retry *retry, const struct fault *fault)
{
	if (fault && fault->retry_after_ms >= 0)
		return fault->retry_after_ms + ASKED_WAIT_SLACK_MS + random_below(250);
	int64_t wait_ms = retry->base_ms;
	for (unsigned i = 1; i < retry->tries && wait_ms < retry->cap_ms; i++)
		wait_ms *= 2;
	if (wait_ms > retry->cap_ms)
		wait_ms = retry->cap_ms;
	return wait_ms / 2 + random_below(wait_ms / 2 + 1);
}

/* Nothing moved for the whole stall limit. Where no deadline ends the tries, that was the caller's wait. */
static bool waited_long_enough(const struct http_retry *retry, enum hfkv_status status, const struct fault *fault)
{
	bool stalled = status == HFKV_TIMEOUT && !(fault && fault->http_status > 0);
	return stalled && retry->deadline.at_ms == INT64_MAX;
}

bool http_retry_again(struct http_retry *retry, enum hfkv_status status, const struct fault *fault)
{
	retry->tries++;
	if (!worth_a_retry(status, fault) || (retry->max_tries > 0 && retry->tries >= retry->max_tries))
		return false;
	if (waited_long_enough(retry, status, fault))
		return false;
	int64_t wait_ms = next_wait_ms(retry, fault);
	if (wait_ms + SHORTEST_TRY_MS >= deadline_left_ms(retry->deadline))
		return false;
	/* A pause that took too long leaves no try: the fault of the last one says more than "the deadline has passed". */
	return http_client_pause(retry->client, wait_ms, retry->cancel, retry->deadline) == HFKV_OK &&
	       !deadline_passed(retry->deadline);
}
