#include "cache/dir_listing.h"

#include "common/byte_buf.h"

#include <stdatomic.h>
#include <string.h>

#define NAMES_MAX_BYTES ((size_t)1 << 30)

/* Names lie in one buffer; rows point into it by offset, as the buffer moves while it grows. */
struct row {
	size_t name_at;
	bool is_directory, is_dropped;
	struct object_info info;
};

struct dir_listing {
	atomic_uint references;
	int64_t fresh_until_ms;
	size_t count;
	struct row *rows;
	char *names;
};

struct dir_listing_builder {
	struct byte_buf names;
	struct row *rows;
	size_t count, capacity;
};

struct dir_listing *dir_listing_ref(struct dir_listing *listing)
{
	atomic_fetch_add_explicit(&listing->references, 1, memory_order_relaxed);
	return listing;
}

void dir_listing_unref(struct dir_listing *listing)
{
	if (!listing || atomic_fetch_sub_explicit(&listing->references, 1, memory_order_acq_rel) != 1)
		return;
	free(listing->rows);
	free(listing->names);
	free(listing);
}

size_t dir_listing_count(const struct dir_listing *listing)
{
	return listing->count;
}

struct dir_name dir_listing_at(const struct dir_listing *listing, size_t index)
{
	const struct row *row = &listing->rows[index];
	return (struct dir_name){ listing->names + row->name_at, row->is_directory, row->info };
}

bool dir_listing_has_directory(const struct dir_listing *listing, const char *name)
{
	size_t low = 0, high = listing->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct row *row = &listing->rows[middle];
		int order = strcmp(listing->names + row->name_at, name);
		if (order == 0 && row->is_directory)
			return true;
		if (order <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

int64_t dir_listing_fresh_until_ms(const struct dir_listing *listing)
{
	return listing->fresh_until_ms;
}

/* ---- building ---- */

struct dir_listing_builder *dir_listing_builder_new(void)
{
	struct dir_listing_builder *builder = calloc(1, sizeof(*builder));
	if (builder)
		builder->names = BYTE_BUF_INIT(NAMES_MAX_BYTES);
	return builder;
}

void dir_listing_builder_free(struct dir_listing_builder *builder)
{
	if (!builder)
		return;
	byte_buf_done(&builder->names);
	free(builder->rows);
	free(builder);
}

/* `row` lacks its name. */
static enum hfkv_status add_row(struct dir_listing_builder *builder, const char *name, struct row row)
{
	if (builder->count == DIR_LISTING_NAMES_MAX)
		return HFKV_OVERSIZE;
	if (builder->count == builder->capacity) {
		size_t capacity = builder->capacity ? 2 * builder->capacity : 64;
		struct row *rows = reallocarray(builder->rows, capacity, sizeof(*rows));
		if (!rows)
			return HFKV_NO_MEMORY;
		builder->rows = rows;
		builder->capacity = capacity;
	}
	row.name_at = builder->names.length;
	if (!byte_buf_append(&builder->names, name, strlen(name) + 1))
		return HFKV_NO_MEMORY;
	builder->rows[builder->count++] = row;
	return HFKV_OK;
}

enum hfkv_status dir_listing_builder_add(struct dir_listing_builder *builder, const char *name,
					 const struct object_info *info)
{
	struct row row = { .is_directory = !info };
	if (info)
		row.info = *info;
	return add_row(builder, name, row);
}

enum hfkv_status dir_listing_builder_drop(struct dir_listing_builder *builder, const char *name)
{
	return add_row(builder, name, (struct row){ .is_dropped = true });
}

/* By name, files before directories. */
static int compare_names(const struct row *left, const struct row *right, const char *names)
{
	int order = strcmp(names + left->name_at, names + right->name_at);
	return order != 0 ? order : (int)left->is_directory - (int)right->is_directory;
}

/* Equal names by order of adding: offsets grow with it. */
static int compare_rows(const void *a, const void *b, void *names)
{
	const struct row *left = a, *right = b;
	int order = compare_names(left, right, names);
	if (order != 0)
		return order;
	return left->name_at < right->name_at ? -1 : left->name_at > right->name_at;
}

/* Keeps the last row of each run of equal names, and no dropped ones. */
static size_t keep_last_of_each(struct row *rows, size_t count, const char *names)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		bool superseded = i + 1 < count && compare_names(&rows[i], &rows[i + 1], names) == 0;
		if (!superseded && !rows[i].is_dropped)
			rows[kept++] = rows[i];
	}
	return kept;
}

enum hfkv_status dir_listing_builder_finish(struct dir_listing_builder *builder, int64_t fresh_until_ms,
					    struct dir_listing **ret_listing)
{
	struct dir_listing *listing = calloc(1, sizeof(*listing));
	if (!listing)
		return HFKV_NO_MEMORY;
	listing->references = 1;
	listing->fresh_until_ms = fresh_until_ms;
	listing->names = byte_buf_detach(&builder->names);
	if (!listing->names) {
		free(listing);
		return HFKV_NO_MEMORY;
	}
	listing->rows = TAKE_PTR(builder->rows);
	if (builder->count > 0) {
		qsort_r(listing->rows, builder->count, sizeof(struct row), compare_rows, listing->names);
		listing->count = keep_last_of_each(listing->rows, builder->count, listing->names);
	}
	builder->count = builder->capacity = 0;
	*ret_listing = listing;
	return HFKV_OK;
}
