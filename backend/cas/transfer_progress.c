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

bool transfer_progress_add(struct transfer_progress *progress, uint64_t bytes)
{
	if (!progress->tell)
		return true;
	SCOPED_LOCK(&progress->mutex);
	progress->bytes_done += bytes;
	int64_t now_ms = clock_now_ms();
	if (!progress->cancelled && progress->bytes_done > progress->bytes_told &&
	    now_ms - progress->told_at_ms >= TELL_EVERY_MS) {
		progress->told_at_ms = now_ms;
		progress->bytes_told = progress->bytes_done;
		progress->cancelled = !progress->tell(progress->context, progress->bytes_done);
	}
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
