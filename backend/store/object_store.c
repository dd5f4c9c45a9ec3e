/*
 * The guards of the seam: no implementation is called directly. They refuse bad paths one by one, so that
 * implementations see only good ones, and catch an implementation that breaks its side (BUG).
 */
#include "backend/store/object_store_class.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <string.h>

/* What an item holds until somebody answers it. */
#define UNANSWERED HFKV_STATUS_COUNT

/* ---- paths ---- */

/* Length of the UTF-8 sequence at `text`, 0 when there is none (overlong forms and surrogates count as none). */
static size_t utf8_length(const unsigned char *text)
{
	unsigned lead = text[0];
	if (lead < 0x80)
		return 1;
	size_t length = lead >= 0xf0 && lead <= 0xf4   ? 4
			: lead >= 0xe0 && lead <= 0xef ? 3
			: lead >= 0xc2 && lead <= 0xdf ? 2
						       : 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((lead == 0xe0 && text[1] < 0xa0) || (lead == 0xed && text[1] > 0x9f) ||
	    (lead == 0xf0 && text[1] < 0x90) || (lead == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

static bool is_utf8(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t length = utf8_length(at);
		if (length == 0)
			return false;
		at += length;
	}
	return true;
}

static bool segment_is_bad(const char *segment, size_t length)
{
	return length == 0 || (length == 1 && segment[0] == '.') ||
	       (length == 2 && segment[0] == '.' && segment[1] == '.');
}

enum hfkv_status object_path_check(const char *path)
{
	if (!path || !*path)
		return HFKV_INVALID;
	if (strlen(path) > OBJECT_PATH_MAX_BYTES)
		return HFKV_OVERSIZE;
	for (const char *segment = path;; segment += strcspn(segment, "/") + 1) {
		size_t length = strcspn(segment, "/");
		if (segment_is_bad(segment, length))
			return HFKV_INVALID;
		if (segment[length] == '\0')
			break;
	}
	return is_utf8(path) ? HFKV_OK : HFKV_INVALID;
}

static enum hfkv_status check_path(const char *path, struct fault *fault)
{
	enum hfkv_status status = object_path_check(path);
	if (status == HFKV_OK)
		return HFKV_OK;
	return fault_set(fault, status, "object path '%.200s' is %s", path ? path : "",
			 status == HFKV_OVERSIZE
			     ? "longer than 1024 bytes"
			     : "not one that a bucket takes (empty, an empty, '.' or '..' segment, "
			       "an outer slash, or not UTF-8)");
}

static enum hfkv_status broken(const struct object_store *store, const char *call, struct fault *fault)
{
	return fault_set(fault, HFKV_BUG, "the %s store left an item of %s without an answer that fits",
			 store->class->name, call);
}

/* ---- stat and delete: batches of struct object_stat ---- */

typedef enum hfkv_status (*stat_call)(struct object_store *store, struct object_stat *stats, size_t count,
				      struct deadline deadline, struct fault *fault);

/* Runs `call` on the items whose path is good; the others get their status here. */
static enum hfkv_status run_on_good_paths(struct object_store *store, stat_call call, struct object_stat *stats,
					  size_t count, struct deadline deadline, struct fault *fault)
{
	size_t n_good = 0;
	for (size_t i = 0; i < count; i++) {
		enum hfkv_status path_status = object_path_check(stats[i].path);
		stats[i].status = path_status == HFKV_OK ? UNANSWERED : path_status;
		stats[i].info = (struct object_info){ 0 };
		n_good += path_status == HFKV_OK;
	}
	if (n_good == 0)
		return HFKV_OK;
	if (n_good == count)
		return call(store, stats, count, deadline, fault);
	CLEANUP(free_pointer) struct object_stat *good = calloc(n_good, sizeof(*good));
	if (!good)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a batch of %zu paths", count);
	for (size_t i = 0, g = 0; i < count; i++)
		if (stats[i].status == UNANSWERED)
			good[g++] = stats[i];
	enum hfkv_status status = call(store, good, n_good, deadline, fault);
	for (size_t i = 0, g = 0; i < count; i++)
		if (stats[i].status == UNANSWERED)
			stats[i] = good[g++];
	return status;
}

enum hfkv_status object_store_stat_many(struct object_store *store, struct object_stat *stats, size_t count,
					struct deadline deadline, struct fault *fault)
{
	enum hfkv_status status = run_on_good_paths(store, store->class->stat_many, stats, count, deadline, fault);
	for (size_t i = 0; i < count; i++) {
		if (stats[i].status != UNANSWERED)
			continue;
		if (status == HFKV_OK)
			return broken(store, "stat", fault);
		stats[i].status =
		    status == HFKV_NOT_FOUND ? HFKV_INVALID : status; /* a missing bucket is no absence */
	}
	return status;
}

enum hfkv_status object_store_delete_many(struct object_store *store, struct object_stat *paths, size_t count,
					  struct deadline deadline, struct fault *fault)
{
	struct fault own = FAULT_NONE;
	enum hfkv_status status =
	    run_on_good_paths(store, store->class->delete_many, paths, count, deadline, &own);
	enum hfkv_status call_status = status;
	for (size_t i = 0; i < count; i++) {
		if (paths[i].status == UNANSWERED)
			paths[i].status = call_status == HFKV_OK ? broken(store, "delete", &own) : call_status;
		if (status == HFKV_OK && paths[i].status != HFKV_OK) {
			status = paths[i].status;
			if (check_path(paths[i].path, &own) == HFKV_OK && status != HFKV_BUG)
				fault_set(&own, status, "object '%s' was not removed", paths[i].path);
		}
	}
	if (fault && status != HFKV_OK)
		*fault = own;
	return status;
}

/* ---- list ---- */

struct guarded_visit {
	const char *directory;
	bool recursive;
	object_list_visit visit;
	void *context;
};

/* The part of `path` under the directory, or NULL. */
static const char *relative_path(const struct guarded_visit *guarded, const char *path)
{
	size_t length = strlen(guarded->directory);
	if (length == 0)
		return path;
	return strncmp(path, guarded->directory, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static enum hfkv_status visit_guarded(void *context, const struct object_list_entry *entry)
{
	struct guarded_visit *guarded = context;
	const char *relative = relative_path(guarded, entry->path);
	if (!relative || (!guarded->recursive && strchr(relative, '/')) ||
	    (guarded->recursive && entry->is_directory))
		return HFKV_BUG;
	if (object_path_check(entry->path) != HFKV_OK)
		return HFKV_OK; /* nobody could name it */
	return guarded->visit(guarded->context, entry);
}

enum hfkv_status object_store_list(struct object_store *store, const char *directory, bool recursive,
				   object_list_visit visit, void *context, struct deadline deadline,
				   struct fault *fault)
{
	if (*directory) {
		enum hfkv_status status = check_path(directory, fault);
		if (status != HFKV_OK)
			return status;
	}
	struct guarded_visit guarded = { directory, recursive, visit, context };
	log_debug("list \"%s\"%s", directory, recursive ? " recursively" : "");
	return store->class->list(store, directory, recursive, visit_guarded, &guarded, deadline, fault);
}

/* ---- read ---- */

static enum hfkv_status read_exactly(struct object_store *store, const struct object_read *read,
				     struct deadline deadline, struct fault *fault)
{
	uint64_t bytes = 0;
	enum hfkv_status status = store->class->read(store, read, &bytes, deadline, fault);
	if (status == HFKV_OK && bytes != read->length_bytes)
		return fault_set(fault, HFKV_CORRUPT,
				 "a read of %llu bytes inside an object of %llu came back with %llu",
				 (unsigned long long)read->length_bytes, (unsigned long long)read->size_bytes,
				 (unsigned long long)bytes);
	return status;
}

enum hfkv_status object_store_read_whole(struct object_store *store, const struct object_info *info,
					 const struct object_sink *sink, object_progress progress,
					 void *progress_context, struct deadline deadline, struct fault *fault)
{
	struct object_read read = { .hash = &info->hash,
				    .size_bytes = info->size_bytes,
				    .length_bytes = info->size_bytes,
				    .sink = sink,
				    .progress = progress,
				    .progress_context = progress_context };
	return info->size_bytes == 0 ? HFKV_OK : read_exactly(store, &read, deadline, fault);
}

enum hfkv_status object_store_read_range(struct object_store *store, const struct object_info *info,
					 uint64_t offset, uint64_t length, const struct object_sink *sink,
					 uint64_t *ret_bytes, struct deadline deadline, struct fault *fault)
{
	uint64_t left = offset < info->size_bytes ? info->size_bytes - offset : 0;
	struct object_read read = { .hash = &info->hash,
				    .size_bytes = info->size_bytes,
				    .offset = offset,
				    .length_bytes = length < left ? length : left,
				    .sink = sink };
	enum hfkv_status status = read.length_bytes == 0 ? HFKV_OK : read_exactly(store, &read, deadline, fault);
	if (status == HFKV_OK)
		*ret_bytes = read.length_bytes;
	return status;
}

/* ---- put ---- */

static enum hfkv_status check_put(struct object_put *put)
{
	put->fault = FAULT_NONE;
	put->hash = (struct content_hash){ 0 };
	enum hfkv_status status = check_path(put->path, &put->fault);
	if (status == HFKV_OK && put->source.size_bytes > 0 && !put->source.memory && put->source.fd < 0)
		status =
		    fault_set(&put->fault, HFKV_INVALID, "object '%s': nothing to read its bytes from", put->path);
	return status;
}

/* Statuses of a batch are made whole: an item nobody answered carries the call's failure. */
static enum hfkv_status settle_puts(struct object_store *store, struct object_put *puts, size_t count,
				    enum hfkv_status status, struct fault *own)
{
	struct fault call_fault = *own;
	enum hfkv_status first = HFKV_OK;
	for (size_t i = 0; i < count; i++) {
		if (puts[i].status == UNANSWERED) {
			puts[i].status = status == HFKV_OK ? broken(store, "put", &call_fault) : status;
			puts[i].fault = call_fault;
		}
		if (puts[i].status != HFKV_OK && first == HFKV_OK) {
			first = puts[i].status;
			*own = puts[i].fault;
		}
	}
	return first;
}

/* The items that were not refused, side by side; NULL: no memory. */
static struct object_put *good_puts(const struct object_put *puts, size_t count, size_t n_good)
{
	struct object_put *good = calloc(n_good, sizeof(*good));
	for (size_t i = 0, g = 0; i < count && good; i++)
		if (puts[i].status == UNANSWERED)
			good[g++] = puts[i];
	return good;
}

/* The same items back to their places. */
static void return_good_puts(struct object_put *puts, size_t count, const struct object_put *good)
{
	for (size_t i = 0, g = 0; i < count; i++)
		if (puts[i].status == UNANSWERED)
			puts[i] = good[g++];
}

enum hfkv_status object_store_put_many(struct object_store *store, struct object_put *puts, size_t count,
				       object_progress progress, void *progress_context, struct deadline deadline,
				       struct fault *fault)
{
	CLEANUP(free_pointer) struct object_put *some = NULL;
	struct fault own = FAULT_NONE;
	enum hfkv_status status = HFKV_OK;
	size_t n_good = 0;
	for (size_t i = 0; i < count; i++) {
		enum hfkv_status good = check_put(&puts[i]);
		puts[i].status = good == HFKV_OK ? UNANSWERED : good;
		n_good += good == HFKV_OK;
	}
	if (n_good > 0 && n_good < count && !(some = good_puts(puts, count, n_good)))
		status = fault_set(&own, HFKV_NO_MEMORY, "no memory for a batch of %zu objects", count);
	else if (n_good > 0)
		status = store->class->put_many(store, some ? some : puts, n_good, progress, progress_context,
						deadline, &own);
	if (some)
		return_good_puts(puts, count, some);
	status = settle_puts(store, puts, count, status, &own);
	if (fault && status != HFKV_OK)
		*fault = own;
	return status;
}

/* ---- the rest ---- */

enum hfkv_status object_store_rename(struct object_store *store, const char *from, const struct object_info *info,
				     const char *to, struct deadline deadline, struct fault *fault)
{
	enum hfkv_status status = check_path(from, fault);
	if (status == HFKV_OK)
		status = check_path(to, fault);
	if (status != HFKV_OK || strcmp(from, to) == 0)
		return status;
	return store->class->rename(store, from, info, to, deadline, fault);
}

enum hfkv_status object_store_probe(struct object_store *store, struct deadline deadline, struct fault *fault)
{
	return store->class->probe(store, deadline, fault);
}

void object_store_free(struct object_store *store)
{
	if (store)
		store->class->free(store);
}
