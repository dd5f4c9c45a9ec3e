#include "src/cli/service_notify.h"

#include "common/cleanup.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

void service_notify(const char *state)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (!name || !name[0] || strlen(name) >= sizeof(address.sun_path))
		return;
	strcpy(address.sun_path, name);
	if (name[0] == '@') /* the abstract namespace */
		address.sun_path[0] = '\0';
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	if (fd < 0)
		return;
	ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, length);
	(void)sent; /* a manager that is gone cannot be told */
}
