#include "fuse/fs_listing.h"

#include <string.h>

struct take {
	struct fs_session *session;
	const char *path;
	struct fs_listing listing;
	bool out_of_memory;
};

void fs_listing_done(struct fs_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->entries[i].name);
	free(listing->entries);
	*listing = (struct fs_listing){ .count = 0 };
}

/* Takes `name`. */
static bool add(struct take *take, char *name, struct fs_listed entry)
{
	struct fs_listing *listing = &take->listing;
	if (name && listing->count == listing->capacity && listing->capacity < FS_LISTING_MAX) {
		size_t capacity = listing->capacity ? listing->capacity * 2 : 64;
		struct fs_listed *grown = realloc(listing->entries, capacity * sizeof(*grown));
		if (grown) {
			listing->entries = grown;
			listing->capacity = capacity;
		}
	}
	if (!name || listing->count == listing->capacity) {
		free(name);
		take->out_of_memory = true;
		return false;
	}
	entry.name = name;
	listing->entries[listing->count++] = entry;
	return true;
}

static enum hfkv_status visit_bucket(void *context, const struct kv_cache_name *found)
{
	struct take *take = context;
	char *shown = fs_name_of_listed(&take->session->rule, take->path, found->name, found->is_directory);
	if (!shown)
		return HFKV_OK; /* an odd one: not shown, by the rule of names */
	struct fs_listed entry = { .is_directory = found->is_directory,
				   .info = found->info,
				   .fresh_until_ms = found->fresh_until_ms };
	return add(take, shown, entry) ? HFKV_OK : HFKV_NO_MEMORY;
}

static bool visit_local(void *context, const char *name, struct fs_inode *inode)
{
	struct take *take = context;
	struct fs_listed entry = { .is_local = true, .is_directory = inode->kind == FS_INODE_DIRECTORY };
	return add(take, strdup(name), entry);
}

/* Of two entries with one name the file stands before the directory, and the bucket's before the local one. */
static int compare(const void *left, const void *right)
{
	const struct fs_listed *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	if (order == 0)
		order = (int)a->is_directory - (int)b->is_directory;
	return order ? order : (int)a->is_local - (int)b->is_local;
}

static void sort_and_merge(struct fs_listing *listing)
{
	if (listing->count == 0)
		return;
	qsort(listing->entries, listing->count, sizeof(*listing->entries), compare);
	size_t kept = 1;
	for (size_t i = 1; i < listing->count; i++) {
		if (strcmp(listing->entries[i].name, listing->entries[kept - 1].name) == 0)
			free(listing->entries[i].name);
		else
			listing->entries[kept++] = listing->entries[i];
	}
	listing->count = kept;
}

enum hfkv_status fs_listing_take(struct fs_session *session, struct fs_inode *directory, const char *path,
				 struct fs_listing *ret_listing, struct deadline deadline, struct fault *fault)
{
	struct take take = { .session = session, .path = path };
	enum hfkv_status status = HFKV_OK;
	if (!fs_name_is_scratch_directory(&session->rule, path))
		status = kv_cache_list(session->cache, path, visit_bucket, &take, deadline, fault);
	if (status == HFKV_OK)
		inode_table_visit_kept(session->inodes, directory, visit_local, &take);
	if (status == HFKV_OK && take.out_of_memory)
		status = fault_set(fault, HFKV_NO_MEMORY, "the listing of '%s' is too large", path);
	if (status != HFKV_OK) {
		fs_listing_done(&take.listing);
		return status;
	}
	sort_and_merge(&take.listing);
	*ret_listing = take.listing;
	return HFKV_OK;
}
