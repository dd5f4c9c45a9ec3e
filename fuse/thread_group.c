#include "fuse/thread_group.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <string.h>

/* The process of a thread, 0 when it cannot be told. */
static pid_t group_of(pid_t thread)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[512]; /* "Tgid:" stands within the first lines */
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	const char *line = strstr(text, "\nTgid:");
	return line ? (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10) : 0;
}

bool thread_group_shared(pid_t a, pid_t b)
{
	if (a == 0 || b == 0)
		return false;
	if (a == b)
		return true;
	pid_t group = group_of(a);
	return group != 0 && group == group_of(b);
}
