#include "cache/staging_area.h"

#include "cache/staging_area_parts.h"
#include "cache/staging_place.h"
#include "common/log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNKS_NEEDED       4             /* full-size KV chunks that a place must hold */
#define NEEDED_WITHOUT_RULE (64ULL << 20) /* when there is no size rule */

void staged_file_body_name(const struct staged_file *file, char name[STAGED_NAME_BYTES])
{
	snprintf(name, STAGED_NAME_BYTES, "body-%llu", (unsigned long long)file->number);
}

void staged_file_clean_name(const struct staged_file *file, char name[STAGED_NAME_BYTES])
{
	char hash[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(&file->hash, hash);
	snprintf(name, STAGED_NAME_BYTES, "%s-%llu", hash, (unsigned long long)file->number);
}

/* ---- the budget ---- */

/* Lock held. Takes the oldest clean file off the books and onto *victims (linked through recency.older); false:
 * none. */
static bool evict_one(struct staging_area *area, struct staging_lru_node **victims)
{
	struct staging_lru_node *node = staging_lru_take_oldest(&area->lru);
	if (!node)
		return false;
	struct staged_file *file = (struct staged_file *)((char *)node - offsetof(struct staged_file, recency));
	HASH_DEL(area->by_hash, file);
	area->used_bytes -= atomic_load_explicit(&file->charged_bytes, memory_order_relaxed);
	area->file_count--;
	area->evictions++;
	node->older = *victims;
	*victims = node;
	return true;
}

static void dispose_victims(struct staging_lru_node *victims)
{
	while (victims) {
		struct staging_lru_node *next = victims->older;
		staged_file_dispose(
		    (struct staged_file *)((char *)victims - offsetof(struct staged_file, recency)));
		victims = next;
	}
}

/* Lock held. The books' side of a charge. */
static bool charge_books(struct staging_area *area, struct staged_file *file, uint64_t more_bytes,
			 struct staging_lru_node **victims)
{
	bool writes = file->purpose == STAGING_FOR_WRITE;
	if (file->clean || more_bytes > area->limit_bytes ||
	    (writes && area->write_bytes + more_bytes > area->write_limit_bytes))
		return false;
	while (area->used_bytes + more_bytes > area->limit_bytes)
		if (!evict_one(area, victims))
			return false;
	area->used_bytes += more_bytes;
	if (writes)
		area->write_bytes += more_bytes;
	atomic_fetch_add_explicit(&file->charged_bytes, more_bytes, memory_order_relaxed);
	return true;
}

/* Lock held. */
static void uncharge_books(struct staging_area *area, struct staged_file *file, uint64_t bytes)
{
	if (file->clean)
		return; /* published meanwhile, and counted anew */
	area->used_bytes -= bytes;
	if (file->purpose == STAGING_FOR_WRITE)
		area->write_bytes -= bytes;
	atomic_fetch_sub_explicit(&file->charged_bytes, bytes, memory_order_relaxed);
}

/* How many bytes the filesystem lacks to take `more_bytes` and keep its margin. */
static uint64_t filesystem_shortfall(const struct staging_area *area, uint64_t more_bytes)
{
	uint64_t free_bytes, total_bytes;
	if (!area->guards_space ||
	    !staging_place_space(NULL, staging_dir_fd(area->dir), &free_bytes, &total_bytes))
		return 0;
	uint64_t needed = more_bytes + staging_place_margin(total_bytes);
	return needed > free_bytes ? needed - free_bytes : 0;
}

/* Evicts clean files worth `bytes`; false when there were not as many. */
static bool evict_bytes(struct staging_area *area, uint64_t bytes)
{
	struct staging_lru_node *victims = NULL;
	pthread_mutex_lock(&area->mutex);
	uint64_t goal = area->used_bytes > bytes ? area->used_bytes - bytes : 0;
	bool enough = true;
	while (enough && area->used_bytes > goal)
		enough = evict_one(area, &victims);
	pthread_mutex_unlock(&area->mutex);
	dispose_victims(victims);
	return enough;
}

bool staging_area_charge(struct staging_area *area, struct staged_file *file, uint64_t more_bytes)
{
	struct staging_lru_node *victims = NULL;
	pthread_mutex_lock(&area->mutex);
	bool charged = charge_books(area, file, more_bytes, &victims);
	pthread_mutex_unlock(&area->mutex);
	dispose_victims(victims);
	if (!charged)
		return false;
	uint64_t shortfall = filesystem_shortfall(area, more_bytes);
	if (shortfall == 0 || (evict_bytes(area, shortfall) && filesystem_shortfall(area, more_bytes) == 0))
		return true;
	SCOPED_LOCK(&area->mutex);
	uncharge_books(area, file, more_bytes);
	return false;
}

/* ---- bodies ---- */

/* A new file open for reading and writing, nameless where that can be had. */
static int create_file(const struct staging_area *area, const struct staged_file *file)
{
	char name[STAGED_NAME_BYTES];
	int dir_fd = staging_dir_fd(area->dir);
	if (area->has_nameless)
		return openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	staged_file_body_name(file, name);
	return openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

enum hfkv_status staging_area_new_body(struct staging_area *area, enum staging_purpose purpose,
				       uint64_t expected_bytes, struct staged_file **ret_file, struct fault *fault)
{
	struct staged_file *body = calloc(1, sizeof(*body));
	if (!body)
		return fault_set(fault, HFKV_NO_MEMORY, "staging: out of memory");
	*body = (struct staged_file){ .area = area, .purpose = purpose, .fd = -1, .references = 1 };
	pthread_mutex_lock(&area->mutex);
	body->number = area->next_number++;
	area->file_count++;
	pthread_mutex_unlock(&area->mutex);
	CLEANUP(staged_file_unrefp) struct staged_file *file = body;
	if (staged_file_reserve(file, expected_bytes) != HFKV_OK)
		return fault_set(
		    fault, HFKV_NO_SPACE,
		    "staging '%s': no room for %llu bytes; raise --staging-bytes, or free space there",
		    staging_dir_path(area->dir), (unsigned long long)expected_bytes);
	file->fd = create_file(area, file);
	if (file->fd < 0)
		return fault_set_errno(fault, errno, "staging '%s': a file cannot be made",
				       staging_dir_path(area->dir));
	file->named = !area->has_nameless;
	*ret_file = TAKE_PTR(file);
	return HFKV_OK;
}

/* ---- clean files ---- */

/* Gives the nameless or temporarily named file `fd` its clean name. */
static bool give_name(const struct staging_area *area, const struct staged_file *file, const char *clean_name)
{
	char source[STAGED_NAME_BYTES];
	int dir_fd = staging_dir_fd(area->dir);
	if (!file->named) {
		snprintf(source, sizeof(source), "/proc/self/fd/%d", file->fd);
		return linkat(AT_FDCWD, source, dir_fd, clean_name, AT_SYMLINK_FOLLOW) == 0;
	}
	staged_file_body_name(file, source);
	return renameat(dir_fd, source, dir_fd, clean_name) == 0;
}

/* Lock held. The body becomes clean: its bytes are no writer's any more, and are what it really holds. */
static void enter_clean(struct staging_area *area, struct staged_file *file, uint64_t size_bytes)
{
	uint64_t charged = atomic_load_explicit(&file->charged_bytes, memory_order_relaxed);
	uint64_t pages = (size_bytes + 4095) / 4096 * 4096;
	if (file->purpose == STAGING_FOR_WRITE)
		area->write_bytes -= charged;
	area->used_bytes = area->used_bytes - charged + pages;
	atomic_store_explicit(&file->charged_bytes, pages, memory_order_relaxed);
	file->clean = true;
	file->named = true;
	HASH_ADD(hh, area->by_hash, hash, sizeof(file->hash), file);
}

/* Lock held. */
static struct staged_file *find_clean(struct staging_area *area, const struct content_hash *hash)
{
	struct staged_file *file;
	HASH_FIND(hh, area->by_hash, hash, sizeof(*hash), file);
	return file;
}

void staging_area_publish(struct staging_area *area, struct staged_file *body, const struct content_hash *hash)
{
	char name[STAGED_NAME_BYTES];
	pthread_mutex_lock(&area->mutex);
	bool needless = body->clean || find_clean(area, hash);
	pthread_mutex_unlock(&area->mutex);
	if (needless)
		return;
	struct staged_file named = { .hash = *hash, .number = body->number };
	staged_file_clean_name(&named, name);
	if (!give_name(area, body, name)) {
		log_debug("staging '%s': no name for a body (%s), ignoring", staging_dir_path(area->dir),
			  strerrordesc_np(errno));
		return;
	}
	uint64_t size_bytes = staged_file_size(body);
	pthread_mutex_lock(&area->mutex);
	bool late = body->clean || find_clean(area, hash);
	if (!late) {
		body->hash = *hash;
		enter_clean(area, body, size_bytes);
	} else if (!body->clean) {
		body->named = false; /* unlinked below: it lives on its descriptors */
	}
	pthread_mutex_unlock(&area->mutex);
	if (late)
		unlinkat(staging_dir_fd(area->dir), name, 0);
}

/* Opens a clean file that nobody had open. Pinned by the caller, lock not held. */
static bool open_clean(struct staging_area *area, struct staged_file *file)
{
	char name[STAGED_NAME_BYTES];
	staged_file_clean_name(file, name);
	CLEANUP(close_fd) int fd = openat(staging_dir_fd(area->dir), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	SCOPED_LOCK(&area->mutex);
	if (file->fd < 0)
		file->fd = TAKE_FD(fd);
	return true;
}

/* Somebody removed the file behind our back: it is no cache any more, only a body to be dropped. */
static void disown(struct staging_area *area, struct staged_file *file)
{
	pthread_mutex_lock(&area->mutex);
	if (file->clean && file->fd < 0) {
		HASH_DEL(area->by_hash, file);
		file->clean = file->named = false;
		file->purpose = STAGING_FOR_READ;
	}
	pthread_mutex_unlock(&area->mutex);
	staged_file_unref(file);
}

struct staged_file *staging_area_find(struct staging_area *area, const struct content_hash *hash)
{
	pthread_mutex_lock(&area->mutex);
	struct staged_file *file = find_clean(area, hash);
	bool closed = false;
	if (file) {
		if (file->references++ == 0)
			staging_lru_remove(&area->lru, &file->recency);
		closed = file->fd < 0;
	}
	pthread_mutex_unlock(&area->mutex);
	if (closed && !open_clean(area, file)) {
		disown(area, file);
		return NULL;
	}
	return file;
}

/* ---- life cycle ---- */

/* Whether nameless files can be made here and named later (not so on overlay and network filesystems, or without
 * /proc). */
static bool nameless_files_work(const struct staging_dir *dir)
{
	char source[64];
	CLEANUP(close_fd) int fd = openat(staging_dir_fd(dir), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, source, staging_dir_fd(dir), "probe", AT_SYMLINK_FOLLOW) < 0)
		return false;
	unlinkat(staging_dir_fd(dir), "probe", 0);
	return true;
}

static enum hfkv_status open_directory(struct staging_area *area, const struct staging_area_settings *settings,
				       struct fault *fault)
{
	struct staging_place place;
	uint64_t needed = settings->largest_bytes ? CHUNKS_NEEDED * settings->largest_bytes : NEEDED_WITHOUT_RULE;
	enum hfkv_status status = staging_place_choose(settings->directory, needed, &place, fault);
	if (status != HFKV_OK)
		return status;
	CLEANUP(free_pointer) char *path = place.path;
	area->limit_bytes =
	    settings->limit_bytes ? settings->limit_bytes : staging_place_default_limit(place.free_bytes, needed);
	if (area->limit_bytes < settings->largest_bytes)
		return fault_set(
		    fault, HFKV_INVALID,
		    "staging limit of %llu bytes cannot hold one KV chunk of %llu; raise --staging-bytes",
		    (unsigned long long)area->limit_bytes, (unsigned long long)settings->largest_bytes);
	bool leaves_room = area->limit_bytes >= CHUNKS_NEEDED * settings->largest_bytes;
	area->write_limit_bytes = area->limit_bytes - (leaves_room ? settings->largest_bytes : 0);
	status =
	    staging_dir_open(&(struct staging_dir_settings){ path, settings->label,
							     settings->private_tmpfs ? area->limit_bytes : 0 },
			     &area->dir, fault);
	if (status != HFKV_OK)
		return status;
	area->guards_space = !staging_dir_is_private_tmpfs(area->dir);
	area->has_nameless = nameless_files_work(area->dir);
	if (staging_sweep_start(path, &area->sweep) != HFKV_OK)
		return fault_set(fault, HFKV_NO_MEMORY, "staging: no thread for the clean-up");
	return HFKV_OK;
}

enum hfkv_status staging_area_new(const struct staging_area_settings *settings, struct staging_area **ret_area,
				  struct fault *fault)
{
	CLEANUP(staging_area_freep) struct staging_area *area = calloc(1, sizeof(*area));
	if (!area)
		return fault_set(fault, HFKV_NO_MEMORY, "staging: out of memory");
	pthread_mutex_init(&area->mutex, NULL);
	enum hfkv_status status = open_directory(area, settings, fault);
	if (status == HFKV_OK)
		*ret_area = TAKE_PTR(area);
	return status;
}

void staging_area_free(struct staging_area *area)
{
	if (!area)
		return;
	staging_sweep_stop(area->sweep);
	struct staged_file *file, *next;
	HASH_ITER(hh, area->by_hash, file, next)
	{
		HASH_DEL(area->by_hash, file);
		staged_file_dispose(file);
	}
	staging_dir_close(area->dir);
	pthread_mutex_destroy(&area->mutex);
	free(area);
}

struct staging_usage staging_area_usage(struct staging_area *area)
{
	SCOPED_LOCK(&area->mutex);
	return (struct staging_usage){ area->used_bytes, area->limit_bytes, area->file_count, area->evictions };
}

const char *staging_area_path(const struct staging_area *area)
{
	return staging_dir_path(area->dir);
}

bool staging_area_is_private_tmpfs(const struct staging_area *area)
{
	return staging_dir_is_private_tmpfs(area->dir);
}

void staging_area_join_sweep_for_tests(struct staging_area *area)
{
	staging_sweep_join_for_tests(area->sweep);
}
