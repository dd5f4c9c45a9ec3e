/*
 * One entry of the Hub's JSON listings: {"type":"file"|"directory","path",...}, the shape of tree and paths-info.
 *
 * Pure; any thread.
 */
#ifndef BACKEND_HUB_HUB_ENTRY_H
#define BACKEND_HUB_HUB_ENTRY_H

#include "common/content_hash.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct hub_entry {
	const char *path; /* borrowed from the JSON */
	bool is_directory;
	uint64_t size_bytes;
	struct content_hash hash; /* zero for an empty file */
	int64_t modified_at_ms;   /* mtime, else uploadedAt, else 0 */
};

/* False, and nothing set: not an entry that can be used (no path, no size, no hash for a file that has bytes, an
 * unknown type). */
bool hub_entry_parse(const json_t *json, struct hub_entry *ret_entry);

/* Whether it is a list of things with a path. A list that holds anything else was mangled on the way, and nothing may
 * be concluded from what it lacks. */
bool hub_entry_is_list(const json_t *json);

/* ISO-8601 "2026-01-31T23:59:59.123Z" (fraction optional, Z or an offset) as Unix milliseconds; 0 when it is not
 * one. */
int64_t hub_time_parse(const char *text);

#endif
