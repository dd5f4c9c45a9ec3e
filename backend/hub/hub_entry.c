#include "backend/hub/hub_entry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Milliseconds of ".123456", and *text moves behind it. */
static int64_t read_fraction(const char **text)
{
	int64_t ms = 0, weight = 100;
	if (**text != '.')
		return 0;
	for ((*text)++; **text >= '0' && **text <= '9'; (*text)++) {
		ms += weight * (**text - '0');
		weight /= 10;
	}
	return ms;
}

int64_t hub_time_parse(const char *text)
{
	struct tm parts = { 0 };
	int length = 0, hours, minutes;
	char sign;
	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
			    &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &length) != 6)
		return 0;
	parts.tm_year -= 1900;
	parts.tm_mon -= 1;
	text += length;
	int64_t ms = read_fraction(&text);
	int64_t offset_s = 0;
	if (sscanf(text, "%c%2d:%2d", &sign, &hours, &minutes) == 3 && (sign == '+' || sign == '-'))
		offset_s = (sign == '-' ? -60 : 60) * (60 * (int64_t)hours + minutes);
	int64_t seconds = (int64_t)timegm(&parts);
	return seconds <= 0 ? 0 : (seconds - offset_s) * 1000 + ms;
}

static int64_t modified_at(const json_t *json)
{
	int64_t ms = hub_time_parse(json_string_value(json_object_get(json, "mtime")));
	return ms ? ms : hub_time_parse(json_string_value(json_object_get(json, "uploadedAt")));
}

static bool parse_file(const json_t *json, struct hub_entry *entry)
{
	const json_t *size = json_object_get(json, "size");
	const char *hash = json_string_value(json_object_get(json, "xetHash"));
	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return false;
	entry->size_bytes = (uint64_t)json_integer_value(size);
	entry->modified_at_ms = modified_at(json);
	bool has_hash = hash && content_hash_parse(hash, &entry->hash);
	if (entry->size_bytes == 0)
		entry->hash = (struct content_hash){ 0 };
	return has_hash || entry->size_bytes == 0;
}

bool hub_entry_parse(const json_t *json, struct hub_entry *ret_entry)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	struct hub_entry entry = { .path = json_string_value(json_object_get(json, "path")) };
	if (!type || !entry.path || !*entry.path)
		return false;
	entry.is_directory = strcmp(type, "directory") == 0;
	if (!entry.is_directory && (strcmp(type, "file") != 0 || !parse_file(json, &entry)))
		return false;
	*ret_entry = entry;
	return true;
}

bool hub_entry_is_list(const json_t *json)
{
	size_t i;
	const json_t *entry;
	json_array_foreach(json, i, entry) if (!json_is_string(json_object_get(entry, "path"))) return false;
	return json_is_array(json);
}
