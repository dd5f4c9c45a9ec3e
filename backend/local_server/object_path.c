#include "backend/local_server/object_path.h"

#include "backend/local_server/catalog.h"

#include <string.h>

static bool is_dots(const char *segment, size_t length)
{
	return (length == 1 && segment[0] == '.') || (length == 2 && segment[0] == '.' && segment[1] == '.');
}

const char *object_path_refusal(const char *path)
{
	size_t length = strlen(path);
	if (length == 0)
		return "the path is empty";
	if (length > OBJECT_PATH_LIMIT_BYTES)
		return "the path is longer than 1024 bytes";
	for (const char *segment = path;; segment++) {
		size_t segment_length = strcspn(segment, "/");
		if (segment_length == 0)
			return "the path has an empty segment";
		if (is_dots(segment, segment_length))
			return "the path has a '.' or '..' segment";
		segment += segment_length;
		if (*segment == '\0')
			return NULL;
	}
}

bool bucket_name_valid(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t length = strlen(name);
	return length > 0 && length < CATALOG_NAME_BYTES && strspn(name, allowed) == length && name[0] != '.' &&
	       name[0] != '-';
}
