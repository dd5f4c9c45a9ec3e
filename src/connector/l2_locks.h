/*
 * Which keys of an L2 adapter are locked, how often, and which are being deleted right now.
 *
 * A key found by a lookup is locked until the caller unlocks it as often. A key that is leaving cannot be locked,
 * and a locked key cannot begin to leave: so nothing that a caller counts on is deleted. Not thread-safe: the
 * adapter's lock is held in every call.
 */
#ifndef SRC_CONNECTOR_L2_LOCKS_H
#define SRC_CONNECTOR_L2_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

struct l2_lock;

struct l2_locks {
	struct l2_lock *entries;
	size_t locked_keys;
};

/* Frees everything; a zeroed struct is fine. */
void l2_locks_done(struct l2_locks *locks);

/* One more lock. False when the key is leaving, or without memory: then it counts as not found. */
bool l2_locks_acquire(struct l2_locks *locks, const char *key);
/* One lock less; an unknown key is ignored. */
void l2_locks_release(struct l2_locks *locks, const char *key);

/* Marks a key as leaving. False when it is locked or leaving already. */
bool l2_locks_begin_leaving(struct l2_locks *locks, const char *key);
void l2_locks_end_leaving(struct l2_locks *locks, const char *key);

#endif
