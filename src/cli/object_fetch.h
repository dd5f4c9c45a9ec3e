/*
 * Fetches several objects into local files, a few at once, each verified and whole or not there at all.
 *
 * Blocks its caller; work runs on threads of its own.
 */
#ifndef SRC_CLI_OBJECT_FETCH_H
#define SRC_CLI_OBJECT_FETCH_H

#include "backend/store/object_store.h"

/* One object. The caller fills path, info and target; the rest comes back. */
struct object_fetch {
	char *path;              /* owned by the list */
	struct object_info info;
	char *target;            /* local file name, "-" for standard output; owned by the list */
	enum hfkv_status status;
	struct fault fault;
};

struct object_fetch_list {
	struct object_fetch *items;
	size_t count, capacity;
};

/* Copies both names. Release the list with object_fetch_list_done. */
MUST_CHECK enum hfkv_status object_fetch_list_add(struct object_fetch_list *list, const char *path,
						  const char *target, struct fault *fault);
void object_fetch_list_done(struct object_fetch_list *list);

/* Fetches all; shows progress. OK when every item is; else the first failure, named when there are several items. */
MUST_CHECK enum hfkv_status object_fetch_many(struct object_store *store, struct object_fetch_list *list,
					      struct fault *fault);

#endif
