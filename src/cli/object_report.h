/*
 * How commands print an object, as text and as JSON. The JSON names are those of the Hub's API:
 * path, size, xetHash, mtime (ISO 8601, UTC; left out when unknown). Main thread only.
 */
#ifndef SRC_CLI_OBJECT_REPORT_H
#define SRC_CLI_OBJECT_REPORT_H

#include "backend/store/object_store.h"

#include <jansson.h>

#define OBJECT_TIME_BYTES 32

/* A new reference; NULL when the path is not UTF-8 or there is no memory. */
json_t *object_to_json(const char *path, const struct object_info *info);

/* "2026-01-31T12:00:00.000Z", or "-" when the time is unknown. Returns `text`. */
char *object_format_time(int64_t modified_at_ms, char text[OBJECT_TIME_BYTES]);

/* Prints one JSON value and a newline to stdout; takes over the reference. */
void json_print_line(json_t *value);

/* Ends a command that printed: 0, or 1 after an error line when stdout could not be written. */
int stdout_finish(int exit_code);

#endif
