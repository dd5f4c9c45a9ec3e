/*
 * How far a transfer has come, told to a person now and then by whichever of its threads gets there.
 *
 * Any thread.
 */
#ifndef BACKEND_CAS_TRANSFER_PROGRESS_H
#define BACKEND_CAS_TRANSFER_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Called from any thread of the transfer, seldom, never two at a time; returning false cancels the transfer. */
typedef bool (*xet_progress)(void *context, uint64_t bytes_done);

/* Fields are the module's. */
struct transfer_progress {
	xet_progress tell; /* NULL: nobody wants to know */
	void *context;
	pthread_mutex_t mutex; /* over the rest; not held while telling */
	bool is_telling;
	uint64_t bytes_done, bytes_told;
	int64_t told_at_ms;
	bool cancelled;
};

void transfer_progress_init(struct transfer_progress *progress, xet_progress tell, void *context);
void transfer_progress_done(struct transfer_progress *progress);

/* `bytes` more are done. False: the listener has cancelled. */
bool transfer_progress_add(struct transfer_progress *progress, uint64_t bytes);
/* `bytes` that were added must be done again. What was told does not go back. */
void transfer_progress_undo(struct transfer_progress *progress, uint64_t bytes);
/* Everything must be done again. */
void transfer_progress_restart(struct transfer_progress *progress);
/* Whether the listener has cancelled. */
bool transfer_progress_is_cancelled(struct transfer_progress *progress);

#endif
