/*
 * FUSE passthrough: the kernel reads (and writes) a staged file without the daemon.
 *
 * Needs libfuse 3.17, a kernel with CONFIG_FUSE_PASSTHROUGH and CAP_SYS_ADMIN; each is found out at run time, none is
 * assumed. passthrough.c is built with libfuse 3.17 and later, passthrough_none.c otherwise: same functions, "no".
 * This is also where the two generations of libfuse differ in asking for capabilities.
 */
#ifndef FUSE_PASSTHROUGH_H
#define FUSE_PASSTHROUGH_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <stdbool.h>

/* At the handshake: asks for a capability if the kernel has it. Whether it does. */
bool passthrough_want(struct fuse_conn_info *connection, uint64_t capability);
/* At the handshake: gives up a capability that libfuse asks for by itself. */
void passthrough_unwant(struct fuse_conn_info *connection, uint64_t capability);

/* At the handshake: says that we clear set-user-id bits on writes ourselves, which spares the kernel a question for each. */
void passthrough_want_killpriv(struct fuse_conn_info *connection);

/* At the handshake: asks for passthrough. Whether kernel and library offer it; privilege shows at the first attach. */
bool passthrough_negotiate(struct fuse_conn_info *connection);

/* Registers the descriptor as backing file; above 0: its id. 0: refused, use ordinary I/O. */
int passthrough_attach(fuse_req_t request, int fd);
/* Ends a backing id; 0 is fine. */
void passthrough_detach(fuse_req_t request, int backing_id);

/* Puts the id into the answer of an open or create. */
void passthrough_use(struct fuse_file_info *info, int backing_id);

#endif
