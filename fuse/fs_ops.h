/*
 * The table of FUSE operations, and the handshake with the kernel.
 */
#ifndef FUSE_FS_OPS_H
#define FUSE_FS_OPS_H

#include "fuse/fs_state.h"

extern const struct fuse_lowlevel_ops fs_operations;

#endif
