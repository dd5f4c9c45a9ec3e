#include "fuse/fs_retry.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <string.h>

#define RETRY_MS 5000 /* a retry follows at once; this is for callers that were killed in between */

void fs_retries_init(struct fs_retries *retries)
{
	memset(retries, 0, sizeof(*retries));
	pthread_mutex_init(&retries->mutex, NULL);
}

void fs_retries_done(struct fs_retries *retries)
{
	pthread_mutex_destroy(&retries->mutex);
}

/* The mutex is held. Removes note `i` by moving the last one there. */
static void forget_note(struct fs_retries *retries, unsigned i)
{
	unsigned last = atomic_load(&retries->count) - 1;
	retries->notes[i] = retries->notes[last];
	atomic_store(&retries->count, last);
}

/* The mutex is held. The index of the thread's note, or count; drops what has expired on the way. */
static unsigned find_note(struct fs_retries *retries, pid_t thread)
{
	int64_t now_ms = clock_now_ms();
	unsigned i = 0;
	while (i < atomic_load(&retries->count)) {
		if (retries->notes[i].expires_at_ms <= now_ms)
			forget_note(retries, i);
		else if (retries->notes[i].thread == thread)
			return i;
		else
			i++;
	}
	return i;
}

void fs_retry_note(struct fs_retries *retries, pid_t thread, bool truncates)
{
	SCOPED_LOCK(&retries->mutex);
	unsigned i = find_note(retries, thread), count = atomic_load(&retries->count);
	if (i == count && count == FS_RETRY_MAX)
		i = 0;
	else if (i == count)
		atomic_store(&retries->count, count + 1);
	retries->notes[i] = (struct fs_retry_note){ thread, truncates, clock_now_ms() + RETRY_MS };
}

bool fs_retry_expected(struct fs_retries *retries, pid_t thread, bool *ret_truncates)
{
	if (atomic_load(&retries->count) == 0)
		return false;
	SCOPED_LOCK(&retries->mutex);
	unsigned i = find_note(retries, thread);
	if (i == atomic_load(&retries->count))
		return false;
	*ret_truncates = retries->notes[i].truncates;
	return true;
}

void fs_retry_end(struct fs_retries *retries, pid_t thread)
{
	if (atomic_load(&retries->count) == 0)
		return;
	SCOPED_LOCK(&retries->mutex);
	unsigned i = find_note(retries, thread);
	if (i < atomic_load(&retries->count))
		forget_note(retries, i);
}
