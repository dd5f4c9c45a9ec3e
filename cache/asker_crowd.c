#include "cache/asker_crowd.h"

#define CROWD_WINDOW_MS 10 /* CROWD_ASKERS within this are a crowd, */
#define CROWD_MEMORY_MS 20 /* and more of it may come for so long */
#define PAUSE_MS        3
#define WAIT_MS         25
#define LARGE_CALL      16 /* names; after one of these the windows double */
#define DOUBLINGS_MAX   3
#define ALONE_MAX       3
#define ALONE_MS        1000

void asker_crowd_note(struct asker_crowd *crowd, uint64_t asker, int64_t now_ms)
{
	size_t others = 0, slot = 0;
	bool known = false;
	crowd->last_arrival_ms = now_ms;
	for (size_t i = 0; i < CROWD_ASKERS; i++) {
		if (crowd->recent[i].asker == asker) {
			slot = i;
			known = true;
		} else if (crowd->recent[i].asker != 0 && now_ms - crowd->recent[i].at_ms <= CROWD_WINDOW_MS) {
			others++;
		}
	}
	/* A new one takes the place of whoever asked longest ago. */
	for (size_t i = 1; i < CROWD_ASKERS && !known; i++)
		if (crowd->recent[i].at_ms < crowd->recent[slot].at_ms)
			slot = i;
	crowd->recent[slot].asker = asker;
	crowd->recent[slot].at_ms = now_ms;
	if (others + 1 >= CROWD_ASKERS)
		crowd->lasts_until_ms = now_ms + CROWD_MEMORY_MS;
}

bool asker_crowd_is_on(const struct asker_crowd *crowd, int64_t now_ms)
{
	return now_ms < crowd->lasts_until_ms && now_ms >= crowd->alone_until_ms;
}

int64_t asker_crowd_wait_until(const struct asker_crowd *crowd, int64_t began_ms)
{
	int64_t end_ms = began_ms + ((int64_t)WAIT_MS << crowd->doublings);
	int64_t pause_end_ms = crowd->last_arrival_ms + ((int64_t)PAUSE_MS << crowd->doublings);
	return pause_end_ms < end_ms ? pause_end_ms : end_ms;
}

void asker_crowd_waited(struct asker_crowd *crowd, size_t names, int64_t now_ms)
{
	crowd->alone = names > 1 ? 0 : crowd->alone + 1;
	if (crowd->alone < ALONE_MAX)
		return;
	crowd->alone_until_ms = now_ms + ALONE_MS;
	crowd->alone--; /* one more try when that is over */
}

void asker_crowd_called(struct asker_crowd *crowd, size_t names)
{
	if (names < LARGE_CALL)
		crowd->doublings = 0;
	else if (crowd->doublings < DOUBLINGS_MAX)
		crowd->doublings++;
}
