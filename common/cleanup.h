/*
 * Ownership made visible: scope-bound release, and an explicit word for handing over.
 *
 *     CLEANUP(free_pointer) char *path = strdup(name);
 *     CLEANUP(close_fd) int fd = open(...);
 *     ...
 *     *ret_fd = TAKE_FD(fd);     the one line where ownership moves
 *
 * Every release function here accepts the "nothing" value (NULL, -1) and does nothing with it.
 * A type with its own destructor `thing_free(struct thing *)` gets its scope form from
 * DEFINE_CLEANUP(thing_free, struct thing *), which defines thing_freep.
 */
#ifndef COMMON_CLEANUP_H
#define COMMON_CLEANUP_H

#include "common/attributes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

#define DEFINE_CLEANUP(function, type)                                                             \
	MAYBE_UNUSED static inline void function##p(type *pointer)                                 \
	{                                                                                          \
		if (*pointer)                                                                      \
			function(*pointer);                                                        \
	}                                                                                          \
	struct function##_needs_a_semicolon

/* The value of `pointer`, which becomes NULL: the receiver now owns it. */
#define TAKE_PTR(pointer)                                                                          \
	({                                                                                         \
		__typeof__(pointer) *taken_from_ = &(pointer);                                     \
		__typeof__(pointer) taken_ = *taken_from_;                                         \
		*taken_from_ = NULL;                                                               \
		taken_;                                                                            \
	})

/* The value of `fd`, which becomes -1: the receiver now owns it. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *taken_from_ = &(fd);                                                          \
		int taken_ = *taken_from_;                                                         \
		*taken_from_ = -1;                                                                 \
		taken_;                                                                            \
	})

/* For CLEANUP on any malloc'd pointer. */
MAYBE_UNUSED static inline void free_pointer(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

/* For CLEANUP on a file descriptor; keeps errno. */
MAYBE_UNUSED static inline void close_fd(int *fd)
{
	if (*fd < 0)
		return;
	int saved = errno;
	close(*fd);
	errno = saved;
}

/* For CLEANUP on a stdio stream. */
MAYBE_UNUSED static inline void close_stream(FILE **stream)
{
	if (*stream)
		fclose(*stream);
}

MAYBE_UNUSED static inline void unlock_mutexp(pthread_mutex_t **mutex)
{
	if (*mutex)
		pthread_mutex_unlock(*mutex);
}

MAYBE_UNUSED static inline pthread_mutex_t *lock_mutex(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

#define SCOPE_NAME_JOIN_(a, b) a##b
#define SCOPE_NAME_(a, b)      SCOPE_NAME_JOIN_(a, b)

/* Holds `mutex` until the end of the enclosing block. */
#define SCOPED_LOCK(mutex)                                                                         \
	CLEANUP(unlock_mutexp)                                                                     \
	MAYBE_UNUSED pthread_mutex_t *SCOPE_NAME_(scoped_lock_, __LINE__) = lock_mutex(mutex)

#endif
