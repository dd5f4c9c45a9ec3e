/* What kind of file system a directory lies on, as far as the fs connector cares. Any thread; reads /proc. */
#ifndef SRC_CONNECTOR_FS_MOUNT_TYPE_H
#define SRC_CONNECTOR_FS_MOUNT_TYPE_H

enum fs_mount_type {
	FS_MOUNT_ORDINARY,
	FS_MOUNT_FUSE, /* some FUSE file system: a call may wait for a network */
	FS_MOUNT_HFKV, /* our own mount, which enforces the size of KV chunks itself */
};

/* ORDINARY also when it cannot be found out. Does not wait for the file system's own answers beyond statfs. */
enum fs_mount_type fs_mount_type_of(const char *directory);

#endif
