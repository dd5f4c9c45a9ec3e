#include "backend/store/hub_names.h"

#include "backend/http/http_retry.h"
#include "backend/hub/hub_paths_info.h"

#include <string.h>

#define CHECK_RESERVE_MAX_MS 5000

/* One call's worth of changes. What is still to be made, or has failed for good, is pending. */
struct attempt {
	struct hub_batch_line *lines; /* room for as many as there are pending */
	struct hub_name_change **pending;
	size_t count;
	bool bucket_made;
};

/* ---- what landed ---- */

static bool has_landed(const struct hub_name_change *change, const struct hub_path_info *info)
{
	if (change->kind == HUB_BATCH_DELETE)
		return !info->found && !info->senseless;
	return info->found && info->entry.size_bytes == change->size_bytes &&
	       content_hash_equal(&info->entry.hash, &change->hash);
}

/* Asks the Hub about the pending changes: those that landed are OK and no longer pending. */
static enum hfkv_status take_off_landed(const struct hub_names *names, struct attempt *attempt,
					struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) struct hub_path_info *infos = calloc(attempt->count, sizeof(*infos));
	if (!infos)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory to check a batch");
	for (size_t i = 0; i < attempt->count; i++)
		infos[i].path = attempt->pending[i]->path;
	enum hfkv_status status = hub_paths_info_get(names->hub, infos, attempt->count, deadline, fault);
	if (status != HFKV_OK)
		return status;
	size_t kept = 0;
	for (size_t i = 0; i < attempt->count; i++) {
		struct hub_name_change *change = attempt->pending[i];
		if (has_landed(change, &infos[i]))
			change->status = HFKV_OK;
		else
			attempt->pending[kept++] = change;
	}
	attempt->count = kept;
	return HFKV_OK;
}

/* ---- one call ---- */

/* A quarter of the time that is left, at most 5 s, is kept for asking what landed. */
static struct deadline keep_time_to_check(struct deadline deadline)
{
	int64_t left_ms = deadline_left_ms(deadline);
	if (left_ms == INT64_MAX)
		return deadline;
	int64_t kept_ms = left_ms / 4 < CHECK_RESERVE_MAX_MS ? left_ms / 4 : CHECK_RESERVE_MAX_MS;
	return deadline_after_ms(left_ms - kept_ms);
}

static enum hfkv_status send_pending(const struct hub_names *names, struct attempt *attempt,
				     struct deadline deadline, struct fault *fault)
{
	for (size_t i = 0; i < attempt->count; i++) {
		const struct hub_name_change *change = attempt->pending[i];
		attempt->lines[i] = (struct hub_batch_line){ .kind = change->kind,
							     .path = change->path,
							     .hash = change->hash,
							     .modified_at_ms = change->modified_at_ms };
	}
	return hub_batch_commit(names->hub, attempt->lines, attempt->count, keep_time_to_check(deadline), fault);
}

/* The Hub told the outcome of every line: what it refused stays pending, with its reason. True: a delete is among
 * it. */
static bool take_outcomes(struct attempt *attempt)
{
	size_t kept = 0;
	bool delete_refused = false;
	for (size_t i = 0; i < attempt->count; i++) {
		struct hub_name_change *change = attempt->pending[i];
		change->status = HFKV_OK;
		if (attempt->lines[i].outcome != HUB_BATCH_REFUSED)
			continue;
		change->status = fault_set(&change->fault, HFKV_UNAVAILABLE, "object '%s': the Hub refused it: %s",
					   change->path, attempt->lines[i].reason);
		delete_refused = delete_refused || change->kind == HUB_BATCH_DELETE;
		attempt->pending[kept++] = change;
	}
	attempt->count = kept;
	return delete_refused;
}

static enum hfkv_status send_once(const struct hub_names *names, struct attempt *attempt, struct deadline deadline,
				  struct fault *fault)
{
	enum hfkv_status status = send_pending(names, attempt, deadline, fault);
	if (status == HFKV_NOT_FOUND && !attempt->bucket_made) {
		attempt->bucket_made = true;
		status = names->on_missing_bucket(names->context, deadline, fault);
		if (status == HFKV_OK)
			status = send_pending(names, attempt, deadline, fault);
	}
	return status;
}

/* Whether a call that failed like this may have been applied all the same. */
static bool may_have_landed(enum hfkv_status status)
{
	return status != HFKV_AUTH && status != HFKV_FORBIDDEN && status != HFKV_NOT_FOUND &&
	       status != HFKV_RATE_LIMITED && status != HFKV_NO_MEMORY && status != HFKV_CANCELLED;
}

/* Sends until every outcome is known or it is no use. What is pending afterwards has failed: with its own status
 * when this returns OK, else with the one returned. */
static enum hfkv_status change_some(const struct hub_names *names, struct attempt *attempt,
				    struct deadline deadline, struct fault *fault)
{
	struct http_retry retry = http_retry_begin(hub_client_http(names->hub), deadline, NULL);
	size_t before = attempt->count;
	enum hfkv_status status;
	do {
		*fault = FAULT_NONE;
		status = send_once(names, attempt, deadline, fault);
		if (status == HFKV_OK) {
			/* A delete of what is not there may be refused: it is as good as done. */
			if (take_outcomes(attempt) && take_off_landed(names, attempt, deadline, NULL) != HFKV_OK)
				return HFKV_OK;
			return HFKV_OK;
		}
		if (may_have_landed(status) && take_off_landed(names, attempt, deadline, NULL) == HFKV_OK &&
		    attempt->count == 0)
			return HFKV_OK;
	} while (attempt->count == before && http_retry_again(&retry, status, fault));
	return status;
}

/* ---- the public calls ---- */

static void begin_attempt(struct attempt *attempt, struct hub_name_change *changes, size_t count)
{
	attempt->count = count;
	attempt->bucket_made = false;
	for (size_t i = 0; i < count; i++) {
		changes[i].fault = FAULT_NONE;
		attempt->pending[i] = &changes[i];
	}
}

static void end_attempt(struct attempt *attempt, enum hfkv_status status, const struct fault *fault)
{
	for (size_t i = 0; status != HFKV_OK && i < attempt->count; i++) {
		attempt->pending[i]->status = status;
		attempt->pending[i]->fault = *fault;
	}
}

static enum hfkv_status first_failure(const struct hub_name_change *changes, size_t count, struct fault *fault)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i].status == HFKV_OK)
			continue;
		if (fault)
			*fault = changes[i].fault;
		return changes[i].status;
	}
	return HFKV_OK;
}

enum hfkv_status hub_names_change(const struct hub_names *names, struct hub_name_change *changes, size_t count,
				  struct deadline deadline, struct fault *fault)
{
	size_t at_once = count < HUB_BATCH_MAX_LINES ? count : HUB_BATCH_MAX_LINES;
	CLEANUP(free_pointer) struct hub_batch_line *lines = calloc(at_once, sizeof(*lines));
	CLEANUP(free_pointer) struct hub_name_change **pending = calloc(at_once, sizeof(*pending));
	struct attempt attempt = { .lines = lines, .pending = pending };
	for (size_t i = 0; i < count; i++)
		changes[i].status = HFKV_NO_MEMORY; /* until it is known better */
	if (count > 0 && (!lines || !pending))
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a batch of %zu names", count);
	for (size_t at = 0; at < count; at += at_once) {
		struct fault own = FAULT_NONE;
		begin_attempt(&attempt, changes + at, count - at < at_once ? count - at : at_once);
		enum hfkv_status status = change_some(names, &attempt, deadline, &own);
		end_attempt(&attempt, status, &own);
	}
	return first_failure(changes, count, fault);
}

enum hfkv_status hub_names_check(const struct hub_names *names, struct hub_name_change *changes, size_t count,
				 struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) struct hub_name_change **pending = calloc(count, sizeof(*pending));
	struct attempt attempt = { .pending = pending };
	if (!pending)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory to check %zu names", count);
	begin_attempt(&attempt, changes, count);
	enum hfkv_status status = take_off_landed(names, &attempt, deadline, fault);
	for (size_t i = 0; status == HFKV_OK && i < attempt.count; i++)
		pending[i]->status =
		    fault_set(&pending[i]->fault, HFKV_UNAVAILABLE,
			      "object '%s': the Hub took the change and does not show it", pending[i]->path);
	return status;
}
