#include "backend/cas/transfer_progress.h"

#include "common/cleanup.h"
#include "common/clock.h"

#define TELL_EVERY_MS 100

void transfer_progress_init(struct transfer_progress *progress, xet_progress tell, void *context)
{
	*progress = (struct transfer_progress){ .tell = tell, .context = context };
	pthread_mutex_init(&progress->mutex, NULL);
}

void transfer_progress_done(struct transfer_progress *progress)
{
	pthread_mutex_destroy(&progress->mutex);
}

/* Counts, and tells whether this thread is the one to tell how far it has come. */
static bool count(struct transfer_progress *progress, uint64_t bytes, uint64_t *ret_done)
{
	SCOPED_LOCK(&progress->mutex);
	int64_t now_ms = clock_now_ms();
	progress->bytes_done += bytes;
	if (progress->is_telling || progress->cancelled || progress->bytes_done <= progress->bytes_told ||
	    now_ms - progress->told_at_ms < TELL_EVERY_MS)
		return false;
	progress->is_telling = true;
	progress->told_at_ms = now_ms;
	progress->bytes_told = *ret_done = progress->bytes_done;
	return true;
}

bool transfer_progress_add(struct transfer_progress *progress, uint64_t bytes)
{
	uint64_t done = 0;
	if (!progress->tell)
		return true;
	bool tells = count(progress, bytes, &done);
	bool goes_on = !tells || progress->tell(progress->context, done);
	SCOPED_LOCK(&progress->mutex);
	if (tells)
		progress->is_telling = false;
	if (!goes_on)
		progress->cancelled = true;
	return !progress->cancelled;
}

void transfer_progress_undo(struct transfer_progress *progress, uint64_t bytes)
{
	if (!progress->tell)
		return;
	SCOPED_LOCK(&progress->mutex);
	progress->bytes_done -= bytes;
}

void transfer_progress_restart(struct transfer_progress *progress)
{
	SCOPED_LOCK(&progress->mutex);
	progress->bytes_done = 0;
}

bool transfer_progress_is_cancelled(struct transfer_progress *progress)
{
	if (!progress->tell)
		return false;
	SCOPED_LOCK(&progress->mutex);
	return progress->cancelled;
}
