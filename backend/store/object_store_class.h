/*
 * What an implementation of the object store provides. Callers use object_store.h and never this.
 *
 * Written to the implementer. The guards have checked the arguments: paths are good (object_path_check), counts
 * are not 0, ranges lie inside the object, so implementations carry no defensive code. They embed struct
 * object_store as their first member. Outputs are per item where items have a status; the return value tells only
 * whether the call as a whole was answered. Thread rule and deadlines: object_store.h. Today: hub_store,
 * memory_store, fault_store.
 */
#ifndef BACKEND_STORE_OBJECT_STORE_CLASS_H
#define BACKEND_STORE_OBJECT_STORE_CLASS_H

#include "backend/store/object_store.h"

/* Bytes [offset, offset + length_bytes) of the content named by (hash, size_bytes), which is not empty. */
struct object_read {
	const struct content_hash *hash;
	uint64_t size_bytes;
	uint64_t offset, length_bytes;
	const struct object_sink *sink;
	object_progress progress; /* NULL: none */
	void *progress_context;
};

struct object_store_class {
	const char *name; /* "hub", "memory", "fault" */

	/* Answer every item. Match by path, never by order. Split into requests as the wire needs (1000). On a
	 * failure return it and leave the statuses of unanswered items as they are: never NOT_FOUND. */
	enum hfkv_status (*stat_many)(struct object_store *store, struct object_stat *stats, size_t count,
				      struct deadline deadline, struct fault *fault);

	/* Visit every object whose path lies under `directory` ("" for the root; no trailing slash), page by page.
	 * recursive: files only, at any depth. Otherwise one level: files and directories directly under it.
	 * Visit only paths that lie under directory + "/": the Hub's prefix is a raw string prefix, so filter. A
	 * missing directory is an empty listing. An entry the store cannot parse is skipped, never an error. */
	enum hfkv_status (*list)(struct object_store *store, const char *directory, bool recursive,
				 object_list_visit visit, void *context, struct deadline deadline,
				 struct fault *fault);

	/* Read the range into the sink, and set *ret_bytes to the bytes delivered. When the range is the whole
	 * object the bytes must have been verified against the hash before OK is returned; for a part, lengths and
	 * decoding only. Bytes in the sink are undefined on failure. NOT_FOUND when the content is gone. */
	enum hfkv_status (*read)(struct object_store *store, const struct object_read *read, uint64_t *ret_bytes,
				 struct deadline deadline, struct fault *fault);

	/* Store all items: shared xorbs, one shard, one batch call per 1000 names. Set every item's status. When
	 * the outcome of the naming call is unknown or partial, ask the Hub what landed (stat) and set statuses by
	 * that before returning: an item that landed is OK even if the call failed. Never retry past the deadline.
	 * Return OK when every item is OK, else the first failure. */
	enum hfkv_status (*put_many)(struct object_store *store, struct object_put *puts, size_t count,
				     object_progress progress, void *progress_context, struct deadline deadline,
				     struct fault *fault);

	/* Remove the paths; per item OK also when it was not there. Outcome rules as put_many. */
	enum hfkv_status (*delete_many)(struct object_store *store, struct object_stat *paths, size_t count,
					struct deadline deadline, struct fault *fault);

	/* Give the content of `from` (which has `info`) the name `to` and remove `from`, in one batch call, then
	 * ask whether it landed. The names differ. */
	enum hfkv_status (*rename)(struct object_store *store, const char *from, const struct object_info *info,
				   const char *to, struct deadline deadline, struct fault *fault);

	/* Is the bucket there and may we use it? One cheap call. NOT_FOUND, AUTH, FORBIDDEN or INVALID name what
	 * to do. */
	enum hfkv_status (*probe)(struct object_store *store, struct deadline deadline, struct fault *fault);

	/* Release everything. No call is in flight. Never called with NULL. */
	void (*free)(struct object_store *store);
};

struct object_store {
	const struct object_store_class *class;
};

#endif
