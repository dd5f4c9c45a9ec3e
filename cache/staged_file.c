#include "cache/staged_file.h"

#include "cache/staging_area_parts.h"

#include <sys/stat.h>

#define PAGE_BYTES 4096ULL

struct staged_file *staged_file_ref(struct staged_file *file)
{
	SCOPED_LOCK(&file->area->mutex);
	file->references++;
	return file;
}

/* Lock held. Takes a private body, whose last reference went, off the books. */
static void forget_body(struct staging_area *area, struct staged_file *file)
{
	uint64_t bytes = atomic_load_explicit(&file->charged_bytes, memory_order_relaxed);
	area->used_bytes -= bytes;
	if (file->purpose == STAGING_FOR_WRITE)
		area->write_bytes -= bytes;
	area->file_count--;
}

void staged_file_unref(struct staged_file *file)
{
	if (!file)
		return;
	struct staging_area *area = file->area;
	pthread_mutex_lock(&area->mutex);
	if (--file->references > 0) {
		pthread_mutex_unlock(&area->mutex);
		return;
	}
	if (!file->clean) {
		forget_body(area, file);
		pthread_mutex_unlock(&area->mutex);
		staged_file_dispose(file);
		return;
	}
	CLEANUP(close_fd) MAYBE_UNUSED int fd = TAKE_FD(file->fd);
	staging_lru_add(&area->lru, &file->recency);
	pthread_mutex_unlock(&area->mutex);
}

void staged_file_dispose(struct staged_file *file)
{
	char name[STAGED_NAME_BYTES];
	if (file->named) {
		if (file->clean)
			staged_file_clean_name(file, name);
		else
			staged_file_body_name(file, name);
		unlinkat(staging_dir_fd(file->area->dir), name, 0);
	}
	close_fd(&file->fd);
	free(file);
}

int staged_file_fd(const struct staged_file *file)
{
	return file->fd;
}

uint64_t staged_file_size(const struct staged_file *file)
{
	struct stat attributes;
	return fstat(file->fd, &attributes) == 0 ? (uint64_t)attributes.st_size : 0;
}

enum hfkv_status staged_file_reserve(struct staged_file *file, uint64_t total_bytes)
{
	if (total_bytes > INT64_MAX)
		return HFKV_NO_SPACE;
	uint64_t charged = atomic_load_explicit(&file->charged_bytes, memory_order_relaxed);
	uint64_t wanted = (total_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	if (wanted <= charged)
		return HFKV_OK;
	/* Two growing writers of one body may both charge: too much is reserved, never too little. */
	return staging_area_charge(file->area, file, wanted - charged) ? HFKV_OK : HFKV_NO_SPACE;
}
