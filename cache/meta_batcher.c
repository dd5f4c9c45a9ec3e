#include "cache/meta_batcher.h"

#include "cache/asker_crowd.h"
#include "common/work_pool.h"

#include <string.h>
#include <uthash.h>

#define CALL_NAMES_MAX 1000  /* of one paths-info call */
#define SENDERS_MAX    4     /* calls in flight */
#define QUESTIONS_MAX  65536 /* different paths waiting; BUSY beyond */
#define SLOW_CALL_MS   200   /* a call older than this no longer holds others up */
/* Somebody who waits for an answer. */
struct waiter {
	struct waiter *next;
	meta_answered answered;
	void *token;
};

/* One path that was asked for and not answered yet. */
struct inquiry {
	struct inquiry *next; /* in the queue or in a batch */
	struct waiter *waiters;
	struct deadline deadline;
	const char *path; /* the end of full_path */
	UT_hash_handle hh;
	char full_path[];
};

enum sender_state {
	SENDER_IDLE,       /* not on the pool */
	SENDER_STANDBY,    /* waits for another one's call to return, or to turn out slow */
	SENDER_COLLECTING, /* about to take what is queued */
	SENDER_IN_CALL,
};

struct sender {
	struct work_item item;
	struct meta_batcher *batcher;
	enum sender_state state;
	int64_t call_began_ms; /* IN_CALL only */
};

struct meta_batcher {
	struct meta_batcher_settings settings;
	struct work_pool *pool;

	pthread_mutex_t mutex;
	pthread_cond_t changed;  /* for senders that wait: a call is full, or stopping */
	struct inquiry *by_path; /* uthash by path: queued and in flight */
	struct inquiry *first, *last;
	size_t queued;
	bool hurried; /* one of those queued is not to wait for company */
	struct asker_crowd crowd;
	bool stopping;
	uint64_t calls;
	struct sender senders[SENDERS_MAX];
};

/* ---- sending; runs on the pool ---- */

/* Lock held. */
static struct inquiry *take_batch(struct meta_batcher *batcher, size_t *ret_count)
{
	struct inquiry *batch = batcher->first, *end = NULL;
	size_t count = 0;
	for (struct inquiry *each = batch; each && count < CALL_NAMES_MAX; each = each->next) {
		end = each;
		count++;
	}
	if (end) {
		batcher->first = end->next;
		end->next = NULL;
	}
	if (!batcher->first)
		batcher->last = NULL;
	batcher->queued -= count;
	if (batcher->queued == 0)
		batcher->hurried = false;
	*ret_count = count;
	return batch;
}

/* Fills stats from the batch; gives the earliest deadline: nobody is to wait past his own. */
static struct deadline fill_stats(const struct inquiry *batch, struct object_stat *stats)
{
	struct deadline deadline = DEADLINE_NONE;
	for (; batch; batch = batch->next) {
		*stats++ = (struct object_stat){ .path = batch->full_path, .status = HFKV_BUG };
		deadline = deadline_earlier(deadline, batch->deadline);
	}
	return deadline;
}

static void answer_waiters(struct waiter *waiters, enum hfkv_status status, const struct object_meta *meta,
			   const struct fault *fault)
{
	while (waiters) {
		struct waiter *waiter = waiters;
		waiters = waiter->next;
		waiter->answered(waiter->token, status, meta, fault);
		free(waiter);
	}
}

/* What a question is answered with when it has no answer: the call's own words, or a word of its own. */
static const struct fault *fault_of(const struct inquiry *inquiry, enum hfkv_status status,
				    const struct fault *call, struct fault *own)
{
	if (call->status == status)
		return call;
	(void)fault_set(own, status, "stat of '%s': %s", inquiry->full_path, hfkv_status_name(status));
	return own;
}

/* Ends a whole batch: later askers of its paths make new inquiries, then everybody is answered. */
static void finish_batch(struct meta_batcher *batcher, struct inquiry *batch, const struct object_stat *stats,
			 const struct object_meta *metas, const struct fault *fault)
{
	pthread_mutex_lock(&batcher->mutex);
	for (struct inquiry *each = batch; each; each = each->next)
		HASH_DEL(batcher->by_path, each);
	pthread_mutex_unlock(&batcher->mutex);
	for (size_t i = 0; batch; i++) {
		struct inquiry *next = batch->next;
		bool known = stats && (stats[i].status == HFKV_OK || stats[i].status == HFKV_NOT_FOUND);
		enum hfkv_status status = !stats ? fault->status : known ? metas[i].status : stats[i].status;
		struct fault own = FAULT_NONE;
		answer_waiters(batch->waiters, status, known ? &metas[i] : NULL,
			       known ? NULL : fault_of(batch, status, fault, &own));
		free(batch);
		batch = next;
	}
}

/* What the answers mean, through the cache: it holds them before anybody is told. */
static void learn_answers(struct meta_batcher *batcher, const struct inquiry *batch,
			  const struct object_stat *stats, struct object_meta *metas, uint64_t generation)
{
	for (size_t i = 0; batch; batch = batch->next, i++)
		if (stats[i].status == HFKV_OK || stats[i].status == HFKV_NOT_FOUND)
			metas[i] = object_meta_cache_learn(batcher->settings.meta, batch->path,
							   stats[i].status == HFKV_OK ? &stats[i].info : NULL,
							   generation);
}

/* Lock held. Marks the begin and the end of a sender's call. */
static void begin_call(struct meta_batcher *batcher, struct sender *sender)
{
	batcher->calls++;
	sender->state = SENDER_IN_CALL;
	sender->call_began_ms = clock_now_ms();
}

static void end_call(struct meta_batcher *batcher, struct sender *sender)
{
	SCOPED_LOCK(&batcher->mutex);
	sender->state = SENDER_COLLECTING;
}

static void ask_store(struct meta_batcher *batcher, struct sender *sender, struct inquiry *batch, size_t count)
{
	struct fault fault = FAULT_NONE;
	CLEANUP(free_pointer) struct object_stat *stats = calloc(count, sizeof(*stats));
	CLEANUP(free_pointer) struct object_meta *metas = calloc(count, sizeof(*metas));
	if (!stats || !metas) {
		(void)fault_set(&fault, HFKV_NO_MEMORY, "stat: out of memory");
		finish_batch(batcher, batch, NULL, NULL, &fault);
		return;
	}
	struct deadline deadline = fill_stats(batch, stats);
	uint64_t generation = object_meta_cache_generation(batcher->settings.meta);
	enum hfkv_status status = object_store_stat_many(batcher->settings.store, stats, count, deadline, &fault);
	if (fault.status == HFKV_OK)
		fault.status = status;
	/* Before anybody is told: the next question of who is told first comes after this call, not during it. */
	end_call(batcher, sender);
	learn_answers(batcher, batch, stats, metas, generation);
	finish_batch(batcher, batch, stats, metas, &fault);
}

/* Lock held (given up while waiting). While a crowd asks: until no more of it comes, or the call is full. */
static void await_company(struct meta_batcher *batcher)
{
	int64_t began_ms = clock_now_ms();
	if (batcher->hurried || !asker_crowd_is_on(&batcher->crowd, began_ms))
		return;
	while (!batcher->stopping && !batcher->hurried && batcher->queued > 0 &&
	       batcher->queued < CALL_NAMES_MAX) {
		struct deadline wake = { asker_crowd_wait_until(&batcher->crowd, began_ms) };
		if (deadline_passed(wake))
			break;
		(void)deadline_wait(&batcher->changed, &batcher->mutex, wake);
	}
	asker_crowd_waited(&batcher->crowd, batcher->queued, clock_now_ms());
}

/* Lock held. The time until which `sender` leaves the queue to others; 0 when it is to take it itself. */
static int64_t standby_until_ms(const struct meta_batcher *batcher, const struct sender *sender, int64_t now_ms)
{
	int64_t until_ms = 0;
	for (size_t i = 0; i < SENDERS_MAX; i++) {
		const struct sender *other = &batcher->senders[i];
		int64_t turn_ms = 0;
		if (other != sender && other->state == SENDER_COLLECTING)
			turn_ms = now_ms + SLOW_CALL_MS;
		else if (other->state == SENDER_IN_CALL)
			turn_ms = other->call_began_ms + SLOW_CALL_MS;
		if (turn_ms > now_ms && (until_ms == 0 || turn_ms < until_ms))
			until_ms = turn_ms;
	}
	return batcher->queued >= CALL_NAMES_MAX ? 0 : until_ms;
}

/* Lock held (given up while waiting). */
static void stand_by(struct meta_batcher *batcher, struct sender *sender)
{
	while (batcher->first && !batcher->stopping) {
		int64_t until_ms = standby_until_ms(batcher, sender, clock_now_ms());
		if (until_ms == 0)
			return;
		(void)deadline_wait(&batcher->changed, &batcher->mutex, (struct deadline){ until_ms });
	}
}

/* Lock held (given up during the call). False when another sender took what was there. */
static bool send_one_batch(struct meta_batcher *batcher, struct sender *sender)
{
	size_t count;
	struct inquiry *batch = take_batch(batcher, &count);
	if (!batch)
		return false;
	begin_call(batcher, sender);
	pthread_mutex_unlock(&batcher->mutex);
	ask_store(batcher, sender, batch, count);
	pthread_mutex_lock(&batcher->mutex);
	sender->state = SENDER_COLLECTING;
	asker_crowd_called(&batcher->crowd, count);
	return true;
}

static void sender_run(struct work_item *item)
{
	struct sender *sender = (struct sender *)item;
	struct meta_batcher *batcher = sender->batcher;
	pthread_mutex_lock(&batcher->mutex);
	stand_by(batcher, sender);
	sender->state = SENDER_COLLECTING;
	while (batcher->first && !batcher->stopping) {
		await_company(batcher);
		if (!send_one_batch(batcher, sender))
			break;
	}
	sender->state = SENDER_IDLE;
	pthread_mutex_unlock(&batcher->mutex);
}

/* The pool is going down: meta_batcher_free answers the queue. */
static void sender_cancel(struct work_item *item)
{
	(void)item;
}

/* ---- asking ---- */

/* Lock held. Whether the queue is more than the senders that are to take it can take. */
static bool needs_sender(const struct meta_batcher *batcher)
{
	size_t takers = 0;
	for (size_t i = 0; i < SENDERS_MAX; i++)
		takers +=
		    batcher->senders[i].state == SENDER_COLLECTING || batcher->senders[i].state == SENDER_STANDBY;
	return batcher->queued > takers * CALL_NAMES_MAX;
}

/* Lock held. BUSY when all are running. */
static enum hfkv_status start_sender(struct meta_batcher *batcher)
{
	for (size_t i = 0; i < SENDERS_MAX; i++) {
		struct sender *sender = &batcher->senders[i];
		if (sender->state != SENDER_IDLE)
			continue;
		*sender = (struct sender){ { sender_run, sender_cancel, NULL }, batcher, SENDER_STANDBY, 0 };
		enum hfkv_status status = work_pool_submit(batcher->pool, &sender->item);
		if (status != HFKV_OK)
			sender->state = SENDER_IDLE;
		return status;
	}
	return HFKV_BUSY;
}

/* Lock held. */
static struct inquiry *new_inquiry(struct meta_batcher *batcher, const char *path)
{
	const char *prefix = batcher->settings.prefix;
	size_t prefix_bytes = prefix[0] ? strlen(prefix) + 1 : 0;
	struct inquiry *inquiry = calloc(1, sizeof(*inquiry) + prefix_bytes + strlen(path) + 1);
	if (!inquiry)
		return NULL;
	sprintf(inquiry->full_path, "%s%s%s", prefix, prefix[0] ? "/" : "", path);
	inquiry->path = inquiry->full_path + prefix_bytes;
	inquiry->deadline = deadline_after_ms(batcher->settings.timeout_ms);
	HASH_ADD_KEYPTR(hh, batcher->by_path, inquiry->path, strlen(inquiry->path), inquiry);
	if (batcher->last)
		batcher->last->next = inquiry;
	else
		batcher->first = inquiry;
	batcher->last = inquiry;
	batcher->queued++;
	return inquiry;
}

/* Lock held. Queues one question; a status other than OK is its answer. */
static enum hfkv_status enqueue(struct meta_batcher *batcher, const struct meta_question *question)
{
	struct inquiry *inquiry;
	if (batcher->stopping)
		return HFKV_CANCELLED;
	HASH_FIND_STR(batcher->by_path, question->path, inquiry);
	if (!inquiry && HASH_COUNT(batcher->by_path) >= QUESTIONS_MAX)
		return HFKV_BUSY;
	struct waiter *waiter = malloc(sizeof(*waiter));
	if (!waiter)
		return HFKV_NO_MEMORY;
	if (!inquiry)
		inquiry = new_inquiry(batcher, question->path);
	if (!inquiry) {
		free(waiter);
		return HFKV_NO_MEMORY;
	}
	*waiter = (struct waiter){ inquiry->waiters, question->answered, question->token };
	inquiry->waiters = waiter;
	return HFKV_OK;
}

/* Lock held. Gets the queue moving; detaches it when nobody can be had to send it. */
static struct inquiry *dispatch(struct meta_batcher *batcher, enum hfkv_status *ret_status)
{
	*ret_status = HFKV_OK;
	while (*ret_status == HFKV_OK && needs_sender(batcher))
		*ret_status = start_sender(batcher);
	if (batcher->queued >= CALL_NAMES_MAX || batcher->hurried)
		pthread_cond_broadcast(&batcher->changed);
	bool helpless = *ret_status != HFKV_OK && *ret_status != HFKV_BUSY;
	for (size_t i = 0; i < SENDERS_MAX; i++)
		helpless &= batcher->senders[i].state == SENDER_IDLE;
	size_t count;
	return helpless ? take_batch(batcher, &count) : NULL;
}

/* Whether `path` below the prefix could name an object; what it is answered with at once if not. */
static enum hfkv_status check_question(const struct meta_batcher *batcher, const char *path)
{
	const char *prefix = batcher->settings.prefix;
	if (strlen(prefix) + 1 + strlen(path) > OBJECT_PATH_MAX_BYTES + (prefix[0] == '\0'))
		return HFKV_OVERSIZE;
	return object_path_check(path);
}

void meta_batcher_ask(struct meta_batcher *batcher, const struct meta_question *questions, size_t count)
{
	struct fault fault = FAULT_NONE;
	for (size_t i = 0; i < count; i++) {
		enum hfkv_status status = check_question(batcher, questions[i].path);
		if (status == HFKV_OK) {
			SCOPED_LOCK(&batcher->mutex);
			status = enqueue(batcher, &questions[i]);
		}
		if (status == HFKV_OK)
			continue;
		status =
		    fault_set(&fault, status, "stat of '%s': %s", questions[i].path, hfkv_status_name(status));
		questions[i].answered(questions[i].token, status, NULL, &fault);
	}
	enum hfkv_status status;
	pthread_mutex_lock(&batcher->mutex);
	if (count > 0 && questions[0].asker)
		asker_crowd_note(&batcher->crowd, questions[0].asker, clock_now_ms());
	else
		batcher->hurried = batcher->queued > 0;
	struct inquiry *orphans = dispatch(batcher, &status);
	pthread_mutex_unlock(&batcher->mutex);
	if (orphans) {
		(void)fault_set(&fault, status, "stat: no thread to ask with");
		finish_batch(batcher, orphans, NULL, NULL, &fault);
	}
}

/* ---- life cycle ---- */

enum hfkv_status meta_batcher_new(const struct meta_batcher_settings *settings, struct meta_batcher **ret_batcher)
{
	struct meta_batcher *batcher = calloc(1, sizeof(*batcher));
	if (!batcher)
		return HFKV_NO_MEMORY;
	struct work_pool_settings pool = { "hfkv-stat", SENDERS_MAX, SENDERS_MAX, 10000, 0 };
	enum hfkv_status status = work_pool_new(&pool, &batcher->pool);
	if (status != HFKV_OK) {
		free(batcher);
		return status;
	}
	batcher->settings = *settings;
	pthread_mutex_init(&batcher->mutex, NULL);
	condition_init(&batcher->changed);
	*ret_batcher = batcher;
	return HFKV_OK;
}

void meta_batcher_free(struct meta_batcher *batcher)
{
	if (!batcher)
		return;
	pthread_mutex_lock(&batcher->mutex);
	batcher->stopping = true;
	pthread_cond_broadcast(&batcher->changed);
	pthread_mutex_unlock(&batcher->mutex);
	work_pool_free(batcher->pool);
	struct fault fault = FAULT_NONE;
	(void)fault_set(&fault, HFKV_CANCELLED, "stat: the cache is closing");
	finish_batch(batcher, batcher->first, NULL, NULL, &fault);
	pthread_mutex_destroy(&batcher->mutex);
	pthread_cond_destroy(&batcher->changed);
	free(batcher);
}

uint64_t meta_batcher_calls(struct meta_batcher *batcher)
{
	SCOPED_LOCK(&batcher->mutex);
	return batcher->calls;
}
