#include "fuse/passthrough.h"

bool passthrough_want(struct fuse_conn_info *connection, uint64_t capability)
{
	return fuse_set_feature_flag(connection, capability);
}

void passthrough_unwant(struct fuse_conn_info *connection, uint64_t capability)
{
	fuse_unset_feature_flag(connection, capability);
}

void passthrough_want_killpriv(struct fuse_conn_info *connection)
{
	fuse_set_feature_flag(connection, FUSE_CAP_HANDLE_KILLPRIV_V2);
}

bool passthrough_negotiate(struct fuse_conn_info *connection)
{
	if (!fuse_set_feature_flag(connection, FUSE_CAP_PASSTHROUGH))
		return false;
	connection->max_backing_stack_depth = 1;
	return true;
}

int passthrough_attach(fuse_req_t request, int fd)
{
	int backing_id = fuse_passthrough_open(request, fd);
	return backing_id > 0 ? backing_id : 0;
}

void passthrough_detach(fuse_req_t request, int backing_id)
{
	if (backing_id > 0)
		fuse_passthrough_close(request, backing_id);
}

void passthrough_use(struct fuse_file_info *info, int backing_id)
{
	info->backing_id = backing_id;
}
