#include "src/cli/daemonize.h"

#include "common/cleanup.h"
#include "src/cli/commands.h"

#include <fcntl.h>
#include <sys/wait.h>

/* The first process: a byte means ready, the end of the pipe that the daemon is gone. */
static _Noreturn void wait_for_daemon(pid_t daemon, int fd)
{
	char byte;
	ssize_t got;
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1)
		_exit(CLI_DONE);
	int wait_status = 0;
	while (waitpid(daemon, &wait_status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) ? WEXITSTATUS(wait_status) : CLI_FAILED);
}

enum hfkv_status daemonize(struct daemon_start *ret_start, struct fault *fault)
{
	int pipe_fds[2];
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return fault_set_errno(fault, errno, "cannot go to the background");
	pid_t child = fork();
	if (child < 0) {
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return fault_set_errno(fault, errno, "cannot go to the background");
	}
	if (child > 0) {
		close(pipe_fds[1]);
		wait_for_daemon(child, pipe_fds[0]);
	}
	close(pipe_fds[0]);
	setsid();
	ret_start->ready_fd = pipe_fds[1];
	return HFKV_OK;
}

static void leave_terminal(int log_fd)
{
	CLEANUP(close_fd) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		return;
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	dup2(log_fd >= 0 ? log_fd : null_fd, STDERR_FILENO);
}

void daemonize_ready(struct daemon_start *start, int log_fd)
{
	if (start->ready_fd < 0)
		return;
	leave_terminal(log_fd);
	if (chdir("/") != 0)
		return; /* the root is always there; without it the daemon still works */
	ssize_t written = write(start->ready_fd, "r", 1);
	(void)written; /* a first process that was killed needs no answer */
	close(start->ready_fd);
	start->ready_fd = -1;
}
