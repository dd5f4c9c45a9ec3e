#include "cache/listing_load.h"

#include <string.h>

struct visit_context {
	struct listing_load *load;
	struct dir_listing_builder *builder;
	uint64_t generation;
	size_t prefix_bytes;    /* of a full path before the part relative to the prefix */
	size_t directory_bytes; /* of a full path before the name */
	bool stopped;
};

char *listing_full_path(const char *prefix, const char *path)
{
	char *full;
	return asprintf(&full, "%s%s%s", prefix, prefix[0] && path[0] ? "/" : "", path) < 0 ? NULL : full;
}

bool listing_name_is_shown(const char *name)
{
	return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

static enum hfkv_status visit_entry(void *context, const struct object_list_entry *entry)
{
	struct visit_context *visit = context;
	struct listing_load *load = visit->load;
	const char *name = entry->path + visit->directory_bytes;
	if (!listing_name_is_shown(name))
		return HFKV_OK;
	load->names_seen++;
	if (load->names_max && load->names_seen >= load->names_max) {
		visit->stopped = true;
		return HFKV_CANCELLED;
	}
	if (entry->is_directory)
		return dir_listing_builder_add(visit->builder, name, NULL);
	struct object_meta meta = object_meta_cache_learn(load->meta, entry->path + visit->prefix_bytes,
							  &entry->info, visit->generation);
	return meta.status == HFKV_OK ? dir_listing_builder_add(visit->builder, name, &meta.info) : HFKV_OK;
}

void listing_load_run(struct listing_load *load, struct deadline deadline)
{
	CLEANUP(free_pointer) char *full = listing_full_path(load->prefix, load->directory);
	CLEANUP(dir_listing_builder_freep) struct dir_listing_builder *builder = dir_listing_builder_new();
	load->fault = FAULT_NONE;
	if (!full || !builder) {
		load->status = fault_set(&load->fault, HFKV_NO_MEMORY, "listing: out of memory");
		return;
	}
	struct visit_context visit = { .load = load, .builder = builder };
	visit.generation = object_meta_cache_generation(load->meta);
	visit.prefix_bytes = load->prefix[0] ? strlen(load->prefix) + 1 : 0;
	visit.directory_bytes = full[0] ? strlen(full) + 1 : 0;
	load->status = object_store_list(load->store, full, false, visit_entry, &visit, deadline, &load->fault);
	if (visit.stopped) {
		load->status = HFKV_OK;
		load->fault = FAULT_NONE;
		return;
	}
	if (load->status == HFKV_OK)
		load->status = dir_listing_builder_finish(builder, load->fresh_until_ms, &load->listing);
	if (load->status == HFKV_OVERSIZE)
		load->status = fault_set(&load->fault, HFKV_OVERSIZE, "directory '%s' has more than %d names",
					 full, DIR_LISTING_NAMES_MAX);
}
