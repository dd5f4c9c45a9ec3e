#include "fuse/fs_loop.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#define THREADS_MIN 4
#define THREADS_MAX 16

static void free_buffer(void *argument)
{
	struct fuse_buf *buffer = argument;
	free(buffer->mem);
}

/* The only place where the thread may be cancelled is the wait for a request, as in libfuse's own loop. */
static int receive(struct fs_session *session, struct fuse_buf *buffer)
{
	int ignored;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	int length = fuse_session_receive_buf(session->fuse, buffer);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	return length;
}

static void *serve(void *argument)
{
	struct fs_session *session = argument;
	struct fuse_buf buffer = { .mem = NULL };
	int ignored;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_setname_np(pthread_self(), "hfkv-fuse");
	pthread_cleanup_push(free_buffer, &buffer);
	while (!fuse_session_exited(session->fuse)) {
		int length = receive(session, &buffer);
		if (length == -EINTR)
			continue;
		if (length <= 0)
			break;
		fuse_session_process_buf(session->fuse, &buffer);
	}
	fs_session_stop(session);
	pthread_cleanup_pop(1);
	return NULL;
}

static size_t thread_count(void)
{
	long count = 2 * sysconf(_SC_NPROCESSORS_ONLN);
	if (count < THREADS_MIN)
		return THREADS_MIN;
	return count > THREADS_MAX ? THREADS_MAX : (size_t)count;
}

static void wait_for_stop(struct fs_session *session)
{
	uint64_t count;
	while (read(session->stop_event, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

enum hfkv_status fs_loop_run(struct fs_session *session, struct fault *fault)
{
	pthread_t threads[THREADS_MAX];
	size_t wanted = thread_count(), started = 0;
	int error = 0;
	while (started < wanted && error == 0) {
		error = pthread_create(&threads[started], NULL, serve, session);
		started += error == 0;
	}
	if (started > 0)
		wait_for_stop(session);
	fuse_session_exit(session->fuse);
	for (size_t i = 0; i < started; i++)
		pthread_cancel(threads[i]);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started > 0 ? HFKV_OK : fault_set_errno(fault, error, "starting the threads of the mount");
}
