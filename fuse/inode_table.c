#include "fuse/inode_table.h"

#include "common/clock.h"

#include <assert.h>
#include <string.h>
#include <uthash.h>

/* The key is the directory's address followed by the name's bytes. */
#define KEY_MAX_BYTES (sizeof(struct fs_inode *) + FS_NAME_MAX_BYTES)

struct fs_name {
	UT_hash_handle hh;
	struct fs_name *previous, *next; /* in directory->children */
	struct fs_inode *directory;      /* referenced */
	struct fs_inode *current;
	struct fs_inode *privates; /* by next_private */
	size_t key_bytes;
	char key[]; /* NUL-terminated beyond key_bytes */
};

struct inode_table {
	pthread_mutex_t mutex;
	struct fs_name *names;
	struct fs_inode *root;
	struct fs_inode *alive; /* by next */
	struct fs_inode *ended; /* by next_private: to be released once the lock is dropped */
	uint64_t next_number;
	size_t count;
	inode_release release;
	void *context;
};

static const char *name_text(const struct fs_name *name)
{
	return name->key + sizeof(struct fs_inode *);
}

static struct fs_inode *new_inode(struct inode_table *table, enum fs_inode_kind kind)
{
	struct fs_inode *inode = calloc(1, sizeof(*inode));
	if (!inode)
		return NULL;
	pthread_mutex_init(&inode->mutex, NULL);
	condition_init(&inode->changed);
	inode->kind = kind;
	inode->references = 1;
	inode->number = table->next_number++;
	inode->next = table->alive;
	if (inode->next)
		inode->next->previous = inode;
	table->alive = inode;
	table->count++;
	return inode;
}

static void free_inode(struct fs_inode *inode)
{
	pthread_mutex_destroy(&inode->mutex);
	pthread_cond_destroy(&inode->changed);
	free(inode);
}

enum hfkv_status inode_table_new(inode_release release, void *context, struct inode_table **ret_table)
{
	struct inode_table *table = calloc(1, sizeof(*table));
	if (!table)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&table->mutex, NULL);
	table->release = release;
	table->context = context;
	table->next_number = 1;
	table->root = new_inode(table, FS_INODE_DIRECTORY);
	if (!table->root) {
		free(table);
		return HFKV_NO_MEMORY;
	}
	*ret_table = table;
	return HFKV_OK;
}

struct fs_inode *inode_table_root(struct inode_table *table)
{
	return table->root;
}

/* ---- ends of life; all under the lock ---- */

static void unref_locked(struct inode_table *table, struct fs_inode *inode);

static void drop_name_if_unused(struct inode_table *table, struct fs_name *name)
{
	if (name->current || name->privates)
		return;
	HASH_DEL(table->names, name);
	if (name->previous)
		name->previous->next = name->next;
	else
		name->directory->children = name->next;
	if (name->next)
		name->next->previous = name->previous;
	struct fs_inode *directory = name->directory;
	free(name);
	unref_locked(table, directory);
}

/* Takes the inode out of its name, without touching references. */
static struct fs_name *detach(struct fs_inode *inode)
{
	struct fs_name *name = inode->name;
	inode->name = NULL;
	if (name->current == inode) {
		name->current = NULL;
		return name;
	}
	struct fs_inode **link = &name->privates;
	while (*link != inode)
		link = &(*link)->next_private;
	*link = inode->next_private;
	inode->next_private = NULL;
	return name;
}

static void end_if_unused(struct inode_table *table, struct fs_inode *inode)
{
	if (inode->references > 0 || inode->lookups > 0)
		return;
	struct fs_name *name = inode->name ? detach(inode) : NULL;
	if (inode->previous)
		inode->previous->next = inode->next;
	else
		table->alive = inode->next;
	if (inode->next)
		inode->next->previous = inode->previous;
	inode->next_private = table->ended;
	table->ended = inode;
	table->count--;
	if (name)
		drop_name_if_unused(table, name);
}

static void unref_locked(struct inode_table *table, struct fs_inode *inode)
{
	assert(inode->references > 0);
	inode->references--;
	end_if_unused(table, inode);
}

static bool unbind_locked(struct inode_table *table, struct fs_inode *inode)
{
	if (!inode->name)
		return false;
	struct fs_name *name = detach(inode);
	bool kept = inode->kept;
	inode->kept = false;
	drop_name_if_unused(table, name);
	if (kept)
		unref_locked(table, inode);
	return true;
}

/* Unlocks, then releases what ended meanwhile: their release may take other locks. */
static void unlock_and_release(struct inode_table *table)
{
	struct fs_inode *ended = table->ended;
	table->ended = NULL;
	pthread_mutex_unlock(&table->mutex);
	while (ended) {
		struct fs_inode *next = ended->next_private;
		table->release(table->context, ended);
		free_inode(ended);
		ended = next;
	}
}

void inode_table_free(struct inode_table *table)
{
	if (!table)
		return;
	/* Releasing one inode may drop references to others: none ends before all were released. */
	for (struct fs_inode *inode = table->alive; inode; inode = inode->next)
		inode->references++;
	for (struct fs_inode *inode = table->alive; inode; inode = inode->next)
		table->release(table->context, inode);
	while (table->alive) {
		struct fs_inode *next = table->alive->next;
		free_inode(table->alive);
		table->alive = next;
	}
	struct fs_name *name, *next_name;
	HASH_ITER (hh, table->names, name, next_name) {
		HASH_DEL(table->names, name);
		free(name);
	}
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

/* ---- references ---- */

struct fs_inode *inode_table_add(struct inode_table *table, enum fs_inode_kind kind)
{
	SCOPED_LOCK(&table->mutex);
	return new_inode(table, kind);
}

struct fs_inode *inode_table_ref(struct inode_table *table, struct fs_inode *inode)
{
	SCOPED_LOCK(&table->mutex);
	inode->references++;
	return inode;
}

void inode_table_unref(struct inode_table *table, struct fs_inode *inode)
{
	if (!inode)
		return;
	pthread_mutex_lock(&table->mutex);
	unref_locked(table, inode);
	unlock_and_release(table);
}

void inode_table_looked_up(struct inode_table *table, struct fs_inode *inode)
{
	SCOPED_LOCK(&table->mutex);
	inode->lookups++;
}

void inode_table_forget(struct inode_table *table, struct fs_inode *inode, uint64_t count)
{
	pthread_mutex_lock(&table->mutex);
	assert(inode->lookups >= count);
	inode->lookups -= count;
	end_if_unused(table, inode);
	unlock_and_release(table);
}

/* ---- names; the lock is held ---- */

static size_t make_key(struct fs_inode *directory, const char *name, char key[KEY_MAX_BYTES + 1])
{
	size_t length = strnlen(name, FS_NAME_MAX_BYTES);
	memcpy(key, &directory, sizeof(directory));
	memcpy(key + sizeof(directory), name, length);
	key[sizeof(directory) + length] = '\0';
	return sizeof(directory) + length;
}

static struct fs_name *find_name(struct inode_table *table, struct fs_inode *directory, const char *name)
{
	char key[KEY_MAX_BYTES + 1];
	size_t key_bytes = make_key(directory, name, key);
	struct fs_name *found = NULL;
	HASH_FIND(hh, table->names, key, key_bytes, found);
	return found;
}

static struct fs_name *find_or_add_name(struct inode_table *table, struct fs_inode *directory, const char *name)
{
	struct fs_name *found = find_name(table, directory, name);
	if (found)
		return found;
	char key[KEY_MAX_BYTES + 1];
	size_t key_bytes = make_key(directory, name, key);
	struct fs_name *added = calloc(1, sizeof(*added) + key_bytes + 1);
	if (!added)
		return NULL;
	memcpy(added->key, key, key_bytes + 1);
	added->key_bytes = key_bytes;
	added->directory = directory;
	directory->references++;
	added->next = directory->children;
	if (added->next)
		added->next->previous = added;
	directory->children = added;
	HASH_ADD_KEYPTR(hh, table->names, added->key, added->key_bytes, added);
	return added;
}

/* The current inode of a place loses it; the caller gets a reference. */
static void give_up_place(struct fs_inode *displaced)
{
	displaced->name->current = NULL;
	displaced->name = NULL;
	displaced->references += displaced->kept ? 0 : 1; /* the name's reference becomes the caller's */
	displaced->kept = false;
}

/* Makes inode the current one of `place`; what stood there is returned with a reference. */
static struct fs_inode *put_current(struct inode_table *table, struct fs_name *place, struct fs_inode *inode, bool keep)
{
	struct fs_inode *displaced = place->current;
	inode->references++; /* for the length of this function */
	if (displaced == inode) {
		displaced = NULL;
	} else {
		if (displaced)
			give_up_place(displaced);
		struct fs_name *former = inode->name ? detach(inode) : NULL;
		place->current = inode;
		inode->name = place;
		if (former && former != place)
			drop_name_if_unused(table, former);
	}
	if (keep != inode->kept) {
		inode->kept = keep;
		inode->references += keep ? 1 : -1;
	}
	unref_locked(table, inode);
	return displaced;
}

struct fs_inode *inode_table_find(struct inode_table *table, struct fs_inode *directory, const char *name)
{
	SCOPED_LOCK(&table->mutex);
	struct fs_name *found = find_name(table, directory, name);
	if (!found || !found->current)
		return NULL;
	found->current->references++;
	return found->current;
}

enum hfkv_status inode_table_bind(struct inode_table *table, struct fs_inode *directory, const char *name,
				  struct fs_inode *inode, bool keep, struct fs_inode **ret_displaced)
{
	pthread_mutex_lock(&table->mutex);
	struct fs_name *place = find_or_add_name(table, directory, name);
	if (place)
		*ret_displaced = put_current(table, place, inode, keep);
	unlock_and_release(table);
	return place ? HFKV_OK : HFKV_NO_MEMORY;
}

struct fs_inode *inode_table_find_or_bind(struct inode_table *table, struct fs_inode *directory, const char *name,
					  struct fs_inode *inode,
					  bool (*same)(struct fs_inode *inode, const void *context), const void *context)
{
	pthread_mutex_lock(&table->mutex);
	struct fs_name *place = find_or_add_name(table, directory, name);
	struct fs_inode *result = NULL;
	if (place && place->current && same(place->current, context)) {
		result = place->current;
	} else if (place) {
		struct fs_inode *displaced = put_current(table, place, inode, false);
		if (displaced)
			unref_locked(table, displaced);
		result = inode;
	}
	if (result)
		result->references++;
	unlock_and_release(table);
	return result;
}

enum hfkv_status inode_table_bind_private(struct inode_table *table, struct fs_inode *directory, const char *name,
					  struct fs_inode *inode)
{
	SCOPED_LOCK(&table->mutex);
	struct fs_name *place = find_or_add_name(table, directory, name);
	if (!place)
		return HFKV_NO_MEMORY;
	assert(!inode->name);
	inode->name = place;
	inode->kept = true;
	inode->references++;
	inode->next_private = place->privates;
	place->privates = inode;
	return HFKV_OK;
}

struct fs_inode *inode_table_find_private(struct inode_table *table, struct fs_inode *directory, const char *name,
					  bool (*match)(struct fs_inode *inode, const void *context), const void *context)
{
	SCOPED_LOCK(&table->mutex);
	struct fs_name *found = find_name(table, directory, name);
	for (struct fs_inode *inode = found ? found->privates : NULL; inode; inode = inode->next_private)
		if (match(inode, context)) {
			inode->references++;
			return inode;
		}
	return NULL;
}

bool inode_table_unbind(struct inode_table *table, struct fs_inode *inode)
{
	pthread_mutex_lock(&table->mutex);
	bool had_name = unbind_locked(table, inode);
	unlock_and_release(table);
	return had_name;
}

bool inode_table_has_name(struct inode_table *table, struct fs_inode *inode)
{
	SCOPED_LOCK(&table->mutex);
	return inode->name != NULL;
}

/* ---- paths ---- */

/* Bytes of the path including the NUL, 0 when the chain of names is broken. */
static size_t path_bytes(struct inode_table *table, const struct fs_inode *inode)
{
	size_t bytes = 0;
	while (inode != table->root) {
		if (!inode->name)
			return 0;
		bytes += strlen(name_text(inode->name)) + 1;
		inode = inode->name->directory;
	}
	return bytes ? bytes : 1;
}

char *inode_table_path(struct inode_table *table, struct fs_inode *inode)
{
	SCOPED_LOCK(&table->mutex);
	size_t bytes = path_bytes(table, inode);
	char *path = bytes ? malloc(bytes) : NULL;
	if (!path)
		return NULL;
	char *end = path + bytes - 1;
	*end = '\0';
	while (inode != table->root) {
		const char *name = name_text(inode->name);
		size_t length = strlen(name);
		end -= length;
		memcpy(end, name, length);
		if (end > path)
			*--end = '/';
		inode = inode->name->directory;
	}
	return path;
}

bool inode_table_locate(struct inode_table *table, struct fs_inode *inode, struct fs_inode **ret_directory,
			char **ret_name)
{
	SCOPED_LOCK(&table->mutex);
	char *name = inode->name ? strdup(name_text(inode->name)) : NULL;
	if (!name)
		return false;
	inode->name->directory->references++;
	*ret_directory = inode->name->directory;
	*ret_name = name;
	return true;
}

/* ---- walking ---- */

void inode_table_visit_kept(struct inode_table *table, struct fs_inode *directory, inode_visit visit, void *context)
{
	SCOPED_LOCK(&table->mutex);
	for (struct fs_name *name = directory->children; name; name = name->next)
		if (name->current && name->current->kept && !visit(context, name_text(name), name->current))
			return;
}

bool inode_table_has_kept(struct inode_table *table, struct fs_inode *directory)
{
	SCOPED_LOCK(&table->mutex);
	for (struct fs_name *name = directory->children; name; name = name->next)
		if (name->privates || (name->current && name->current->kept))
			return true;
	return false;
}

size_t inode_table_count(struct inode_table *table)
{
	SCOPED_LOCK(&table->mutex);
	return table->count;
}
