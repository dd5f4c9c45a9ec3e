/*
 * A line on the terminal for a person who waits: bytes, rate, time left. Silent when stderr is not a terminal.
 *
 * progress_report and progress_add may be called from any thread; the rest from the owner.
 */
#ifndef SRC_CLI_PROGRESS_H
#define SRC_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	pthread_mutex_t mutex;
	bool shown; /* stderr is a terminal */
	const char *what;
	uint64_t total_bytes, done_bytes;
	int64_t started_at_ms, drawn_at_ms;
};

/* `what` is borrowed, e.g. "storing 32 files". */
void progress_begin(struct progress *progress, const char *what, uint64_t total_bytes);

/* An object_progress for one call that reports its own running total; `context` is a struct progress. Never cancels. */
bool progress_report(void *context, uint64_t bytes_done);

/* Adds bytes of one part of the work. */
void progress_add(struct progress *progress, uint64_t bytes);

/* Removes the line. */
void progress_end(struct progress *progress);

/* "2.4 MB": decimal units, as rates are. Writes at most `bytes` including the NUL; returns `text`. */
char *progress_format_bytes(uint64_t value, char *text, int bytes);

#endif
