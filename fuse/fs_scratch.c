#include "fuse/fs_scratch.h"

#include "common/clock.h"
#include "common/log.h"
#include "fuse/fs_place.h"

#define SWEEP_BATCH 64

struct fs_scratch_sweeper {
	pthread_mutex_t mutex;
	pthread_cond_t sooner; /* something earlier came, or stop */
	pthread_t thread;
	struct fs_inode *first; /* by `later`; referenced */
	size_t count;
	int64_t next_at_ms;
	bool stopping;
};

/* The sweeper's mutex is held. */
static void put_on(struct fs_scratch_sweeper *sweeper, struct fs_inode *inode)
{
	inode->waits = true;
	inode->sooner = NULL;
	inode->later = sweeper->first;
	if (inode->later)
		inode->later->sooner = inode;
	sweeper->first = inode;
	sweeper->count++;
}

/* The sweeper's mutex is held. */
static void take_off(struct fs_scratch_sweeper *sweeper, struct fs_inode *inode)
{
	if (inode->sooner)
		inode->sooner->later = inode->later;
	else
		sweeper->first = inode->later;
	if (inode->later)
		inode->later->sooner = inode->sooner;
	inode->sooner = inode->later = NULL;
	inode->waits = false;
	sweeper->count--;
}

static void *sweep_main(void *argument)
{
	struct fs_session *session = argument;
	struct fs_scratch_sweeper *sweeper = session->sweeper;
	pthread_mutex_lock(&sweeper->mutex);
	while (!sweeper->stopping) {
		struct deadline due = { sweeper->next_at_ms };
		if (deadline_wait(&sweeper->sooner, &sweeper->mutex, due))
			continue;
		pthread_mutex_unlock(&sweeper->mutex);
		int64_t next_at_ms = fs_scratch_sweep(session, clock_now_ms());
		pthread_mutex_lock(&sweeper->mutex);
		if (sweeper->next_at_ms <= clock_now_ms())
			sweeper->next_at_ms = next_at_ms;
	}
	pthread_mutex_unlock(&sweeper->mutex);
	return NULL;
}

enum hfkv_status fs_scratch_start(struct fs_session *session)
{
	struct fs_scratch_sweeper *sweeper = calloc(1, sizeof(*sweeper));
	if (!sweeper)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&sweeper->mutex, NULL);
	condition_init(&sweeper->sooner);
	sweeper->next_at_ms = INT64_MAX;
	session->sweeper = sweeper;
	if (pthread_create(&sweeper->thread, NULL, sweep_main, session) == 0)
		return HFKV_OK;
	pthread_mutex_destroy(&sweeper->mutex);
	pthread_cond_destroy(&sweeper->sooner);
	free(sweeper);
	session->sweeper = NULL;
	return HFKV_NO_MEMORY;
}

void fs_scratch_stop(struct fs_session *session)
{
	struct fs_scratch_sweeper *sweeper = session->sweeper;
	if (!sweeper)
		return;
	pthread_mutex_lock(&sweeper->mutex);
	sweeper->stopping = true;
	pthread_cond_signal(&sweeper->sooner);
	pthread_mutex_unlock(&sweeper->mutex);
	pthread_join(sweeper->thread, NULL);
	while (sweeper->first) {
		struct fs_inode *inode = sweeper->first;
		take_off(sweeper, inode);
		inode_table_unref(session->inodes, inode);
	}
	pthread_mutex_destroy(&sweeper->mutex);
	pthread_cond_destroy(&sweeper->sooner);
	free(sweeper);
	session->sweeper = NULL;
}

void fs_scratch_expire_after(struct fs_session *session, struct fs_inode *inode, int64_t life_ms)
{
	int64_t at_ms = clock_now_ms() + life_ms;
	pthread_mutex_lock(&inode->mutex);
	inode->file.expires_at_ms = at_ms;
	pthread_mutex_unlock(&inode->mutex);
	inode_table_ref(session->inodes, inode);
	struct fs_scratch_sweeper *sweeper = session->sweeper;
	pthread_mutex_lock(&sweeper->mutex);
	bool waits = inode->waits;
	if (!waits)
		put_on(sweeper, inode);
	if (at_ms < sweeper->next_at_ms) {
		sweeper->next_at_ms = at_ms;
		pthread_cond_signal(&sweeper->sooner);
	}
	pthread_mutex_unlock(&sweeper->mutex);
	if (waits)
		inode_table_unref(session->inodes, inode);
}

void fs_scratch_cancel_expiry(struct fs_session *session, struct fs_inode *inode)
{
	pthread_mutex_lock(&inode->mutex);
	inode->file.expires_at_ms = 0;
	pthread_mutex_unlock(&inode->mutex);
	struct fs_scratch_sweeper *sweeper = session->sweeper;
	pthread_mutex_lock(&sweeper->mutex);
	bool waited = inode->waits;
	if (waited)
		take_off(sweeper, inode);
	pthread_mutex_unlock(&sweeper->mutex);
	if (waited)
		inode_table_unref(session->inodes, inode);
}

/* Whether the inode leaves the list; *ret_ends: because its time has come. One that was opened before its last close was
 * noted leaves too: its next close puts it on again. */
static bool leaves_list(struct fs_inode *inode, int64_t now_ms, int64_t *next_at_ms, bool *ret_ends)
{
	SCOPED_LOCK(&inode->mutex);
	int64_t at_ms = inode->file.expires_at_ms;
	bool due = at_ms != 0 && at_ms <= now_ms;
	*ret_ends = due && inode->file.opens == 0;
	if (at_ms == 0 || due) {
		inode->file.expires_at_ms = 0;
		return true;
	}
	if (at_ms < *next_at_ms)
		*next_at_ms = at_ms;
	return false;
}

static void end_inode(struct fs_session *session, struct fs_inode *inode)
{
	if (log_enabled(LOG_LEVEL_DEBUG)) {
		CLEANUP(free_pointer) char *path = inode_table_path(session->inodes, inode);
		log_debug("scratch \"%s\" expires", path ? path : "");
	}
	inode_table_unbind(session->inodes, inode);
	fs_place_orphan(session, inode);
}

/* One pass: takes what leaves off the list, at most SWEEP_BATCH inodes with their references. */
static size_t collect(struct fs_scratch_sweeper *sweeper, int64_t now_ms, int64_t *next_at_ms,
		      struct fs_inode *leaving[SWEEP_BATCH], bool ends[SWEEP_BATCH])
{
	size_t count = 0;
	SCOPED_LOCK(&sweeper->mutex);
	for (struct fs_inode *inode = sweeper->first; inode && count < SWEEP_BATCH;) {
		struct fs_inode *later = inode->later;
		if (leaves_list(inode, now_ms, next_at_ms, &ends[count])) {
			take_off(sweeper, inode);
			leaving[count++] = inode;
		}
		inode = later;
	}
	return count;
}

int64_t fs_scratch_sweep(struct fs_session *session, int64_t now_ms)
{
	struct fs_inode *leaving[SWEEP_BATCH];
	bool ends[SWEEP_BATCH];
	int64_t next_at_ms;
	size_t count;
	do {
		next_at_ms = INT64_MAX;
		count = collect(session->sweeper, now_ms, &next_at_ms, leaving, ends);
		for (size_t i = 0; i < count; i++) {
			if (ends[i])
				end_inode(session, leaving[i]);
			inode_table_unref(session->inodes, leaving[i]);
		}
	} while (count == SWEEP_BATCH);
	return next_at_ms;
}

size_t fs_scratch_count(struct fs_session *session)
{
	SCOPED_LOCK(&session->sweeper->mutex);
	return session->sweeper->count;
}
