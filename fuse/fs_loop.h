/*
 * The session threads: they take requests from the kernel and run their handlers.
 *
 * Why not libfuse's own loop: it is ended by a signal to one particular thread only, and starts and stops threads with
 * load. Handlers here never block on the network, so a few threads are enough for any load.
 */
#ifndef FUSE_FS_LOOP_H
#define FUSE_FS_LOOP_H

#include "fuse/fs_state.h"

/* Serves until session->stop_event is signalled or the kernel ends the connection. Blocks. */
MUST_CHECK enum hfkv_status fs_loop_run(struct fs_session *session, struct fault *fault);

#endif
