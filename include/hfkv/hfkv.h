/*
 * libhfkv: the LMCache backends of hfkv for C programs and language bindings.
 *
 * One include for the whole library:
 *     hfkv_settings.h    what LMCache's YAML or an L2 adapter's JSON says
 *     hfkv_connector.h   exists, put, get, remove, list on directories or a bucket; blocking, or by one eventfd
 *     hfkv_l2.h          LMCache's multi-process adapter: locks, usage, eviction, three eventfds
 *
 * It is not a general file or object API: names are LMCache keys and bodies are whole KV chunks.
 *
 * Only types of the C standard library cross this border, and only the functions declared under include/hfkv are
 * exported. Handles are opaque. Every function may be called from any thread, several at once on one handle,
 * unless it says otherwise; closing a handle is the last call on it.
 */
#ifndef HFKV_H
#define HFKV_H

#include "hfkv/hfkv_connector.h"
#include "hfkv/hfkv_l2.h"
#include "hfkv/hfkv_settings.h"
#include "hfkv/hfkv_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "0.1.0". Static storage. */
const char *hfkv_version(void);

enum hfkv_log_level { HFKV_LOG_ERROR, HFKV_LOG_WARNING, HFKV_LOG_INFO, HFKV_LOG_DEBUG };

/* Sends the library's log lines (no newline, no secret) of `level` and graver to `write_line` instead of
 * stderr; NULL: stderr again. Called from any thread of the library, never with a lock of it held. Call it
 * before the first handle is opened: it is not safe beside other calls. */
void hfkv_log_to(void (*write_line)(void *context, enum hfkv_log_level level, const char *line), void *context,
		 enum hfkv_log_level level);

#ifdef __cplusplus
}
#endif

#endif
