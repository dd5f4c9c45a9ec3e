#include "src/cli/object_report.h"

#include "src/cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

char *object_format_time(int64_t modified_at_ms, char text[OBJECT_TIME_BYTES])
{
	if (modified_at_ms == 0) {
		snprintf(text, OBJECT_TIME_BYTES, "-");
		return text;
	}
	time_t whole = (time_t)(modified_at_ms / 1000);
	struct tm parts;
	gmtime_r(&whole, &parts);
	size_t length = strftime(text, OBJECT_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + length, OBJECT_TIME_BYTES - length, ".%03dZ", (int)(modified_at_ms % 1000));
	return text;
}

json_t *object_to_json(const char *path, const struct object_info *info)
{
	char hash[CONTENT_HASH_TEXT_BYTES], time_text[OBJECT_TIME_BYTES];
	content_hash_format(&info->hash, hash);
	json_t *object = json_pack("{ss sI ss}", "path", path, "size", (json_int_t)info->size_bytes, "xetHash", hash);
	if (object && info->modified_at_ms)
		json_object_set_new(object, "mtime", json_string(object_format_time(info->modified_at_ms, time_text)));
	return object;
}

void json_print_line(json_t *value)
{
	if (value)
		json_dumpf(value, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(value);
}

int stdout_finish(int exit_code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return exit_code;
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = fault_set_errno(&fault, errno ? errno : EIO, "standard output");
	return cli_fail(status, &fault);
}
