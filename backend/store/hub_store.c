#include "backend/store/hub_store.h"

#include "backend/cas/xet_download.h"
#include "backend/cas/xet_upload_session.h"
#include "backend/hub/hub_bucket.h"
#include "backend/hub/hub_paths_info.h"
#include "backend/hub/hub_tree.h"
#include "backend/hub/hub_xet_access.h"
#include "backend/store/hub_names.h"
#include "backend/store/object_store_class.h"
#include "backend/store/store_open.h"

#include <string.h>

#define PROBE_MAX_MS 15000 /* a start that cannot reach the Hub says so by then */

struct hub_store {
	struct object_store base;
	/* Unchanged after hub_store_new; each is for any thread. */
	struct http_client *http;
	struct hub_auth *auth;
	struct hub_client *hub;
	struct cas_client *cas;
	bool create_bucket_if_missing;
};

static const struct object_store_class hub_store_class;

static struct hub_store *of(struct object_store *store)
{
	return (struct hub_store *)store;
}

/* ---- a missing bucket ---- */

static enum hfkv_status say_missing(const struct hub_store *store, enum hfkv_status status, struct fault *fault)
{
	int http_status = fault ? fault->http_status : 0;
	fault_set(fault, status,
		  "bucket '%s' does not exist, or is not shown to this token; create it, or let a first write do so "
		  "(create_bucket_if_missing)",
		  hub_client_bucket(store->hub));
	if (fault)
		fault->http_status = http_status;
	return status;
}

/* A write met a bucket that is not there. Nothing is remembered of a failure, so a later write tries again. */
static enum hfkv_status make_bucket(void *context, struct deadline deadline, struct fault *fault)
{
	struct hub_store *store = context;
	if (!store->create_bucket_if_missing)
		return say_missing(store, HFKV_NOT_FOUND, fault);
	enum hfkv_status status = hub_bucket_create(store->hub, deadline, fault);
	if (status == HFKV_AUTH || status == HFKV_FORBIDDEN)
		fault_add_context(
		    fault, "bucket '%s' does not exist, and create_bucket_if_missing cures no bad credentials",
		    hub_client_bucket(store->hub));
	else if (status != HFKV_OK)
		fault_add_context(fault, "bucket '%s' does not exist and could not be created",
				  hub_client_bucket(store->hub));
	return status;
}

/* ---- content ---- */

static enum hfkv_status fetch_access(void *context, enum cas_scope scope, struct deadline deadline,
				     struct cas_access *ret_access, struct fault *fault)
{
	struct hub_store *store = context;
	struct hub_xet_access access;
	bool for_writing = scope == CAS_SCOPE_WRITE;
	enum hfkv_status status = hub_xet_access_get(store->hub, for_writing, deadline, &access, fault);
	if (status == HFKV_NOT_FOUND && for_writing) {
		status = make_bucket(store, deadline, fault);
		if (status == HFKV_OK)
			status = hub_xet_access_get(store->hub, for_writing, deadline, &access, fault);
	}
	if (status != HFKV_OK)
		return status;
	*ret_access = (struct cas_access){ access.cas_url, access.token, access.expires_at_s };
	return HFKV_OK;
}

static enum hfkv_status hub_read(struct object_store *base, const struct object_read *read, uint64_t *ret_bytes,
				 struct deadline deadline, struct fault *fault)
{
	struct xet_download download = { .file = read->hash,
					 .size_bytes = read->size_bytes,
					 .offset = read->offset,
					 .length_bytes = read->length_bytes,
					 .memory = read->sink->memory,
					 .fd = read->sink->fd,
					 .fd_offset = read->sink->fd_offset,
					 .progress = read->progress,
					 .progress_context = read->progress_context,
					 .call = { .deadline = deadline } };
	return xet_download_run(of(base)->cas, &download, ret_bytes, fault);
}

/* ---- names ---- */

static enum hfkv_status hub_stat_many(struct object_store *base, struct object_stat *stats, size_t count,
				      struct deadline deadline, struct fault *fault)
{
	struct hub_store *store = of(base);
	CLEANUP(free_pointer) struct hub_path_info *infos = calloc(count, sizeof(*infos));
	if (!infos)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", count);
	for (size_t i = 0; i < count; i++)
		infos[i].path = stats[i].path;
	enum hfkv_status status = hub_paths_info_get(store->hub, infos, count, deadline, fault);
	bool bucket_missing = status == HFKV_NOT_FOUND;
	if (bucket_missing)
		status = store->create_bucket_if_missing ? HFKV_OK : say_missing(store, HFKV_UNAVAILABLE, fault);
	for (size_t i = 0; i < count; i++) {
		if (!infos[i].answered) {
			stats[i].status = status == HFKV_OK ? HFKV_NOT_FOUND : status;
			continue;
		}
		stats[i].status = infos[i].found ? HFKV_OK : infos[i].senseless ? HFKV_CORRUPT : HFKV_NOT_FOUND;
		if (infos[i].found)
			stats[i].info = (struct object_info){ infos[i].entry.size_bytes, infos[i].entry.hash,
							      infos[i].entry.modified_at_ms };
	}
	return status;
}

struct visit_context {
	object_list_visit visit;
	void *context;
};

static enum hfkv_status visit_entry(void *context, const struct hub_entry *entry)
{
	const struct visit_context *visited = context;
	struct object_list_entry shown = { entry->path,
					   entry->is_directory,
					   { entry->size_bytes, entry->hash, entry->modified_at_ms } };
	return visited->visit(visited->context, &shown);
}

static enum hfkv_status hub_list(struct object_store *base, const char *directory, bool recursive,
				 object_list_visit visit, void *context, struct deadline deadline,
				 struct fault *fault)
{
	struct hub_store *store = of(base);
	struct visit_context visited = { visit, context };
	struct fault own = FAULT_NONE;
	enum hfkv_status status =
	    hub_tree_list(store->hub, directory, recursive, visit_entry, &visited, deadline, &own);
	if (status == HFKV_NOT_FOUND && own.http_status == 404) { /* of the Hub, not of the visitor */
		if (store->create_bucket_if_missing)
			return HFKV_OK;
		status = say_missing(store, HFKV_NOT_FOUND, &own);
	}
	if (fault && status != HFKV_OK)
		*fault = own;
	return status;
}

/* ---- writes ---- */

static enum hfkv_status upload(struct hub_store *store, struct object_put *puts, size_t count,
			       object_progress progress, void *progress_context, struct deadline deadline)
{
	CLEANUP(free_pointer) struct xet_upload_item *items = calloc(count, sizeof(*items));
	struct fault fault = FAULT_NONE;
	if (!items) {
		for (size_t i = 0; i < count; i++)
			puts[i].status =
			    fault_set(&puts[i].fault, HFKV_NO_MEMORY, "no memory for %zu objects", count);
		return HFKV_NO_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		items[i] = (struct xet_upload_item){ .name = puts[i].path,
						     .memory = puts[i].source.memory,
						     .fd = puts[i].source.fd,
						     .size_bytes = puts[i].source.size_bytes };
	struct xet_upload session = { .items = items,
				      .item_count = count,
				      .progress = progress,
				      .progress_context = progress_context,
				      .call = { .deadline = deadline } };
	enum hfkv_status status = xet_upload_session_run(store->cas, &session, &fault);
	for (size_t i = 0; i < count; i++) {
		puts[i].status = items[i].status;
		puts[i].hash = items[i].hash;
		puts[i].fault = items[i].fault;
	}
	return status;
}

/* Names every object whose content the CAS has. */
static enum hfkv_status name_uploaded(struct hub_store *store, struct object_put *puts, size_t count,
				      struct deadline deadline)
{
	const struct hub_names names = { store->hub, make_bucket, store };
	CLEANUP(free_pointer) struct hub_name_change *changes = calloc(count, sizeof(*changes));
	size_t n_changes = 0;
	for (size_t i = 0; i < count && !changes; i++)
		if (puts[i].status == HFKV_OK)
			puts[i].status =
			    fault_set(&puts[i].fault, HFKV_NO_MEMORY, "no memory for %zu names", count);
	if (!changes)
		return HFKV_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		if (puts[i].status == HFKV_OK)
			changes[n_changes++] = (struct hub_name_change){
				.kind = HUB_BATCH_ADD,
				.path = puts[i].path,
				.hash = puts[i].hash,
				.size_bytes = puts[i].source.size_bytes,
				.modified_at_ms =
				    puts[i].modified_at_ms ? puts[i].modified_at_ms : clock_wall_ms(),
			};
	enum hfkv_status status = hub_names_change(&names, changes, n_changes, deadline, NULL);
	for (size_t i = 0, c = 0; i < count; i++) {
		if (puts[i].status != HFKV_OK)
			continue;
		puts[i].status = changes[c].status;
		puts[i].fault = changes[c++].fault;
	}
	return status;
}

static enum hfkv_status hub_put_many(struct object_store *base, struct object_put *puts, size_t count,
				     object_progress progress, void *progress_context, struct deadline deadline,
				     struct fault *fault)
{
	struct hub_store *store = of(base);
	(void)fault; /* every object has its own */
	enum hfkv_status uploaded = upload(store, puts, count, progress, progress_context, deadline);
	enum hfkv_status named = name_uploaded(store, puts, count, deadline);
	return uploaded != HFKV_OK ? uploaded : named;
}

static enum hfkv_status hub_delete_many(struct object_store *base, struct object_stat *paths, size_t count,
					struct deadline deadline, struct fault *fault)
{
	struct hub_store *store = of(base);
	const struct hub_names names = { store->hub, make_bucket, store };
	CLEANUP(free_pointer) struct hub_name_change *changes = calloc(count, sizeof(*changes));
	if (!changes)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", count);
	for (size_t i = 0; i < count; i++)
		changes[i] = (struct hub_name_change){ .kind = HUB_BATCH_DELETE, .path = paths[i].path };
	enum hfkv_status status = hub_names_change(&names, changes, count, deadline, fault);
	for (size_t i = 0; i < count; i++)
		paths[i].status = changes[i].status;
	return status;
}

/* The copy did not land and the old name is gone: the old name is given back. */
static void undo_rename(const struct hub_names *names, const struct hub_name_change *copy, const char *from,
			struct deadline deadline)
{
	struct hub_name_change back = *copy;
	back.kind = HUB_BATCH_ADD;
	back.path = from;
	/* Its failure is told by the rename's own. */
	MAYBE_UNUSED enum hfkv_status status = hub_names_change(names, &back, 1, deadline, NULL);
}

static enum hfkv_status hub_rename(struct object_store *base, const char *from, const struct object_info *info,
				   const char *to, struct deadline deadline, struct fault *fault)
{
	struct hub_store *store = of(base);
	const struct hub_names names = { store->hub, make_bucket, store };
	struct hub_name_change changes[2] = {
		{ .kind = HUB_BATCH_COPY,
		  .path = to,
		  .hash = info->hash,
		  .size_bytes = info->size_bytes,
		  .modified_at_ms = info->modified_at_ms ? info->modified_at_ms : clock_wall_ms() },
		{ .kind = HUB_BATCH_DELETE, .path = from },
	};
	enum hfkv_status status = hub_names_change(&names, changes, 2, deadline, fault);
	if (status == HFKV_OK)
		status = hub_names_check(&names, changes, 2, deadline, fault);
	if (status != HFKV_OK && changes[0].status == HFKV_OK && changes[1].status == HFKV_OK)
		return status; /* applied, and could not be checked */
	if (changes[0].status != HFKV_OK && changes[1].status == HFKV_OK)
		undo_rename(&names, &changes[0], from, deadline);
	for (size_t i = 0; i < 2; i++) {
		if (changes[i].status == HFKV_OK)
			continue;
		if (fault)
			*fault = changes[i].fault;
		return changes[i].status;
	}
	return HFKV_OK;
}

/* ---- the rest ---- */

static enum hfkv_status hub_probe(struct object_store *base, struct deadline deadline, struct fault *fault)
{
	struct hub_store *store = of(base);
	struct deadline until = deadline_earlier(deadline, deadline_after_ms(PROBE_MAX_MS));
	struct hub_bucket_info info;
	enum hfkv_status status = hub_bucket_get_info(store->hub, until, &info, fault);
	if (status != HFKV_NOT_FOUND)
		return status;
	const char *kind = hub_bucket_other_kind(store->hub, until);
	if (kind)
		return fault_set(fault, HFKV_INVALID, "'%s' is a %s repository, not a bucket",
				 hub_client_bucket(store->hub), kind);
	return store->create_bucket_if_missing ? HFKV_OK : say_missing(store, HFKV_NOT_FOUND, fault);
}

static void hub_free(struct object_store *base)
{
	struct hub_store *store = of(base);
	cas_client_free(store->cas);
	hub_client_free(store->hub);
	hub_auth_free(store->auth);
	http_client_free(store->http);
	free(store);
}

static const struct object_store_class hub_store_class = {
	.name = "hub",
	.stat_many = hub_stat_many,
	.list = hub_list,
	.read = hub_read,
	.put_many = hub_put_many,
	.delete_many = hub_delete_many,
	.rename = hub_rename,
	.probe = hub_probe,
	.free = hub_free,
};

/* ---- life ---- */

static enum hfkv_status open_http(struct hub_store *store, const struct store_settings *settings,
				  struct fault *fault)
{
	char user_agent[128];
	snprintf(user_agent, sizeof(user_agent), "hfkv/%s%s%.64s", HFKV_VERSION,
		 settings->user_agent_suffix ? "; " : "",
		 settings->user_agent_suffix ? settings->user_agent_suffix : "");
	struct http_client_settings http = { .ca_file = settings->ca_file,
					     .user_agent = user_agent,
					     .stall_ms = settings->stall_ms };
	return http_client_new(&http, &store->http, fault);
}

static enum hfkv_status open_parts(struct hub_store *store, const struct store_settings *settings,
				   struct fault *fault)
{
	struct hub_auth_places places = { settings->token.environment_name, settings->token.configured,
					  settings->token.file };
	enum hfkv_status status = open_http(store, settings, fault);
	if (status == HFKV_OK)
		status = hub_auth_new(&places, &store->auth, fault);
	if (status != HFKV_OK)
		return status;
	struct hub_client_settings hub = { store->http, store->auth, settings->endpoint, settings->bucket };
	status = hub_client_new(&hub, &store->hub, fault);
	if (status != HFKV_OK)
		return status;
	struct cas_client_settings cas = { .http = store->http,
					   .fetch_access = fetch_access,
					   .fetch_context = store };
	return cas_client_new(&cas, &store->cas, fault);
}

enum hfkv_status hub_store_new(const struct store_settings *settings, struct object_store **ret_store,
			       struct fault *fault)
{
	struct hub_store *store = calloc(1, sizeof(*store));
	if (!store)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a store");
	store->base.class = &hub_store_class;
	store->create_bucket_if_missing = settings->create_bucket_if_missing;
	enum hfkv_status status = open_parts(store, settings, fault);
	if (status == HFKV_OK)
		*ret_store = &store->base;
	else
		hub_free(&store->base);
	return status;
}

enum hfkv_status hub_store_reload_token(struct object_store *store, struct fault *fault)
{
	if (store->class != &hub_store_class)
		return fault_set(fault, HFKV_INVALID, "a store that is not on a bucket has no token");
	return hub_auth_reload(of(store)->auth, fault);
}
