/*
 * Writes JSON text into a byte_buf without building a tree first: listings of thousands of entries are made of it.
 *
 * Failure (no room) is sticky: callers write on and ask once, at the end, with json_writer_ok. Commas are put by
 * the writer. Text that is not UTF-8 comes out with '?' for each bad byte, so that the answer stays valid JSON.
 * Owner thread only.
 */
#ifndef BACKEND_LOCAL_SERVER_JSON_WRITER_H
#define BACKEND_LOCAL_SERVER_JSON_WRITER_H

#include "common/byte_buf.h"

#include <stdint.h>

struct json_writer {
	struct byte_buf *buf; /* borrowed */
	bool failed, need_comma;
};

#define JSON_WRITER_INIT(target) ((struct json_writer){ .buf = (target) })

bool json_writer_ok(const struct json_writer *json);

/* `open` and `close` are one of { } [ ]. */
void json_write_open(struct json_writer *json, char open);
void json_write_close(struct json_writer *json, char close);
void json_write_key(struct json_writer *json, const char *key);

void json_write_text(struct json_writer *json, const char *text);
void json_write_uint(struct json_writer *json, uint64_t value);
void json_write_bool(struct json_writer *json, bool value);
void json_write_null(struct json_writer *json);

/* key and value in one */
void json_write_text_field(struct json_writer *json, const char *key, const char *text);
void json_write_uint_field(struct json_writer *json, const char *key, uint64_t value);
void json_write_bool_field(struct json_writer *json, const char *key, bool value);

/* A time as "2026-01-31T12:00:00.123Z". */
void json_write_time_field(struct json_writer *json, const char *key, int64_t wall_ms);

#endif
