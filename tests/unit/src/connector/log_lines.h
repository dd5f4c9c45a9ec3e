/* Keeps what is logged during a test, so that warnings can be looked at. Main thread only. */
#ifndef TESTS_UNIT_LOG_LINES_H
#define TESTS_UNIT_LOG_LINES_H

#include "common/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct log_lines {
	char text[8192];
};

static void log_lines_add(void *context, enum log_level level, const char *line)
{
	struct log_lines *lines = context;
	(void)level;
	size_t length = strlen(lines->text);
	snprintf(lines->text + length, sizeof(lines->text) - length, "%s\n", line);
}

/* From now on lines go to `lines`; NULL: to stderr again. */
MAYBE_UNUSED static inline void log_lines_collect(struct log_lines *lines)
{
	if (lines)
		lines->text[0] = '\0';
	log_redirect(lines ? log_lines_add : NULL, lines);
}

#endif
