#include "backend/cas/plan_crew.h"

#include "backend/cas/cas_exchange.h"

#include <stdlib.h>
#include <string.h>

/* Times that all URLs of one plan may be renewed: a server whose fresh URLs are refused is not asked for ever. */
#define RENEWALS_MAX 8

struct plan_crew;

struct crew_member {
	struct work_item item; /* first: the pool gives it back */
	struct plan_crew *crew;
};

/* Outlives the run when a borrowed thread comes late, which then finds nothing to do. */
struct plan_crew {
	struct plan_job job; /* valid while the run lasts: not touched once `is_over` */
	pthread_mutex_t mutex;
	pthread_cond_t changed;

	/* Under the mutex. */
	unsigned references;
	unsigned working; /* members that have a fetch */
	bool is_over;     /* nothing is given out any more */
	size_t next_fetch;
	enum hfkv_status status; /* the first failure */
	struct fault fault;
	struct reconstruction *fresh; /* the newest answer with URLs; NULL: job.plan is */
	unsigned renewals;
	bool is_renewing;

	size_t *proof_starts; /* of each fetch in job.proofs; NULL when there are none. Immutable */
	struct crew_member members[];
};

static void crew_unref(struct plan_crew *crew)
{
	{
		SCOPED_LOCK(&crew->mutex);
		if (--crew->references > 0)
			return;
	}
	pthread_cond_destroy(&crew->changed);
	pthread_mutex_destroy(&crew->mutex);
	reconstruction_free(crew->fresh);
	free(crew->proof_starts);
	free(crew);
}

static enum hfkv_status crew_new(const struct plan_job *job, size_t members, struct plan_crew **ret_crew,
				 struct fault *fault)
{
	struct plan_crew *crew = calloc(1, sizeof(*crew) + members * sizeof(crew->members[0]));
	size_t *starts = job->proofs ? calloc(job->plan->fetch_count, sizeof(*starts)) : NULL;
	if (!crew || (job->proofs && !starts)) {
		free(crew);
		free(starts);
		return fault_set(fault, HFKV_NO_MEMORY, "download: no memory");
	}
	for (size_t i = 1; starts && i < job->plan->fetch_count; i++) {
		const struct reconstruction_fetch *before = &job->plan->fetches[i - 1];
		starts[i] = starts[i - 1] + (before->chunk_end - before->chunk_start);
	}
	pthread_mutex_init(&crew->mutex, NULL);
	condition_init(&crew->changed);
	crew->job = *job;
	crew->references = 1;
	crew->proof_starts = starts;
	*ret_crew = crew;
	return HFKV_OK;
}

/* ---- URLs ---- */

/* A copy of fetch `index` with the newest URL, which the caller frees. */
static enum hfkv_status copy_fetch(struct plan_crew *crew, size_t index, struct reconstruction_fetch *ret_fetch,
				   char **ret_url, unsigned *ret_renewals, struct fault *fault)
{
	SCOPED_LOCK(&crew->mutex);
	struct reconstruction_fetch fetch = crew->job.plan->fetches[index];
	const struct reconstruction_fetch *newest =
	    crew->fresh ? reconstruction_find(crew->fresh, &fetch) : &fetch;
	if (!newest)
		return fault_set(fault, HFKV_CHANGED,
				 "download: the CAS keeps moving the file's data; try again later");
	fetch.url = *ret_url = strdup(newest->url);
	*ret_renewals = crew->renewals;
	*ret_fetch = fetch;
	return *ret_url ? HFKV_OK : fault_set(fault, HFKV_NO_MEMORY, "download: no memory");
}

/* Asks for the same range again, unless another member does or has done so since `seen` renewals. */
static enum hfkv_status renew_urls(struct plan_crew *crew, unsigned seen, struct fault *fault)
{
	const struct plan_job *job = &crew->job;
	{
		SCOPED_LOCK(&crew->mutex);
		while (crew->is_renewing)
			pthread_cond_wait(&crew->changed, &crew->mutex);
		if (crew->renewals != seen)
			return HFKV_OK;
		if (crew->renewals == RENEWALS_MAX)
			return HFKV_FORBIDDEN; /* the fault of the fetch stands */
		crew->is_renewing = true;
	}
	struct reconstruction *fresh = NULL;
	enum hfkv_status status = cas_get_reconstruction(job->client, &job->range, &job->call, &fresh, fault);
	SCOPED_LOCK(&crew->mutex);
	crew->is_renewing = false;
	pthread_cond_broadcast(&crew->changed);
	if (status != HFKV_OK)
		return status;
	reconstruction_free(crew->fresh);
	crew->fresh = fresh;
	crew->renewals++;
	return HFKV_OK;
}

/* ---- work ---- */

/* One fetch, as often as it takes. */
static enum hfkv_status do_fetch(struct plan_crew *crew, size_t index, struct fault *fault)
{
	const struct plan_job *job = &crew->job;
	struct http_retry retry = http_retry_begin(job->client->http, job->call.deadline, job->call.cancel);
	for (;;) {
		struct reconstruction_fetch fetch;
		CLEANUP(free_pointer) char *url = NULL;
		unsigned renewals = 0;
		*fault = FAULT_NONE;
		enum hfkv_status status = copy_fetch(crew, index, &fetch, &url, &renewals, fault);
		if (status != HFKV_OK)
			return status;
		const struct xorb_fetch one = {
			.client = job->client,
			.call = &job->call,
			.plan = job->plan,
			.fetch = &fetch,
			.target = job->target,
			.plan_start = job->plan_start,
			.proofs = job->proofs ? job->proofs + crew->proof_starts[index] : NULL,
			.progress = job->progress,
		};
		status = xorb_fetch_try(&one, fault);
		bool expired = status == HFKV_FORBIDDEN && fault->http_status == 403;
		if (expired)
			status = renew_urls(crew, renewals, fault);
		if (expired && status == HFKV_OK)
			continue;
		if (expired || !http_retry_again(&retry, status, fault))
			return status;
	}
}

/* The next fetch, or false when there is none to do. */
static bool take_fetch(struct plan_crew *crew, size_t *ret_index)
{
	SCOPED_LOCK(&crew->mutex);
	if (crew->is_over || crew->next_fetch == crew->job.plan->fetch_count)
		return false;
	*ret_index = crew->next_fetch++;
	crew->working++;
	return true;
}

static void end_fetch(struct plan_crew *crew, enum hfkv_status status, const struct fault *fault)
{
	bool is_first_failure = false;
	{
		SCOPED_LOCK(&crew->mutex);
		if (status != HFKV_OK && crew->status == HFKV_OK) {
			crew->status = status;
			crew->fault = *fault;
			crew->is_over = true;
			is_first_failure = true;
		}
	}
	/* After CHANGED the read goes on under the same cancel: the others end by themselves. */
	if (is_first_failure && status != HFKV_CHANGED)
		http_client_cancel(crew->job.client->http, crew->job.call.cancel);
	/* Last: from here on the run may be over, and the job gone. */
	SCOPED_LOCK(&crew->mutex);
	crew->working--;
	pthread_cond_broadcast(&crew->changed);
}

static void work(struct plan_crew *crew)
{
	size_t index;
	while (take_fetch(crew, &index)) {
		struct fault fault = FAULT_NONE;
		enum hfkv_status status = do_fetch(crew, index, &fault);
		end_fetch(crew, status, &fault);
	}
}

static void member_run(struct work_item *item)
{
	struct plan_crew *crew = ((struct crew_member *)item)->crew;
	work(crew);
	crew_unref(crew);
}

static void member_cancel(struct work_item *item)
{
	crew_unref(((struct crew_member *)item)->crew);
}

/* Borrows threads; with none to be had the caller does everything. */
static void call_members(struct plan_crew *crew, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct crew_member *member = &crew->members[i];
		*member =
		    (struct crew_member){ .item = { .run = member_run, .cancel = member_cancel }, .crew = crew };
		{
			SCOPED_LOCK(&crew->mutex);
			crew->references++;
		}
		if (work_pool_submit(crew->job.client->downloads, &member->item) != HFKV_OK) {
			crew_unref(crew);
			return;
		}
	}
}

enum hfkv_status plan_crew_run(const struct plan_job *job, struct fault *fault)
{
	struct plan_crew *crew = NULL;
	size_t members = job->plan->fetch_count < job->client->downloads_per_object
			     ? job->plan->fetch_count
			     : job->client->downloads_per_object;
	enum hfkv_status status = crew_new(job, members - 1, &crew, fault);
	if (status != HFKV_OK)
		return status;
	call_members(crew, members - 1);
	work(crew);
	{
		SCOPED_LOCK(&crew->mutex);
		crew->is_over = true;
		while (crew->working > 0)
			pthread_cond_wait(&crew->changed, &crew->mutex);
		status = crew->status;
		if (fault && status != HFKV_OK)
			*fault = crew->fault;
	}
	crew_unref(crew);
	return status;
}
