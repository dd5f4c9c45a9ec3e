#include "backend/local_server/tree_page.h"

#include <stdio.h>
#include <string.h>

/* Length of the directory that stands for `path` in a one-level listing; 0: the path itself is shown. */
static size_t directory_length(const struct tree_page *page, const char *path)
{
	size_t start = strlen(page->prefix);
	if (start > 0 && page->prefix[start - 1] != '/' && path[start] == '/')
		start++;
	const char *slash = strchr(path + start, '/');
	return slash ? (size_t)(slash - path) : 0;
}

static void remember(struct tree_page *page, const char *path, size_t length, char end)
{
	if (length + 1 > sizeof(page->next))
		return; /* longer than any path the catalog takes */
	memcpy(page->next, path, length);
	page->next[length] = end;
	page->next_bytes = length + 1;
}

enum catalog_scan_next tree_page_visit(void *context, const struct catalog_object *object, char *skip_to,
				       size_t *skip_to_bytes)
{
	struct tree_page *page = context;
	if (page->shown == page->limit) {
		page->more = true;
		return CATALOG_SCAN_STOP;
	}
	size_t directory = page->one_level ? directory_length(page, object->path) : 0;
	page->shown++;
	if (directory == 0) {
		page->file(page->context, object);
		/* The first string after a path is that path and a NUL. */
		remember(page, object->path, object->path_bytes, '\0');
		return CATALOG_SCAN_ON;
	}
	page->directory(page->context, object->path, directory);
	/* What is below "d/" ends before "d0": '0' follows '/'. */
	remember(page, object->path, directory, '/' + 1);
	memcpy(skip_to, page->next, page->next_bytes);
	*skip_to_bytes = page->next_bytes;
	return CATALOG_SCAN_SKIP;
}

void tree_page_write_cursor(const struct tree_page *page, char ret_cursor[TREE_CURSOR_BYTES])
{
	ret_cursor[0] = '\0';
	for (size_t i = 0; i < page->next_bytes; i++)
		snprintf(ret_cursor + 2 * i, 3, "%02x", (unsigned char)page->next[i]);
}

bool tree_page_read_cursor(const char *cursor, char ret_from[CATALOG_SCAN_BOUND_BYTES], size_t *ret_from_bytes)
{
	size_t digits = strlen(cursor);
	if (digits % 2 || digits / 2 > CATALOG_SCAN_BOUND_BYTES || strspn(cursor, "0123456789abcdef") != digits)
		return false;
	for (size_t i = 0; i < digits / 2; i++) {
		unsigned byte = 0;
		if (sscanf(cursor + 2 * i, "%2x", &byte) != 1)
			return false;
		ret_from[i] = (char)byte;
	}
	*ret_from_bytes = digits / 2;
	return true;
}
