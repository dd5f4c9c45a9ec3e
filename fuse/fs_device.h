/*
 * The session's own way to and from /dev/fuse, where libfuse's keeps something from the kernel.
 *
 * libfuse before 3.16 takes FUSE_CAP_PARALLEL_DIROPS and never passes it on, so that the kernel hands over the look-ups of a
 * directory one by one, each when the one before is answered: 1000 stats at once then are 1000 questions to the
 * bucket, not a few. The built source is chosen by libfuse's version.
 */
#ifndef FUSE_FS_DEVICE_H
#define FUSE_FS_DEVICE_H

#include "fuse/fs_session.h"

/* Once, after the session is mounted and before it runs. False: no memory. */
MUST_CHECK bool fs_device_adopt(struct fs_session *session);

#endif
