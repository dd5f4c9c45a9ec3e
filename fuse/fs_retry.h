/*
 * Threads whose open was answered ESTALE and who are about to look the name up once more.
 *
 * An open that must not share the inode it reached cannot be answered with another inode. It is answered ESTALE, which the
 * kernel retries once: it looks the name up again and opens what it is told. The retry is noted here; the look-up then
 * reserves a fresh inode under the very name it asks for (the inode that was reached may have moved to another name
 * meanwhile), and the second open gets that.
 *
 * Bounded: beyond FS_RETRY_MAX threads at a time the oldest note is lost, and that caller sees ESTALE. Any thread.
 */
#ifndef FUSE_FS_RETRY_H
#define FUSE_FS_RETRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FS_RETRY_MAX 256

struct fs_retry_note {
	pid_t thread;
	bool truncates;
	int64_t expires_at_ms;
};

struct fs_retries {
	pthread_mutex_t mutex;
	atomic_uint count; /* read without the mutex: mostly 0 */
	struct fs_retry_note notes[FS_RETRY_MAX];
};

void fs_retries_init(struct fs_retries *retries);
void fs_retries_done(struct fs_retries *retries);

/* Notes that `thread` will look up and open again. */
void fs_retry_note(struct fs_retries *retries, pid_t thread, bool truncates);

/* Whether `thread` is noted; *ret_truncates: how it opens. The note stays until fs_retry_end. */
bool fs_retry_expected(struct fs_retries *retries, pid_t thread, bool *ret_truncates);

/* The thread has opened, or created: nothing is expected of it any more. */
void fs_retry_end(struct fs_retries *retries, pid_t thread);

#endif
