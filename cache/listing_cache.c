#include "cache/listing_cache.h"

#include "cache/listing_load.h"

#include <string.h>
#include <uthash.h>

#define DIRECTORIES_MAX 4096
#define CHANGES_MAX     4096 /* own writes kept beside one listing */
#define PEEK_NAMES      1000 /* a directory that ends within these is kept as a listing, also when only asked for */

/* An own write or removal since the listing beside it was asked for. */
struct change {
	struct change *next;
	bool is_directory, removed;
	struct object_info info;
	char name[];
};

/* What is known of one directory. */
struct dir_state {
	UT_hash_handle hh;           /* by path; the order of insertion is the order of use */
	struct dir_listing *listing; /* NULL: none */
	bool spoiled;                /* changed in a way that `changes` does not tell: not to be used, or kept */
	struct change *changes, **changes_end;
	size_t change_count;
	int64_t exists_until_ms, absent_until_ms; /* what peeks and own writes told */

	unsigned users; /* functions that hold a pointer to this while the lock is not held */
	bool loading;
	uint64_t loads; /* that ended */
	enum hfkv_status load_status;
	struct fault load_fault;
	char path[];
};

struct listing_cache {
	struct listing_cache_settings settings;
	pthread_mutex_t mutex;
	pthread_cond_t loaded;
	struct dir_state *directories; /* uthash */
	size_t names;                  /* in all kept listings */
	uint64_t calls;
};

/* ---- states; the lock is held ---- */

static void drop_changes(struct dir_state *state)
{
	while (state->changes) {
		struct change *next = state->changes->next;
		free(state->changes);
		state->changes = next;
	}
	state->changes_end = &state->changes;
	state->change_count = 0;
}

static void drop_listing(struct listing_cache *cache, struct dir_state *state)
{
	if (state->listing)
		cache->names -= dir_listing_count(state->listing);
	dir_listing_unref(TAKE_PTR(state->listing));
	if (!state->loading)
		drop_changes(state);
}

static void set_listing(struct listing_cache *cache, struct dir_state *state, struct dir_listing *listing)
{
	if (state->listing)
		cache->names -= dir_listing_count(state->listing);
	dir_listing_unref(state->listing);
	state->listing = listing;
	cache->names += dir_listing_count(listing);
}

static struct dir_state *find(struct listing_cache *cache, const char *path)
{
	struct dir_state *state;
	HASH_FIND_STR(cache->directories, path, state);
	return state;
}

static void free_state(struct listing_cache *cache, struct dir_state *state)
{
	HASH_DEL(cache->directories, state);
	drop_listing(cache, state);
	drop_changes(state);
	free(state);
}

/* Frees what was used longest ago until the limits hold. */
static void keep_limits(struct listing_cache *cache)
{
	struct dir_state *state, *next;
	HASH_ITER(hh, cache->directories, state, next)
	{
		if (HASH_COUNT(cache->directories) <= DIRECTORIES_MAX && cache->names <= cache->settings.names_max)
			return;
		if (state->users == 0)
			free_state(cache, state);
	}
}

/* The state of a directory, made when missing and moved to the new end, with one more user. NULL: no memory. */
static struct dir_state *enter(struct listing_cache *cache, const char *path)
{
	struct dir_state *state = find(cache, path);
	if (state) {
		HASH_DEL(cache->directories, state);
	} else {
		size_t length = strlen(path);
		state = calloc(1, sizeof(*state) + length + 1);
		if (!state)
			return NULL;
		memcpy(state->path, path, length + 1);
		state->changes_end = &state->changes;
	}
	HASH_ADD_STR(cache->directories, path, state);
	state->users++;
	return state;
}

static void quit(struct listing_cache *cache, struct dir_state *state)
{
	state->users--;
	keep_limits(cache);
}

/* ---- own writes ---- */

static void add_change(struct dir_state *state, const char *name, size_t name_bytes,
		       const struct object_info *info, bool is_directory)
{
	if (!state->loading && !state->listing)
		return;
	struct change *change = NULL;
	if (state->change_count < CHANGES_MAX)
		change = calloc(1, sizeof(*change) + name_bytes + 1);
	if (!change) {
		state->spoiled = true;
		return;
	}
	change->is_directory = is_directory;
	change->removed = !info && !is_directory;
	if (info)
		change->info = *info;
	memcpy(change->name, name, name_bytes);
	*state->changes_end = change;
	state->changes_end = &change->next;
	state->change_count++;
}

/* The states of the directories above `path`, from the nearest to the prefix itself. */
static void note_above(struct listing_cache *cache, const char *path, const struct object_info *info)
{
	char directory[OBJECT_PATH_MAX_BYTES + 1];
	size_t end = strlen(path);
	bool is_parent = true;
	if (end >= sizeof(directory))
		return;
	memcpy(directory, path, end + 1);
	for (;; is_parent = false) {
		directory[end] = '\0';
		char *slash = strrchr(directory, '/');
		const char *name = slash ? slash + 1 : directory;
		size_t name_at = (size_t)(name - directory), name_bytes = end - name_at;
		end = slash ? (size_t)(slash - directory) : 0;
		directory[end] = '\0';
		struct dir_state *state = find(cache, directory);
		if (state) {
			state->absent_until_ms = 0;
			state->exists_until_ms =
			    info ? deadline_after_ms(cache->settings.present_ttl_ms).at_ms : 0;
			if (info || is_parent)
				add_change(state, path + name_at, name_bytes, is_parent ? info : NULL, !is_parent);
			else
				state->spoiled = true; /* the directory below may be gone with its last file */
		}
		if (end == 0)
			return;
	}
}

void listing_cache_note(struct listing_cache *cache, const char *path, const struct object_info *info)
{
	SCOPED_LOCK(&cache->mutex);
	note_above(cache, path, info);
}

/* Lock held. The listing with the changes beside it worked in. */
static enum hfkv_status merge_changes(struct listing_cache *cache, struct dir_state *state)
{
	if (!state->changes)
		return HFKV_OK;
	CLEANUP(dir_listing_builder_freep) struct dir_listing_builder *builder = dir_listing_builder_new();
	enum hfkv_status status = builder ? HFKV_OK : HFKV_NO_MEMORY;
	for (size_t i = 0; status == HFKV_OK && i < dir_listing_count(state->listing); i++) {
		struct dir_name name = dir_listing_at(state->listing, i);
		status = dir_listing_builder_add(builder, name.name, name.is_directory ? NULL : &name.info);
	}
	for (const struct change *change = state->changes; status == HFKV_OK && change; change = change->next)
		status = change->removed ? dir_listing_builder_drop(builder, change->name)
					 : dir_listing_builder_add(builder, change->name,
								   change->is_directory ? NULL : &change->info);
	struct dir_listing *merged;
	if (status == HFKV_OK)
		status = dir_listing_builder_finish(builder, dir_listing_fresh_until_ms(state->listing), &merged);
	if (status != HFKV_OK)
		return status;
	set_listing(cache, state, merged);
	drop_changes(state);
	return HFKV_OK;
}

/* ---- loading ---- */

/* Lock held. Takes in what a load brought. */
static void take_in(struct listing_cache *cache, struct dir_state *state, struct listing_load *load)
{
	int64_t ttl_ms = load->names_seen ? cache->settings.present_ttl_ms : cache->settings.absent_ttl_ms;
	int64_t until_ms = deadline_after_ms(ttl_ms).at_ms;
	if (load->status == HFKV_OK && !state->changes) {
		state->exists_until_ms = load->names_seen ? until_ms : 0;
		state->absent_until_ms = load->names_seen ? 0 : until_ms;
	}
	if (load->status == HFKV_OK && load->listing) {
		set_listing(cache, state, TAKE_PTR(load->listing));
		load->status = merge_changes(cache, state);
	}
	if (!state->listing)
		drop_changes(state);
	state->load_status = load->status;
	state->load_fault = load->fault;
	state->loads++;
}

/* Lock held, given up meanwhile. `peek_names` above 0: stop there, and know only that the directory exists. */
static void load(struct listing_cache *cache, struct dir_state *state, size_t peek_names, struct deadline deadline)
{
	state->loading = true;
	state->spoiled = false;
	drop_listing(cache, state);
	drop_changes(state);
	cache->calls++;
	pthread_mutex_unlock(&cache->mutex);
	struct listing_load load = { .store = cache->settings.store,
				     .meta = cache->settings.meta,
				     .prefix = cache->settings.prefix,
				     .directory = state->path,
				     .names_max = peek_names,
				     .fresh_until_ms = deadline_after_ms(cache->settings.present_ttl_ms).at_ms };
	listing_load_run(&load, deadline);
	pthread_mutex_lock(&cache->mutex);
	state->loading = false;
	take_in(cache, state, &load);
	pthread_cond_broadcast(&cache->loaded);
	dir_listing_unref(load.listing);
}

/* Lock held, given up meanwhile. Has the directory loaded by this thread or by one that does it already. OK: a
 * load ended well while we waited; otherwise why it did not. */
static enum hfkv_status have_loaded(struct listing_cache *cache, struct dir_state *state, size_t peek_names,
				    struct deadline deadline, struct fault *fault)
{
	uint64_t loads_before = state->loads;
	bool mine = !state->loading;
	if (mine)
		load(cache, state, peek_names, deadline);
	while (state->loads == loads_before)
		if (!deadline_wait(&cache->loaded, &cache->mutex, deadline))
			break;
	if (state->loads == loads_before)
		return fault_set(fault, HFKV_TIMEOUT, "listing of '%s': no answer in time", state->path);
	enum hfkv_status status = state->load_status;
	/* Who led had less time than we have. */
	if (!mine && (status == HFKV_TIMEOUT || status == HFKV_CANCELLED) && !deadline_passed(deadline))
		return HFKV_OK;
	if (status != HFKV_OK && fault)
		*fault = state->load_fault;
	return status;
}

static bool is_fresh(const struct dir_state *state)
{
	return state->listing && !state->spoiled && dir_listing_fresh_until_ms(state->listing) > clock_now_ms();
}

/* ---- asking ---- */

static enum hfkv_status check_directory(const char *directory, struct fault *fault)
{
	enum hfkv_status status = directory[0] ? object_path_check(directory) : HFKV_OK;
	return status == HFKV_OK ? HFKV_OK : fault_set(fault, status, "'%s' cannot be a directory", directory);
}

/* Lock held, given up meanwhile. */
static enum hfkv_status get_listing(struct listing_cache *cache, struct dir_state *state, struct deadline deadline,
				    struct dir_listing **ret_listing, struct fault *fault)
{
	bool waited = false;
	/* Who waited for a load takes what it brought, however short it holds. */
	while (!is_fresh(state) && !(waited && state->listing)) {
		if (waited && deadline_passed(deadline))
			return fault_set(fault, HFKV_TIMEOUT, "listing of '%s': no answer in time", state->path);
		enum hfkv_status status = have_loaded(cache, state, 0, deadline, fault);
		if (status != HFKV_OK)
			return status;
		waited = true;
	}
	enum hfkv_status status = merge_changes(cache, state);
	if (status != HFKV_OK)
		return fault_set(fault, status, "listing of '%s': out of memory", state->path);
	*ret_listing = dir_listing_ref(state->listing);
	return HFKV_OK;
}

enum hfkv_status listing_cache_get(struct listing_cache *cache, const char *directory, struct deadline deadline,
				   struct dir_listing **ret_listing, struct fault *fault)
{
	enum hfkv_status status = check_directory(directory, fault);
	if (status != HFKV_OK)
		return status;
	SCOPED_LOCK(&cache->mutex);
	struct dir_state *state = enter(cache, directory);
	if (!state)
		return fault_set(fault, HFKV_NO_MEMORY, "listing of '%s': out of memory", directory);
	status = get_listing(cache, state, deadline, ret_listing, fault);
	quit(cache, state);
	return status;
}

/* Lock held. What is known of a directory without asking; false: nothing. */
static bool known_existence(struct listing_cache *cache, const struct dir_state *state,
			    enum hfkv_status *ret_status)
{
	int64_t now_ms = clock_now_ms();
	const char *slash = strrchr(state->path, '/');
	CLEANUP(free_pointer) char *parent = strndup(state->path, slash ? (size_t)(slash - state->path) : 0);
	struct dir_state *above = parent ? find(cache, parent) : NULL;
	*ret_status = HFKV_OK;
	if (state->exists_until_ms > now_ms)
		return true;
	/* An own directory is in `changes` of the one above, and in exists_until_ms of itself when it was ever
	 * asked for. */
	if (above && is_fresh(above) && merge_changes(cache, above) == HFKV_OK &&
	    dir_listing_has_directory(above->listing, slash ? slash + 1 : state->path))
		return true;
	*ret_status = HFKV_NOT_FOUND;
	return state->absent_until_ms > now_ms;
}

enum hfkv_status listing_cache_directory_exists(struct listing_cache *cache, const char *directory,
						struct deadline deadline, struct fault *fault)
{
	enum hfkv_status status = check_directory(directory, fault), known = HFKV_OK;
	if (status != HFKV_OK || !directory[0])
		return status;
	SCOPED_LOCK(&cache->mutex);
	struct dir_state *state = enter(cache, directory);
	if (!state)
		return fault_set(fault, HFKV_NO_MEMORY, "listing of '%s': out of memory", directory);
	while (status == HFKV_OK && !known_existence(cache, state, &known)) {
		uint64_t loads_before = state->loads;
		status = have_loaded(cache, state, PEEK_NAMES, deadline, fault);
		/* With limits of 0 an answer is old at once: it still is the answer. */
		bool answered = status == HFKV_OK && state->load_status == HFKV_OK && state->loads != loads_before;
		if (answered && !known_existence(cache, state, &known)) {
			known = state->exists_until_ms ? HFKV_OK : HFKV_NOT_FOUND;
			break;
		}
	}
	quit(cache, state);
	return status == HFKV_OK ? known : status;
}

/* ---- life cycle ---- */

enum hfkv_status listing_cache_new(const struct listing_cache_settings *settings, struct listing_cache **ret_cache)
{
	struct listing_cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return HFKV_NO_MEMORY;
	cache->settings = *settings;
	pthread_mutex_init(&cache->mutex, NULL);
	condition_init(&cache->loaded);
	*ret_cache = cache;
	return HFKV_OK;
}

void listing_cache_free(struct listing_cache *cache)
{
	if (!cache)
		return;
	struct dir_state *state, *next;
	HASH_ITER(hh, cache->directories, state, next)
	free_state(cache, state);
	pthread_mutex_destroy(&cache->mutex);
	pthread_cond_destroy(&cache->loaded);
	free(cache);
}

uint64_t listing_cache_calls(struct listing_cache *cache)
{
	SCOPED_LOCK(&cache->mutex);
	return cache->calls;
}
