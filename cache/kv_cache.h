/*
 * The one door between the faces of hfkv (mount, connectors) and a bucket: names in, verified bytes out.
 *
 * It joins stat questions into batches, keeps answers for a time, keeps downloads and bodies to be stored in a
 * bounded staging directory, downloads each object once whoever asks, joins commits into batches, and applies
 * the size rule of KV chunks on the way in and out. It knows nothing of FUSE, of HTTP, or of key syntax: a `path`
 * here is an object path relative to the cache's prefix, literal, already percent-encoded by key_codec where keys
 * are involved. Without a kv_chunk_spec (the plain layout) there is no size rule.
 *
 * Thread rule: any thread. Functions say whether they may block; those that do take a deadline and honour it.
 * No function calls back with a lock held.
 */
#ifndef CACHE_KV_CACHE_H
#define CACHE_KV_CACHE_H

#include "backend/store/object_store.h"
#include "cache/kv_chunk_spec.h"
#include "cache/staged_file.h"

struct kv_cache;

enum kv_cache_commit_mode { KV_CACHE_COMMIT_SYNC, KV_CACHE_COMMIT_WRITEBACK };

struct kv_cache_settings {
	struct object_store *store;       /* borrowed for the life of the cache */
	const char *prefix;               /* "" or a path without outer slashes; copied */
	const struct kv_chunk_spec *spec; /* borrowed for the life of the cache; NULL: no size rule */
	const char *staging_dir;          /* NULL: chosen by cache/staging_place.h; copied */
	const char *staging_label;        /* name part of the private directory made there, e.g. "mount"; copied */
	uint64_t staging_bytes;           /* limit; 0: a default that fits the place */
	bool staging_private_tmpfs;       /* where we may: a tmpfs of our own with size= the limit */
	int64_t metadata_ttl_ms;          /* how long presence holds; default 30000 */
	int64_t negative_ttl_ms;          /* how long absence holds; default 2000 */
	size_t metadata_entries_max;      /* 0: 262144 */
	int64_t timeout_ms;               /* the longest any operation may block its caller; default 30000 */
	enum kv_cache_commit_mode commit;
	bool read_only;
};

/* The defaults above. */
struct kv_cache_settings kv_cache_settings_default(void);

/* Makes the private staging directory. Touches disk, not the network. INVALID: settings that cannot be right, and
 * KV_CACHE_COMMIT_WRITEBACK, which this release does not have. */
MUST_CHECK enum hfkv_status kv_cache_open(const struct kv_cache_settings *settings, struct kv_cache **ret_cache,
					  struct fault *fault);

/* Waits for commits under way until `deadline`, then closes. What was left is logged and counted in
 * *ret_abandoned (may be NULL). No other call is in flight or comes later; staged files of it were released. */
void kv_cache_close(struct kv_cache *cache, struct deadline deadline, size_t *ret_abandoned);

/* ---- what is there ---- */

struct kv_cache_entry {
	struct object_info info;
	int64_t fresh_until_ms; /* on clock_now_ms: until then the answer needs no new question */
};

/* Called exactly once, from the calling thread when the answer is known, else from a thread of the cache. `entry`
 * is valid when status is OK, and for NOT_FOUND only its fresh_until_ms is. A wrong-size object is NOT_FOUND. */
typedef void (*kv_cache_stat_done)(void *token, enum hfkv_status status, const struct kv_cache_entry *entry,
				   const struct fault *fault);

/* Never blocks. Questions asked together share store calls (1000 a call); answers fail at the cache's timeout.
 * `asker` is any number that differs between threads that ask: while a crowd asks, questions wait some ms for more
 * of it, while one asker's questions, one after another, never wait. 0: do not wait for company. */
void kv_cache_stat(struct kv_cache *cache, const char *path, uint64_t asker, kv_cache_stat_done done, void *token);

/* One question of kv_cache_stat_many. The caller fills path. */
struct kv_cache_question {
	const char *path;
	enum hfkv_status status;
	struct kv_cache_entry entry;
};

/* As kv_cache_stat for many, blocking. Returns OK when every question was answered (OK, NOT_FOUND, or INVALID
 * each). */
MUST_CHECK enum hfkv_status kv_cache_stat_many(struct kv_cache *cache, struct kv_cache_question *questions,
					       size_t count, struct deadline deadline, struct fault *fault);

/* One name of a directory listing; `name` is relative to the directory asked, borrowed during the visit. */
struct kv_cache_name {
	const char *name;
	bool is_directory;
	struct object_info info; /* files only */
	int64_t fresh_until_ms;  /* on clock_now_ms, as in kv_cache_entry; 0: already old */
};
typedef enum hfkv_status (*kv_cache_visit)(void *context, const struct kv_cache_name *name);

/* One level of `directory` ("" for the prefix itself). Wrong-size objects are left out, pending commits put in.
 * Fills the metadata cache on its way. Served from the cache within metadata_ttl. May block on the network. A
 * directory that does not exist is an empty listing. Names come in byte order, each once; but a bucket may hold an
 * object `a` beside objects below `a/`: then the file comes first, the directory after it. */
MUST_CHECK enum hfkv_status kv_cache_list(struct kv_cache *cache, const char *directory, kv_cache_visit visit,
					  void *context, struct deadline deadline, struct fault *fault);

/* Whether anything lies under `directory` + "/" (OK or NOT_FOUND). Cached like names are. May block on the
 * network. */
MUST_CHECK enum hfkv_status kv_cache_directory_exists(struct kv_cache *cache, const char *directory,
						      struct deadline deadline, struct fault *fault);

/* Every file at any depth, relative paths; the size rule applied; never from the cache. Blocks on the network,
 * page after page, by `deadline` alone: of a large bucket it may take longer than the cache's timeout. */
MUST_CHECK enum hfkv_status kv_cache_list_recursive(struct kv_cache *cache, const char *directory,
						    kv_cache_visit visit, void *context, struct deadline deadline,
						    struct fault *fault);

/* ---- reading ---- */

/* A pinned staged file with the whole, verified content of `path`. The caller releases it with staged_file_unref.
 * Blocks on the network unless staged. NOT_FOUND, NO_SPACE, TIMEOUT, CORRUPT, ... as the errno table has them.
 * *ret_info may be NULL. */
MUST_CHECK enum hfkv_status kv_cache_open_reader(struct kv_cache *cache, const char *path,
						 struct deadline deadline, struct staged_file **ret_file,
						 struct object_info *ret_info, struct fault *fault);

/* As kv_cache_open_reader when it needs no waiting; NULL otherwise. Never blocks. */
struct staged_file *kv_cache_open_reader_now(struct kv_cache *cache, const char *path,
					     struct object_info *ret_info);

/* One object of a load. The caller fills path, into and length; into has exactly `length` bytes. */
struct kv_cache_load {
	const char *path;
	uint8_t *into;
	uint64_t length;         /* an object of any other size is NOT_FOUND */
	enum hfkv_status status; /* bytes at `into` are the object's only when OK, undefined otherwise */
	struct fault fault;
};

/* Loads several objects into the caller's memory, in parallel. What is staged is copied; everything else is
 * decoded straight into place and not kept in staging, as who loads into memory of his own keeps the bytes himself
 * (but when others wait for the same bytes, one download serves all, through a staged copy). A load that fails on
 * bytes drops the cached metadata, so that the next question asks the store. Blocks. After return nothing touches
 * `into`. Returns OK when every load has a status of its own. */
MUST_CHECK enum hfkv_status kv_cache_load_many(struct kv_cache *cache, struct kv_cache_load *loads, size_t count,
					       struct deadline deadline, struct fault *fault);

/* A part of a large object, without staging (plain layout). Lengths and decoding are checked, hashes not.
 * Blocks. */
MUST_CHECK enum hfkv_status kv_cache_read_range(struct kv_cache *cache, const struct object_info *info,
						uint64_t offset, uint64_t length, uint8_t *into,
						uint64_t *ret_bytes, struct deadline deadline,
						struct fault *fault);

/* ---- writing ---- */

/* A new, empty body in staging, private to its writer until published. `expected_bytes` is reserved (evicting
 * clean files); NO_SPACE when that cannot be. Memory and staging disk only. Released with staged_file_unref. */
MUST_CHECK enum hfkv_status kv_cache_new_body(struct kv_cache *cache, uint64_t expected_bytes,
					      struct staged_file **ret_file, struct fault *fault);

enum kv_cache_publish_flags {
	/* Somebody may still write: store a private copy, keep nothing as clean cache. */
	KV_CACHE_PUBLISH_STILL_WRITTEN = 1,
};

/* Stores the body under `path`. The size rule is checked first: PARTIAL_KV_CHUNK / OVERSIZE, and nothing is
 * uploaded. Blocks until it is in the bucket, sharing a batch with concurrent callers. On success, reads of `path` are served from the body. The caller keeps its own
 * reference. *ret_info may be NULL. */
MUST_CHECK enum hfkv_status kv_cache_publish(struct kv_cache *cache, struct staged_file *body, const char *path,
					     int flags, struct deadline deadline, struct object_info *ret_info,
					     struct fault *fault);

/* Whether `path` may name an object here, prefix included: OK, OVERSIZE (over the Hub's 1024 bytes) or INVALID.
 * Pure; never blocks. Writers ask it when a name is made, so that a bad one fails at create and not at upload. */
MUST_CHECK enum hfkv_status kv_cache_check_path(struct kv_cache *cache, const char *path);

/* The size rule alone, for a body about to be published: OK, PARTIAL_KV_CHUNK, OVERSIZE. A refusal is counted.
 * Never blocks. */
MUST_CHECK enum hfkv_status kv_cache_check_size(struct kv_cache *cache, const char *path, uint64_t size_bytes,
						struct fault *fault);

/* Counts a refusal by the size rule that the caller found itself: a write past the full size. */
void kv_cache_count_refusal(struct kv_cache *cache, enum hfkv_status status, const struct fault *fault);

/* Stores buffers of the caller as one batch, joined with concurrent callers; fills each put's status. The paths in
 * `puts` are relative to the prefix. Wrong sizes are refused one by one, the rest is stored. Blocks. Whatever
 * landed is counted in the metadata cache also after failure. */
MUST_CHECK enum hfkv_status kv_cache_put_many(struct kv_cache *cache, struct object_put *puts, size_t count,
					      struct deadline deadline, struct fault *fault);

/* Removes objects; OK per item also when it was not there. Waits first for changes of the same names that are
 * under way. Blocks. */
MUST_CHECK enum hfkv_status kv_cache_remove_many(struct kv_cache *cache, struct object_stat *paths, size_t count,
						 struct deadline deadline, struct fault *fault);

enum kv_cache_rename_flags { KV_CACHE_RENAME_NO_REPLACE = 1 };

/* Renames a committed object (copy + delete in one batch, checked afterwards). NOT_FOUND; EXISTS with NO_REPLACE.
 * Blocks. */
MUST_CHECK enum hfkv_status kv_cache_rename(struct kv_cache *cache, const char *from, const char *to, int flags,
					    struct deadline deadline, struct fault *fault);

/* Waits until no store or other change of `path` (NULL: of anything) is under way; how each ended is its own caller's
 * news. TIMEOUT. Blocks. */
MUST_CHECK enum hfkv_status kv_cache_sync(struct kv_cache *cache, const char *path, struct deadline deadline,
					  struct fault *fault);

/* ---- state ---- */

/* Counters since open, for `status`. Plain copies; never blocks. */
struct kv_cache_counters {
	uint64_t stat_calls_to_store, stats_answered_from_cache;
	uint64_t list_calls_to_store;
	uint64_t downloads, downloaded_bytes, staged_hits, verify_failures;
	uint64_t commits, committed_bytes, commit_batches, commit_failures;
	uint64_t refused_partial, refused_oversize, hidden_wrong_size;
	uint64_t staging_used_bytes, staging_limit_bytes, staged_files;
	uint64_t commits_pending;
	uint64_t evictions;
};
void kv_cache_counters_read(struct kv_cache *cache, struct kv_cache_counters *ret_counters);

/* The private staging directory, borrowed for the life of the cache. */
const char *kv_cache_staging_dir(struct kv_cache *cache);
/* Whether staging is a tmpfs of our own with size= the limit, so that the kernel alone can enforce it. */
bool kv_cache_staging_is_private_tmpfs(struct kv_cache *cache);

#endif
