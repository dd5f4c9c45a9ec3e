/*
 * Existence, size and hash of many paths: POST paths-info, at most 1000 a call, some calls at once.
 *
 * Answers are matched by path, never by order. Any thread; blocks until `deadline`.
 */
#ifndef BACKEND_HUB_HUB_PATHS_INFO_H
#define BACKEND_HUB_HUB_PATHS_INFO_H

#include "backend/hub/hub_client.h"
#include "backend/hub/hub_entry.h"

#define HUB_PATHS_PER_CALL 1000

/* The caller fills path; the same path may be asked twice. */
struct hub_path_info {
	const char *path;       /* UTF-8; borrowed until return */
	bool answered;          /* by a successful answer; otherwise nothing is known */
	bool found;             /* a file of that name exists */
	bool senseless;         /* the answer names it, but without a usable size or hash: neither found nor absent */
	struct hub_entry entry; /* valid when found; its path is the caller's */
};

/* OK: every item is answered. Otherwise the first failure; items of calls that succeeded are answered all the
 * same. */
MUST_CHECK enum hfkv_status hub_paths_info_get(struct hub_client *client, struct hub_path_info *infos,
					       size_t count, struct deadline deadline, struct fault *fault);

#endif
