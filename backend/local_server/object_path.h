/*
 * Which names the server takes: object paths, namespaces, bucket names. Pure; any thread.
 */
#ifndef BACKEND_LOCAL_SERVER_OBJECT_PATH_H
#define BACKEND_LOCAL_SERVER_OBJECT_PATH_H

#include <stdbool.h>

#define OBJECT_PATH_LIMIT_BYTES 1024

/* NULL when `path` may name an object; else why not (static text). */
const char *object_path_refusal(const char *path);

/* Namespaces and bucket names: 1 to 96 of A-Z a-z 0-9 . _ -, not starting with a dot or dash. */
bool bucket_name_valid(const char *name);

#endif
