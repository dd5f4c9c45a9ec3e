/*
 * Tells a crowd of askers from one asker who asks in a loop, and how long it pays to wait for more of a crowd.
 *
 * Three different askers within 10 ms are a crowd. While it lasts, a call waits until arrivals pause for 3 ms, at
 * most 25 ms; both double while calls come out large. When waiting brought nobody three times in a row, it is
 * given up for a second: a kernel that hands over one look-up after the other shows many askers, never side by
 * side.
 *
 * Plain structure; the owner's lock protects it. Times are clock_now_ms of the caller.
 */
#ifndef CACHE_ASKER_CROWD_H
#define CACHE_ASKER_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CROWD_ASKERS 3

struct asker_crowd {
	struct {
		uint64_t asker; /* 0: none */
		int64_t at_ms;
	} recent[CROWD_ASKERS]; /* different ones */
	int64_t last_arrival_ms;
	int64_t lasts_until_ms;
	int64_t alone_until_ms; /* company is not waited for before this */
	unsigned alone;         /* waits in a row that brought nobody */
	unsigned doublings;     /* of the windows */
};

/* Somebody asks; `asker` differs between askers and is not 0. */
void asker_crowd_note(struct asker_crowd *crowd, uint64_t asker, int64_t now_ms);

/* Whether a call that could go now should wait for more. */
bool asker_crowd_is_on(const struct asker_crowd *crowd, int64_t now_ms);

/* Until when a call that began to wait at `began_ms` goes on waiting; moves with arrivals. */
int64_t asker_crowd_wait_until(const struct asker_crowd *crowd, int64_t began_ms);

/* A call waited and then had so many names to ask for. */
void asker_crowd_waited(struct asker_crowd *crowd, size_t names, int64_t now_ms);

/* A call for so many names returned. */
void asker_crowd_called(struct asker_crowd *crowd, size_t names);

#endif
