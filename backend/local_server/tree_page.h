/*
 * One page of a listing: which of the objects in byte order are shown, and the directories made of their paths.
 * Pure; it only follows a scan of the catalog. Source: huggingface_hub's client.
 *
 * The prefix is a raw key prefix. One-level listings of prefix P show, for a path that begins with P + "/", what
 * lies directly below that; for any other path with the prefix, what lies up to the next slash: so both the
 * children of a directory P and its siblings of a longer name come, and a client keeps what it asked for.
 */
#ifndef BACKEND_LOCAL_SERVER_TREE_PAGE_H
#define BACKEND_LOCAL_SERVER_TREE_PAGE_H

#include "backend/local_server/catalog.h"

#define TREE_CURSOR_BYTES (2 * CATALOG_SCAN_BOUND_BYTES + 1)

struct tree_page {
	const char *prefix; /* borrowed; "" : everything */
	bool one_level;
	size_t limit;
	void (*file)(void *context, const struct catalog_object *object);
	void (*directory)(void *context, const char *path, size_t length);
	void *context;
	/* the page's own */
	size_t shown;
	char next[CATALOG_SCAN_BOUND_BYTES]; /* where the following page begins */
	size_t next_bytes;
	bool more; /* something follows this page */
};

/* A catalog_scan visitor over a struct tree_page. */
enum catalog_scan_next tree_page_visit(void *page, const struct catalog_object *object, char *skip_to,
				       size_t *skip_to_bytes);

/* The place of the following page as opaque text, and back. False: not one of ours. */
void tree_page_write_cursor(const struct tree_page *page, char ret_cursor[TREE_CURSOR_BYTES]);
MUST_CHECK bool tree_page_read_cursor(const char *cursor, char ret_from[CATALOG_SCAN_BOUND_BYTES],
				      size_t *ret_from_bytes);

#endif
