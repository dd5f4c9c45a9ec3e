#include "backend/store/memory_store.h"

#include "backend/store/object_store_class.h"
#include "common/byte_buf.h"
#include "common/cleanup.h"
#include "common/file_io.h"

#include <openssl/sha.h>
#include <string.h>
#include <uthash.h>

struct memory_content {
	struct content_hash hash;
	uint64_t size_bytes;
	uint8_t *bytes;
	UT_hash_handle hh;
};

struct memory_object {
	char *path;
	struct object_info info;
	UT_hash_handle hh;
};

struct memory_store {
	struct object_store base;
	pthread_mutex_t mutex; /* all below; the work under it is memory copies */
	struct memory_object *objects;
	struct memory_content *contents;
};

static struct memory_store *of(struct object_store *store)
{
	return (struct memory_store *)store;
}

static enum hfkv_status check_deadline(struct deadline deadline, struct fault *fault)
{
	return deadline_passed(deadline) ? fault_set(fault, HFKV_TIMEOUT, "the deadline has passed") : HFKV_OK;
}

/* ---- tables; the mutex is held ---- */

static struct memory_object *object_find(struct memory_store *store, const char *path)
{
	struct memory_object *object;
	HASH_FIND_STR(store->objects, path, object);
	return object;
}

static void object_remove(struct memory_store *store, const char *path)
{
	struct memory_object *object = object_find(store, path);
	if (!object)
		return;
	HASH_DEL(store->objects, object);
	free(object->path);
	free(object);
}

static bool object_set(struct memory_store *store, const char *path, const struct object_info *info)
{
	struct memory_object *object = object_find(store, path);
	if (object) {
		object->info = *info;
		return true;
	}
	object = calloc(1, sizeof(*object));
	char *own_path = strdup(path);
	if (!object || !own_path) {
		free(object);
		free(own_path);
		return false;
	}
	object->path = own_path;
	object->info = *info;
	HASH_ADD_KEYPTR(hh, store->objects, object->path, strlen(object->path), object);
	return true;
}

static struct memory_content *content_find(struct memory_store *store, const struct content_hash *hash)
{
	struct memory_content *content;
	HASH_FIND(hh, store->contents, hash, sizeof(*hash), content);
	return content;
}

/* ---- calls ---- */

static enum hfkv_status memory_stat_many(struct object_store *base, struct object_stat *stats, size_t count,
					 struct deadline deadline, struct fault *fault)
{
	struct memory_store *store = of(base);
	enum hfkv_status status = check_deadline(deadline, fault);
	if (status != HFKV_OK)
		return status;
	SCOPED_LOCK(&store->mutex);
	for (size_t i = 0; i < count; i++) {
		struct memory_object *object = object_find(store, stats[i].path);
		stats[i].status = object ? HFKV_OK : HFKV_NOT_FOUND;
		if (object)
			stats[i].info = object->info;
	}
	return HFKV_OK;
}

/* A copy of the listing, so that no lock is held while the visitor runs. */
struct snapshot_entry {
	char *path;
	bool is_directory;
	struct object_info info;
};

struct snapshot {
	struct snapshot_entry *entries;
	size_t count, capacity;
};

static void snapshot_done(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		free(snapshot->entries[i].path);
	free(snapshot->entries);
}

static bool snapshot_add(struct snapshot *snapshot, const char *path, size_t length,
			 const struct object_info *info)
{
	if (snapshot->count == snapshot->capacity) {
		size_t capacity = snapshot->capacity ? 2 * snapshot->capacity : 64;
		void *entries = reallocarray(snapshot->entries, capacity, sizeof(*snapshot->entries));
		if (!entries)
			return false;
		snapshot->entries = entries;
		snapshot->capacity = capacity;
	}
	struct snapshot_entry *entry = &snapshot->entries[snapshot->count];
	*entry = (struct snapshot_entry){ .path = strndup(path, length), .is_directory = !info };
	if (!entry->path)
		return false;
	if (info)
		entry->info = *info;
	snapshot->count++;
	return true;
}

static int compare_entries(const void *left, const void *right)
{
	const struct snapshot_entry *a = left, *b = right;
	int order = strcmp(a->path, b->path);
	return order ? order : (int)a->is_directory - (int)b->is_directory;
}

static bool take_snapshot(struct memory_store *store, const char *directory, bool recursive,
			  struct snapshot *snapshot)
{
	size_t length = strlen(directory);
	SCOPED_LOCK(&store->mutex);
	for (struct memory_object *object = store->objects; object; object = object->hh.next) {
		if (length > 0 && (strncmp(object->path, directory, length) != 0 || object->path[length] != '/'))
			continue;
		const char *relative = object->path + (length > 0 ? length + 1 : 0);
		const char *slash = recursive ? NULL : strchr(relative, '/');
		size_t shown = slash ? (size_t)(slash - object->path) : strlen(object->path);
		if (!snapshot_add(snapshot, object->path, shown, slash ? NULL : &object->info))
			return false;
	}
	return true;
}

static enum hfkv_status memory_list(struct object_store *base, const char *directory, bool recursive,
				    object_list_visit visit, void *context, struct deadline deadline,
				    struct fault *fault)
{
	CLEANUP(snapshot_done) struct snapshot snapshot = { 0 };
	enum hfkv_status status = check_deadline(deadline, fault);
	if (status != HFKV_OK)
		return status;
	if (!take_snapshot(of(base), directory, recursive, &snapshot))
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a listing");
	if (snapshot.count > 0)
		qsort(snapshot.entries, snapshot.count, sizeof(*snapshot.entries), compare_entries);
	for (size_t i = 0; i < snapshot.count && status == HFKV_OK; i++) {
		struct snapshot_entry *entry = &snapshot.entries[i];
		if (i > 0 && entry->is_directory && compare_entries(entry - 1, entry) == 0)
			continue; /* one directory, however many objects it holds */
		struct object_list_entry shown = { entry->path, entry->is_directory, entry->info };
		status = visit(context, &shown);
	}
	return status;
}

static enum hfkv_status memory_read(struct object_store *base, const struct object_read *read, uint64_t *ret_bytes,
				    struct deadline deadline, struct fault *fault)
{
	struct memory_store *store = of(base);
	enum hfkv_status status = check_deadline(deadline, fault);
	if (status != HFKV_OK)
		return status;
	const uint8_t *bytes = NULL;
	{
		SCOPED_LOCK(&store->mutex);
		struct memory_content *content = content_find(store, read->hash);
		if (content && content->size_bytes == read->size_bytes)
			bytes = content->bytes; /* content never goes away before the store */
	}
	if (!bytes)
		return HFKV_NOT_FOUND;
	if (read->sink->memory)
		memcpy(read->sink->memory, bytes + read->offset, read->length_bytes);
	else if (!file_io_write_at(read->sink->fd, bytes + read->offset, read->length_bytes, read->sink->fd_offset))
		status = fault_set_errno(fault, errno, "writing what was read");
	if (status == HFKV_OK && read->progress && !read->progress(read->progress_context, read->length_bytes))
		status = fault_set(fault, HFKV_CANCELLED, "the read was given up");
	if (status == HFKV_OK)
		*ret_bytes = read->length_bytes;
	return status;
}

/* A copy of the source's bytes. */
static enum hfkv_status read_source(const struct object_source *source, uint8_t **ret_bytes, struct fault *fault)
{
	CLEANUP(free_pointer) uint8_t *bytes = malloc(source->size_bytes);
	if (!bytes)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %llu bytes",
				 (unsigned long long)source->size_bytes);
	if (source->memory)
		memcpy(bytes, source->memory, source->size_bytes);
	int64_t got = source->memory ? (int64_t)source->size_bytes
				     : file_io_read_at(source->fd, bytes, source->size_bytes, 0);
	if (got < 0)
		return fault_set_errno(fault, errno, "reading an object's source");
	if ((uint64_t)got < source->size_bytes)
		return fault_set(fault, HFKV_CHANGED, "an object's source became shorter while it was read");
	*ret_bytes = TAKE_PTR(bytes);
	return HFKV_OK;
}

/* Keeps the content under its hash; the mutex is not held. */
static enum hfkv_status content_add(struct memory_store *store, const struct object_source *source,
				    struct content_hash *ret_hash, struct fault *fault)
{
	CLEANUP(free_pointer) uint8_t *bytes = NULL;
	enum hfkv_status status = read_source(source, &bytes, fault);
	if (status != HFKV_OK)
		return status;
	CLEANUP(free_pointer) struct memory_content *content = calloc(1, sizeof(*content));
	if (!content)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for an object");
	SHA256(bytes, source->size_bytes, content->hash.bytes);
	*ret_hash = content->hash;
	content->size_bytes = source->size_bytes;
	SCOPED_LOCK(&store->mutex);
	if (content_find(store, &content->hash))
		return HFKV_OK;
	content->bytes = TAKE_PTR(bytes);
	struct memory_content *added = TAKE_PTR(content);
	HASH_ADD(hh, store->contents, hash, sizeof(added->hash), added);
	return HFKV_OK;
}

static enum hfkv_status put_one(struct memory_store *store, struct object_put *put)
{
	struct object_info info = { .size_bytes = put->source.size_bytes,
				    .modified_at_ms =
					put->modified_at_ms ? put->modified_at_ms : clock_wall_ms() };
	if (info.size_bytes > 0) {
		enum hfkv_status status = content_add(store, &put->source, &info.hash, &put->fault);
		if (status != HFKV_OK)
			return status;
	}
	put->hash = info.hash;
	SCOPED_LOCK(&store->mutex);
	return object_set(store, put->path, &info)
		   ? HFKV_OK
		   : fault_set(&put->fault, HFKV_NO_MEMORY, "no memory for an object");
}

static enum hfkv_status memory_put_many(struct object_store *base, struct object_put *puts, size_t count,
					object_progress progress, void *progress_context, struct deadline deadline,
					struct fault *fault)
{
	uint64_t done_bytes = 0;
	enum hfkv_status first = check_deadline(deadline, fault);
	if (first != HFKV_OK)
		return first;
	for (size_t i = 0; i < count; i++) {
		puts[i].status = put_one(of(base), &puts[i]);
		if (puts[i].status != HFKV_OK && first == HFKV_OK)
			first = puts[i].status;
		done_bytes += puts[i].source.size_bytes;
		if (progress && !progress(progress_context, done_bytes))
			return fault_set(fault, HFKV_CANCELLED, "the upload was given up");
	}
	return first;
}

static enum hfkv_status memory_delete_many(struct object_store *base, struct object_stat *paths, size_t count,
					   struct deadline deadline, struct fault *fault)
{
	struct memory_store *store = of(base);
	enum hfkv_status status = check_deadline(deadline, fault);
	if (status != HFKV_OK)
		return status;
	SCOPED_LOCK(&store->mutex);
	for (size_t i = 0; i < count; i++) {
		object_remove(store, paths[i].path);
		paths[i].status = HFKV_OK;
	}
	return HFKV_OK;
}

static enum hfkv_status memory_rename(struct object_store *base, const char *from, const struct object_info *info,
				      const char *to, struct deadline deadline, struct fault *fault)
{
	struct memory_store *store = of(base);
	enum hfkv_status status = check_deadline(deadline, fault);
	if (status != HFKV_OK)
		return status;
	SCOPED_LOCK(&store->mutex);
	if (info->size_bytes > 0 && !content_find(store, &info->hash))
		return fault_set(fault, HFKV_NOT_FOUND, "object '%s': its content is not here", from);
	if (!object_set(store, to, info))
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for an object");
	object_remove(store, from);
	return HFKV_OK;
}

static enum hfkv_status memory_probe(struct object_store *store, struct deadline deadline, struct fault *fault)
{
	(void)store;
	return check_deadline(deadline, fault);
}

static void memory_free(struct object_store *base)
{
	struct memory_store *store = of(base);
	struct memory_object *object, *next_object;
	HASH_ITER(hh, store->objects, object, next_object)
	{
		HASH_DEL(store->objects, object);
		free(object->path);
		free(object);
	}
	struct memory_content *content, *next_content;
	HASH_ITER(hh, store->contents, content, next_content)
	{
		HASH_DEL(store->contents, content);
		free(content->bytes);
		free(content);
	}
	pthread_mutex_destroy(&store->mutex);
	free(store);
}

static const struct object_store_class memory_store_class = {
	.name = "memory",
	.stat_many = memory_stat_many,
	.list = memory_list,
	.read = memory_read,
	.put_many = memory_put_many,
	.delete_many = memory_delete_many,
	.rename = memory_rename,
	.probe = memory_probe,
	.free = memory_free,
};

enum hfkv_status memory_store_new(struct object_store **ret_store, struct fault *fault)
{
	struct memory_store *store = calloc(1, sizeof(*store));
	if (!store)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a store");
	store->base.class = &memory_store_class;
	pthread_mutex_init(&store->mutex, NULL);
	*ret_store = &store->base;
	return HFKV_OK;
}
