/*
 * Whether two threads of the system belong to one process, from /proc. The kernel names the thread that made a request.
 */
#ifndef FUSE_THREAD_GROUP_H
#define FUSE_THREAD_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

/* False when either is gone, 0 (outside our pid namespace), or /proc does not tell. Reads /proc unless they are equal. */
bool thread_group_shared(pid_t a, pid_t b);

#endif
