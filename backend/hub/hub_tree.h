/*
 * Listings of a bucket: GET tree, page by page.
 *
 * The Hub's prefix is a raw string prefix (`logs` also brings `logs.json`): only paths under directory + "/" are
 * visited. Entries that cannot be parsed are skipped. Any thread; blocks until `deadline`.
 */
#ifndef BACKEND_HUB_HUB_TREE_H
#define BACKEND_HUB_HUB_TREE_H

#include "backend/hub/hub_client.h"
#include "backend/hub/hub_entry.h"

/* The entry is borrowed during the visit. OK to go on; anything else ends the listing and is returned by it. */
typedef enum hfkv_status (*hub_tree_visit)(void *context, const struct hub_entry *entry);

/* Lists what lies under `directory` ("": the root; no outer slashes). recursive: files at any depth; otherwise
 * files and directories directly under it. A missing directory is an empty listing. CORRUPT: a page link that
 * leads elsewhere or in circles. */
MUST_CHECK enum hfkv_status hub_tree_list(struct hub_client *client, const char *directory, bool recursive,
					  hub_tree_visit visit, void *context, struct deadline deadline,
					  struct fault *fault);

#endif
