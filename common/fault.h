/*
 * The words that go with a failure, filled once, where the failure happens.
 *
 * Functions take `struct fault *fault` as their optional last argument (NULL: not wanted). The origin
 * fills it; layers above pass it on untouched, and may put context in front with fault_add_context.
 * A text names the thing, the reason and, where there is one, the remedy. It never holds a secret.
 * A miss (NOT_FOUND) is an outcome: functions may leave the fault empty for it.
 *
 * Plain value; no thread rule beyond that.
 */
#ifndef COMMON_FAULT_H
#define COMMON_FAULT_H

#include "common/attributes.h"
#include "hfkv/hfkv_status.h"

#include <stdint.h>

#define FAULT_TEXT_BYTES 512

struct fault {
	enum hfkv_status status;
	int http_status;                 /* 0 when no HTTP answer was involved */
	int error_number;                /* errno at the origin, 0 when none */
	int64_t retry_after_ms;          /* how long the server asked to wait, -1 when it did not say */
	char request_id[64];             /* the server's X-Request-Id, "" when none */
	char text[FAULT_TEXT_BYTES];     /* one line, no newline at the end, cut at the limit */
};

#define FAULT_NONE ((struct fault){ .status = HFKV_OK, .retry_after_ms = -1 })

/* Fills `fault` (when not NULL) and returns `status`, so that a failure is one line:
 *     return fault_set(fault, HFKV_INVALID, "bucket '%s': ...", name);  */
enum hfkv_status fault_set(struct fault *fault, enum hfkv_status status, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* As fault_set, with the status that fits errno `error_number` and ": <strerror>" at the end. */
enum hfkv_status fault_set_errno(struct fault *fault, int error_number, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Puts "<context>: " in front of the text; keeps everything else. NULL fault is fine. */
void fault_add_context(struct fault *fault, const char *format, ...) PRINTF_LIKE(2, 3);

/* The text, or the status's name when the origin left none. `fault` may be NULL. Static or borrowed from `fault`. */
const char *fault_text(const struct fault *fault, enum hfkv_status status);

/* The status for a local errno value (ENOENT -> NOT_FOUND, ENOSPC -> NO_SPACE, ...). */
enum hfkv_status status_from_errno(int error_number);

/* The errno that a user of the mount sees for a status; no other table of them exists. OK is 0. */
int status_to_errno(enum hfkv_status status);

#endif
