/*
 * Which mounts this user has: one record and one control socket per mountpoint, in a private directory
 * (/run/hfkv for root; $XDG_RUNTIME_DIR/hfkv, else /tmp/hfkv-UID for users).
 *
 * A record belongs to a living daemon exactly as long as its lock is held: a pid that was used again, or a
 * daemon killed at any moment, cannot be mistaken. Any process may read; a daemon writes its own record.
 */
#ifndef SRC_CLI_MOUNT_REGISTRY_H
#define SRC_CLI_MOUNT_REGISTRY_H

#include "common/cleanup.h"
#include "common/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* The directory, made if missing (0700) and checked to be ours. malloc'd. FORBIDDEN when somebody else's. */
MUST_CHECK enum hfkv_status mount_registry_directory(char **ret_directory, struct fault *fault);

/* "<directory>/<name of the mountpoint>.<suffix>", malloc'd; suffix is "json" or "sock". NULL: no memory. */
char *mount_registry_file(const char *directory, const char *mountpoint, const char *suffix);

/* Claims the mountpoint for this process until it ends or mount_record_release. BUSY when a living daemon has it. */
struct mount_record;
MUST_CHECK enum hfkv_status mount_registry_claim(const char *mountpoint, const char *source,
						 struct mount_record **ret_record, struct fault *fault);

/* Path of the control socket that belongs to the record; borrowed. */
const char *mount_record_socket(const struct mount_record *record);

/* Removes record and socket. NULL is fine. */
void mount_record_release(struct mount_record *record);
DEFINE_CLEANUP(mount_record_release, struct mount_record *);

/* One record as found. Strings borrowed during the visit. */
struct mount_found {
	const char *mountpoint, *source, *socket_path, *record_path;
	pid_t pid;
	bool alive; /* its daemon holds the lock */
};

/* Visits every record; unreadable ones are skipped. A false return ends it. */
MUST_CHECK enum hfkv_status mount_registry_visit(bool (*visit)(void *context, const struct mount_found *found),
						 void *context, struct fault *fault);

/* Removes what a dead daemon left in the registry. */
void mount_registry_forget(const struct mount_found *found);

#endif
