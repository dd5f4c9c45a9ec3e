#include "fuse/passthrough.h"

bool passthrough_want(struct fuse_conn_info *connection, uint64_t capability)
{
	if (!(connection->capable & capability))
		return false;
	connection->want |= (unsigned)capability;
	return true;
}

void passthrough_unwant(struct fuse_conn_info *connection, uint64_t capability)
{
	connection->want &= ~(unsigned)capability;
}

void passthrough_want_killpriv(struct fuse_conn_info *connection)
{
	(void)connection; /* libfuse before 3.17 cannot ask for it */
}

bool passthrough_negotiate(struct fuse_conn_info *connection)
{
	(void)connection;
	return false;
}

int passthrough_attach(fuse_req_t request, int fd)
{
	(void)request;
	(void)fd;
	return 0;
}

void passthrough_detach(fuse_req_t request, int backing_id)
{
	(void)request;
	(void)backing_id;
}

void passthrough_use(struct fuse_file_info *info, int backing_id)
{
	(void)info;
	(void)backing_id;
}
