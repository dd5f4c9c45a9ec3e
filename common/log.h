/*
 * The program's log: one line an event, to stderr (or as JSON lines), filtered by level.
 *
 * Only deciders log above debug (the FUSE reply, the committer, connectors, the CLI): they log an event
 * once, with operation, object, status, HTTP status and request id. Everybody else returns a fault.
 * A tolerated failure's text ends in ", ignoring". A text never holds a token (see common/secret.h).
 *
 * Any thread. log_configure may be called again at any time (SIGHUP).
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include "common/attributes.h"

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log_settings {
	enum log_level level; /* this level and graver ones are written */
	bool json;            /* {"time","level","message"} objects instead of text */
};

/* The start value is { LOG_LEVEL_WARNING, false }. */
void log_configure(struct log_settings settings);

/* Sends lines to `write_line` instead of stderr (NULL: back to stderr); `line` has no newline. For the
 * library inside a host program, and for tests. Set before threads start. */
void log_redirect(void (*write_line)(void *context, enum log_level level, const char *line), void *context);

bool log_enabled(enum log_level level);
void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warning(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

/* Parses error|warning|info|debug. False, and *ret_level untouched, for anything else. */
bool log_level_parse(const char *text, enum log_level *ret_level);

#endif
