#include "cache/object_meta_cache.h"

/* Without memory for a table an entry is just not remembered. */
#define HASH_NONFATAL_OOM              1
#define uthash_nonfatal_oom(new_entry) ((new_entry)->hh.tbl = NULL)
#include <uthash.h>

#include <string.h>

enum entry_state { ENTRY_UNKNOWN, ENTRY_PRESENT, ENTRY_ABSENT };

struct meta_entry {
	struct object_info info; /* PRESENT only */
	int64_t fresh_until_ms;
	uint64_t written_generation; /* of the last own write, 0 when there was none */
	enum entry_state state;
	bool hidden; /* absent for its size, and named in the log already */
	UT_hash_handle hh;
	char path[];
};

struct object_meta_cache {
	struct object_meta_settings settings;
	pthread_mutex_t mutex;
	struct meta_entry *entries; /* uthash; its order of insertion is the order of use */
	uint64_t generation;
};

enum hfkv_status object_meta_cache_new(const struct object_meta_settings *settings,
				       struct object_meta_cache **ret_cache)
{
	struct object_meta_cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return HFKV_NO_MEMORY;
	cache->settings = *settings;
	pthread_mutex_init(&cache->mutex, NULL);
	*ret_cache = cache;
	return HFKV_OK;
}

void object_meta_cache_free(struct object_meta_cache *cache)
{
	if (!cache)
		return;
	struct meta_entry *entry, *next;
	HASH_ITER(hh, cache->entries, entry, next)
	{
		HASH_DEL(cache->entries, entry);
		free(entry);
	}
	pthread_mutex_destroy(&cache->mutex);
	free(cache);
}

/* ---- entries; the lock is held from here ---- */

static struct meta_entry *find(struct object_meta_cache *cache, const char *path)
{
	struct meta_entry *entry;
	HASH_FIND_STR(cache->entries, path, entry);
	return entry;
}

static void add_newest(struct object_meta_cache *cache, struct meta_entry *entry)
{
	HASH_ADD_STR(cache->entries, path, entry);
	if (!entry->hh.tbl)
		free(entry);
}

static void make_room(struct object_meta_cache *cache)
{
	while (HASH_COUNT(cache->entries) >= cache->settings.entries_max) {
		struct meta_entry *oldest = cache->entries;
		HASH_DEL(cache->entries, oldest);
		free(oldest);
	}
}

/* The entry for `path`, made when missing, and newest in the order of use. NULL: no memory. */
static struct meta_entry *obtain(struct object_meta_cache *cache, const char *path)
{
	struct meta_entry *entry = find(cache, path);
	if (entry) {
		HASH_DEL(cache->entries, entry);
	} else {
		make_room(cache);
		size_t length = strlen(path);
		entry = malloc(sizeof(*entry) + length + 1);
		if (!entry)
			return NULL;
		*entry = (struct meta_entry){ .state = ENTRY_UNKNOWN };
		memcpy(entry->path, path, length + 1);
	}
	HASH_ADD_STR(cache->entries, path, entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	return entry;
}

static struct object_meta meta_of(const struct meta_entry *entry)
{
	enum hfkv_status status = entry->state == ENTRY_PRESENT ? HFKV_OK : HFKV_NOT_FOUND;
	return (struct object_meta){ status, entry->info, entry->fresh_until_ms };
}

static void set_state(struct object_meta_cache *cache, struct meta_entry *entry, const struct object_info *info)
{
	int64_t ttl_ms = info ? cache->settings.present_ttl_ms : cache->settings.absent_ttl_ms;
	entry->state = info ? ENTRY_PRESENT : ENTRY_ABSENT;
	entry->info = info ? *info : (struct object_info){ 0 };
	entry->fresh_until_ms = deadline_after_ms(ttl_ms).at_ms;
}

static void note_own_write(struct object_meta_cache *cache, const char *path, const struct object_info *info)
{
	uint64_t generation = ++cache->generation;
	struct meta_entry *entry = obtain(cache, path);
	if (!entry)
		return;
	set_state(cache, entry, info);
	entry->written_generation = generation;
	entry->hidden = false;
}

/* ---- the functions of the header ---- */

bool object_meta_cache_get(struct object_meta_cache *cache, const char *path, struct object_meta *ret_meta)
{
	SCOPED_LOCK(&cache->mutex);
	struct meta_entry *entry = find(cache, path);
	if (!entry || entry->state == ENTRY_UNKNOWN || entry->fresh_until_ms <= clock_now_ms())
		return false;
	*ret_meta = meta_of(entry);
	HASH_DEL(cache->entries, entry);
	add_newest(cache, entry);
	return true;
}

uint64_t object_meta_cache_generation(struct object_meta_cache *cache)
{
	SCOPED_LOCK(&cache->mutex);
	return cache->generation;
}

struct object_meta object_meta_cache_learn(struct object_meta_cache *cache, const char *path,
					   const struct object_info *info, uint64_t asked_generation)
{
	bool hides = info && !kv_chunk_check_shows(cache->settings.check, path, info->size_bytes);
	uint64_t hidden_bytes = hides ? info->size_bytes : 0;
	if (hides)
		info = NULL;
	struct object_meta meta = { info ? HFKV_OK : HFKV_NOT_FOUND, info ? *info : (struct object_info){ 0 },
				    clock_now_ms() };
	pthread_mutex_lock(&cache->mutex);
	struct meta_entry *entry = obtain(cache, path);
	bool outdated = entry && entry->written_generation > asked_generation;
	if (entry && !outdated) {
		set_state(cache, entry, info);
		bool named_before = entry->hidden;
		entry->hidden = hides;
		hides = hides && !named_before;
	}
	/* After an own write with unknown outcome the answer is the best there is, but is not kept. */
	if (entry && !(outdated && entry->state == ENTRY_UNKNOWN))
		meta = meta_of(entry);
	pthread_mutex_unlock(&cache->mutex);
	if (hides && !outdated)
		kv_chunk_check_count_hidden(cache->settings.check, path, hidden_bytes);
	return meta;
}

void object_meta_cache_wrote(struct object_meta_cache *cache, const char *path, const struct object_info *info)
{
	SCOPED_LOCK(&cache->mutex);
	note_own_write(cache, path, info);
}

void object_meta_cache_removed(struct object_meta_cache *cache, const char *path)
{
	SCOPED_LOCK(&cache->mutex);
	note_own_write(cache, path, NULL);
}

void object_meta_cache_forget(struct object_meta_cache *cache, const char *path)
{
	SCOPED_LOCK(&cache->mutex);
	uint64_t generation = ++cache->generation;
	struct meta_entry *entry = obtain(cache, path);
	if (!entry)
		return;
	entry->state = ENTRY_UNKNOWN;
	entry->written_generation = generation;
}

size_t object_meta_cache_count(struct object_meta_cache *cache)
{
	SCOPED_LOCK(&cache->mutex);
	return HASH_COUNT(cache->entries);
}
