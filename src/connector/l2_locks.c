#include "src/connector/l2_locks.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct l2_lock {
	size_t count;
	bool is_leaving; /* then count is 0 */
	UT_hash_handle hh;
	char key[];
};

void l2_locks_done(struct l2_locks *locks)
{
	struct l2_lock *lock, *next;
	HASH_ITER(hh, locks->entries, lock, next)
	{
		HASH_DEL(locks->entries, lock);
		free(lock);
	}
	locks->locked_keys = 0;
}

static struct l2_lock *find(struct l2_locks *locks, const char *key)
{
	struct l2_lock *lock;
	HASH_FIND_STR(locks->entries, key, lock);
	return lock;
}

static struct l2_lock *add(struct l2_locks *locks, const char *key)
{
	size_t length = strlen(key);
	struct l2_lock *lock = calloc(1, sizeof(*lock) + length + 1);
	if (!lock)
		return NULL;
	memcpy(lock->key, key, length + 1);
	HASH_ADD_KEYPTR(hh, locks->entries, lock->key, length, lock);
	return lock;
}

static void drop(struct l2_locks *locks, struct l2_lock *lock)
{
	HASH_DEL(locks->entries, lock);
	free(lock);
}

bool l2_locks_acquire(struct l2_locks *locks, const char *key)
{
	struct l2_lock *lock = find(locks, key);
	if (!lock)
		lock = add(locks, key);
	if (!lock || lock->is_leaving)
		return false;
	locks->locked_keys += lock->count++ == 0;
	return true;
}

void l2_locks_release(struct l2_locks *locks, const char *key)
{
	struct l2_lock *lock = find(locks, key);
	if (!lock || lock->count == 0)
		return;
	if (--lock->count > 0)
		return;
	locks->locked_keys--;
	drop(locks, lock);
}

bool l2_locks_begin_leaving(struct l2_locks *locks, const char *key)
{
	if (find(locks, key))
		return false;
	struct l2_lock *lock = add(locks, key);
	if (lock)
		lock->is_leaving = true;
	return lock != NULL;
}

void l2_locks_end_leaving(struct l2_locks *locks, const char *key)
{
	struct l2_lock *lock = find(locks, key);
	if (lock && lock->is_leaving)
		drop(locks, lock);
}
