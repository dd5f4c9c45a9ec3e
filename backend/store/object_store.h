/*
 * What the cache and the connectors know of a bucket: named objects that are stored whole, found by
 * name, and read back verified. Nothing above this header knows HTTP, Xet or where objects live.
 *
 * Every call goes through the guards in object_store.c, which check the caller's side of the contract before the
 * implementation runs and its side afterwards. What an implementation provides: object_store_class.h.
 *
 * Thread rule: any thread, any number at once. Every call may block on the network until `deadline` and
 * returns soon after it at the latest (TIMEOUT). With DEADLINE_NONE an implementation still gives up when no
 * byte moves for its own stall limit.
 *
 * Object paths are full paths from the bucket's root, UTF-8, without leading slash, literal (never
 * percent-decoded). A path the Hub would refuse fails with INVALID for that object alone.
 */
#ifndef BACKEND_STORE_OBJECT_STORE_H
#define BACKEND_STORE_OBJECT_STORE_H

#include "common/clock.h"
#include "common/content_hash.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_PATH_MAX_BYTES 1024

struct object_store;

/* What the Hub says of one object. */
struct object_info {
	uint64_t size_bytes;
	struct content_hash hash; /* the Xet file hash; all zero for an empty object */
	int64_t modified_at_ms;   /* Unix epoch; 0 when the Hub does not say */
};

/* One question and its answer in a batch. The caller fills path; the store fills the rest. */
struct object_stat {
	const char *path;        /* borrowed until return */
	enum hfkv_status status; /* OK; NOT_FOUND only from a successful answer that lacks the path; INVALID */
	struct object_info info; /* valid when status is OK */
};

/* Bytes to store: from memory, or from a file descriptor read with pread from offset 0. */
struct object_source {
	const uint8_t *memory; /* NULL: use fd */
	int fd;
	uint64_t size_bytes;
};

/* Where read bytes go: memory of at least the asked length, or a file descriptor written with pwrite.
 * Byte k of the asked range goes to memory[k] or file offset fd_offset + k. */
struct object_sink {
	uint8_t *memory; /* NULL: use fd */
	int fd;
	uint64_t fd_offset;
};

/* One object of a put batch. The caller fills path and source; the store fills the rest. */
struct object_put {
	const char *path;            /* borrowed until return */
	struct object_source source; /* unchanged by the caller until return */
	int64_t modified_at_ms;      /* 0: now */
	enum hfkv_status status;     /* per object; see object_store_put_many */
	struct content_hash hash;    /* valid when status is OK */
	struct fault fault;          /* why, when status is not OK */
};

/* Bytes moved so far, for a person who waits. Called from any thread, seldom; returning false cancels. */
typedef bool (*object_progress)(void *context, uint64_t bytes_done);

/* One entry of a listing. Strings are borrowed during the visit. */
struct object_list_entry {
	const char *path;        /* full path, for a directory without trailing slash */
	bool is_directory;       /* synthetic, one-level listings only */
	struct object_info info; /* files only */
};

/* OK to go on; anything else ends the listing and is returned by it. */
typedef enum hfkv_status (*object_list_visit)(void *context, const struct object_list_entry *entry);

/* Fills the status and info of every item. Returns OK when the whole batch was answered. */
MUST_CHECK enum hfkv_status object_store_stat_many(struct object_store *store, struct object_stat *stats,
						   size_t count, struct deadline deadline, struct fault *fault);

/* Visits what lies under `directory` ("": the root): files at any depth, or one level of files and directories.
 * The one rule for odd names: an entry whose path object_path_check refuses is left out, as nobody could ask for
 * it. */
MUST_CHECK enum hfkv_status object_store_list(struct object_store *store, const char *directory, bool recursive,
					      object_list_visit visit, void *context, struct deadline deadline,
					      struct fault *fault);

/* Reads a whole object, verified, into sink (which has room for info->size_bytes). An empty object touches
 * nothing. */
MUST_CHECK enum hfkv_status object_store_read_whole(struct object_store *store, const struct object_info *info,
						    const struct object_sink *sink, object_progress progress,
						    void *progress_context, struct deadline deadline,
						    struct fault *fault);

/* Reads a part, its lengths and decoding checked, its hash not; *ret_bytes may be short only at the end of the
 * object. */
MUST_CHECK enum hfkv_status object_store_read_range(struct object_store *store, const struct object_info *info,
						    uint64_t offset, uint64_t length,
						    const struct object_sink *sink, uint64_t *ret_bytes,
						    struct deadline deadline, struct fault *fault);

/* Stores the objects, as one batch where the wire allows. Every item has its own status and fault afterwards, told by
 * what landed: one that landed is OK also when the call failed. OK when every item is, else the first failure. */
MUST_CHECK enum hfkv_status object_store_put_many(struct object_store *store, struct object_put *puts,
						  size_t count, object_progress progress, void *progress_context,
						  struct deadline deadline, struct fault *fault);

/* Removes the paths; an item is OK also when it was not there. Statuses as object_store_put_many. */
MUST_CHECK enum hfkv_status object_store_delete_many(struct object_store *store, struct object_stat *paths,
						     size_t count, struct deadline deadline, struct fault *fault);

/* Gives the content of `from`, which has `info`, the name `to` and removes `from`, in one call. What `to` named
 * before is replaced. OK only when it landed. */
MUST_CHECK enum hfkv_status object_store_rename(struct object_store *store, const char *from,
						const struct object_info *info, const char *to,
						struct deadline deadline, struct fault *fault);

/* Whether the bucket is there and may be used: one cheap call. NOT_FOUND, AUTH, FORBIDDEN or INVALID say what to
 * do. */
MUST_CHECK enum hfkv_status object_store_probe(struct object_store *store, struct deadline deadline,
					       struct fault *fault);

/* NULL is fine. */
void object_store_free(struct object_store *store);

/* Whether the Hub would take `path` as an object path (not empty, at most 1024 bytes, no empty, `.` or `..`
 * segment, no leading or trailing slash). OK, OVERSIZE or INVALID. Pure. */
enum hfkv_status object_path_check(const char *path);

#endif
