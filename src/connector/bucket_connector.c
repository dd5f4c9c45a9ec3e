#include "src/connector/bucket_connector.h"

#include "cache/key_codec.h"

#include <string.h>

struct bucket_connector {
	struct kv_backend backend;
	struct bucket_connector_parts parts;
};

static struct bucket_connector *of(struct kv_backend *backend)
{
	return (struct bucket_connector *)backend;
}

/* ---- object names of a batch ---- */

struct names {
	char **names; /* name n is NULL when item n has none; its status says why */
	size_t count;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; names->names && i < names->count; i++)
		free(names->names[i]);
	free(names->names);
}

/* Encodes every key. Items without a name get their status here, and the fault of the first one. */
static enum hfkv_status encode_names(struct hfkv_item *items, size_t count, struct names *names,
				     struct fault *fault)
{
	names->count = count;
	names->names = calloc(count, sizeof(*names->names));
	if (!names->names)
		return HFKV_NO_MEMORY;
	enum hfkv_status result = HFKV_OK;
	for (size_t i = 0; i < count; i++) {
		items[i].status = key_to_object_name(items[i].key, &names->names[i]);
		if (items[i].status != HFKV_OK && result == HFKV_OK)
			result =
			    fault_set(fault, items[i].status, "key '%.200s' has no object name", items[i].key);
	}
	return result;
}

static void set_all(struct hfkv_item *items, const struct names *names, enum hfkv_status status)
{
	for (size_t i = 0; i < names->count; i++)
		if (names->names && names->names[i])
			items[i].status = status;
}

/* ---- operations ---- */

static enum hfkv_status bucket_exists(struct bucket_connector *bucket, struct hfkv_item *items,
				      const struct names *names, struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) struct kv_cache_question *questions = calloc(names->count, sizeof(*questions));
	if (!questions)
		return HFKV_NO_MEMORY;
	size_t asked = 0;
	for (size_t i = 0; i < names->count; i++)
		if (names->names[i])
			questions[asked++].path = names->names[i];
	enum hfkv_status result = kv_cache_stat_many(bucket->parts.cache, questions, asked, deadline, fault);
	asked = 0;
	for (size_t i = 0; i < names->count; i++) {
		if (!names->names[i])
			continue;
		const struct kv_cache_question *question = &questions[asked++];
		items[i].status = question->status;
		if (question->status != HFKV_OK)
			continue;
		uint64_t bytes = question->entry.info.size_bytes;
		if (size_rule_check(bucket->parts.rule, items[i].key, bytes, false) != HFKV_OK)
			items[i].status = HFKV_NOT_FOUND;
		else
			items[i].bytes = bytes;
	}
	return result;
}

/* Refuses what the size rule refuses, and buffers with a header: objects hold tensor bytes only. */
static enum hfkv_status check_put(struct bucket_connector *bucket, const struct hfkv_item *item,
				  struct fault *fault)
{
	if (item->header && item->header_length > 0)
		return fault_set(fault, HFKV_INVALID, "key '%.200s': objects of a bucket have no metadata header",
				 item->key);
	enum hfkv_status status = size_rule_check(bucket->parts.rule, item->key, item->length, true);
	if (status == HFKV_OK)
		return HFKV_OK;
	return size_rule_refuse(bucket->parts.rule, item->key, item->length, status, fault);
}

static enum hfkv_status send_puts(struct bucket_connector *bucket, struct hfkv_item *items,
				  const struct names *names, struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) struct object_put *puts = calloc(names->count, sizeof(*puts));
	if (!puts)
		return HFKV_NO_MEMORY;
	size_t count = 0;
	for (size_t i = 0; i < names->count; i++)
		if (items[i].status == HFKV_OK)
			puts[count++] = (struct object_put){ .path = names->names[i],
							     .source = { items[i].data, -1, items[i].length } };
	if (count == 0)
		return HFKV_OK;
	enum hfkv_status result = kv_cache_put_many(bucket->parts.cache, puts, count, deadline, fault);
	count = 0;
	for (size_t i = 0; i < names->count; i++) {
		if (items[i].status != HFKV_OK)
			continue;
		items[i].status = puts[count++].status;
		if (items[i].status == HFKV_OK)
			size_rule_learn(bucket->parts.rule, items[i].key, items[i].length);
		items[i].bytes = items[i].status == HFKV_OK ? items[i].length : 0;
	}
	return result;
}

static enum hfkv_status bucket_put(struct bucket_connector *bucket, struct hfkv_item *items,
				   const struct names *names, struct deadline deadline, struct fault *fault)
{
	enum hfkv_status result = HFKV_OK;
	for (size_t i = 0; i < names->count; i++) {
		if (!names->names[i])
			continue;
		items[i].status = check_put(bucket, &items[i], result == HFKV_OK ? fault : NULL);
		if (items[i].status != HFKV_OK && result == HFKV_OK)
			result = items[i].status;
	}
	enum hfkv_status sent = send_puts(bucket, items, names, deadline, result == HFKV_OK ? fault : NULL);
	return result == HFKV_OK ? sent : result;
}

static enum hfkv_status bucket_get(struct bucket_connector *bucket, struct hfkv_item *items,
				   const struct names *names, struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) struct kv_cache_load *loads = calloc(names->count, sizeof(*loads));
	if (!loads)
		return HFKV_NO_MEMORY;
	size_t count = 0;
	for (size_t i = 0; i < names->count; i++)
		if (names->names[i])
			loads[count++] = (struct kv_cache_load){ .path = names->names[i],
								 .into = items[i].data,
								 .length = items[i].length };
	enum hfkv_status result = kv_cache_load_many(bucket->parts.cache, loads, count, deadline, fault);
	count = 0;
	for (size_t i = 0; i < names->count; i++) {
		if (!names->names[i])
			continue;
		struct kv_cache_load *load = &loads[count++];
		items[i].status = load->status;
		items[i].bytes = load->status == HFKV_OK ? items[i].length : 0;
		if (load->status == HFKV_OK)
			size_rule_learn(bucket->parts.rule, items[i].key, items[i].length);
		bool is_failure = load->status != HFKV_OK && load->status != HFKV_NOT_FOUND;
		if (is_failure && result == HFKV_OK) {
			result = load->status;
			if (fault)
				*fault = load->fault;
		}
	}
	return result;
}

static enum hfkv_status bucket_remove(struct bucket_connector *bucket, struct hfkv_item *items,
				      const struct names *names, struct deadline deadline, struct fault *fault)
{
	CLEANUP(free_pointer) struct object_stat *paths = calloc(names->count, sizeof(*paths));
	if (!paths)
		return HFKV_NO_MEMORY;
	size_t count = 0;
	for (size_t i = 0; i < names->count; i++)
		if (names->names[i])
			paths[count++].path = names->names[i];
	enum hfkv_status result = kv_cache_remove_many(bucket->parts.cache, paths, count, deadline, fault);
	count = 0;
	for (size_t i = 0; i < names->count; i++)
		if (names->names[i])
			items[i].status = paths[count++].status;
	return result;
}

static enum hfkv_status run_named(struct bucket_connector *bucket, enum hfkv_operation operation,
				  struct hfkv_item *items, const struct names *names, struct deadline deadline,
				  struct fault *fault)
{
	switch (operation) {
	case HFKV_OP_EXISTS: return bucket_exists(bucket, items, names, deadline, fault);
	case HFKV_OP_PUT: return bucket_put(bucket, items, names, deadline, fault);
	case HFKV_OP_GET: return bucket_get(bucket, items, names, deadline, fault);
	case HFKV_OP_REMOVE: return bucket_remove(bucket, items, names, deadline, fault);
	}
	return HFKV_BUG;
}

static enum hfkv_status bucket_run(struct kv_backend *backend, enum hfkv_operation operation,
				   struct hfkv_item *items, size_t count, struct deadline deadline,
				   struct fault *fault)
{
	CLEANUP(names_done) struct names names = { NULL, count };
	enum hfkv_status named = encode_names(items, count, &names, fault);
	if (!names.names) {
		for (size_t i = 0; i < count; i++)
			items[i].status = HFKV_NO_MEMORY;
		return HFKV_NO_MEMORY;
	}
	/* Until the operation sets them: an outcome that is not known is a failure, never a miss. */
	set_all(items, &names, HFKV_NO_MEMORY);
	enum hfkv_status status =
	    run_named(of(backend), operation, items, &names, deadline, named == HFKV_OK ? fault : NULL);
	return named == HFKV_OK ? status : named;
}

struct list_visit {
	struct bucket_connector *bucket;
	kv_backend_visit visit;
	void *context;
};

static enum hfkv_status visit_name(void *context, const struct kv_cache_name *name)
{
	struct list_visit *list = context;
	CLEANUP(free_pointer) char *key = NULL;
	if (name->is_directory || strchr(name->name, '/') || key_from_object_name(name->name, &key) != HFKV_OK ||
	    kv_backend_check_key(list->bucket->backend.multi_process, HFKV_OP_EXISTS, key, NULL) != HFKV_OK)
		return HFKV_OK;
	if (size_rule_check(list->bucket->parts.rule, key, name->info.size_bytes, false) != HFKV_OK)
		return HFKV_OK;
	return list->visit(list->context, key, name->info.size_bytes, name->info.modified_at_ms);
}

static enum hfkv_status bucket_list(struct kv_backend *backend, kv_backend_visit visit, void *context,
				    struct deadline deadline, struct fault *fault)
{
	struct list_visit list = { of(backend), visit, context };
	return kv_cache_list_recursive(of(backend)->parts.cache, "", visit_name, &list, deadline, fault);
}

static enum hfkv_status bucket_ping(struct kv_backend *backend, struct deadline deadline, struct fault *fault)
{
	struct deadline limit = deadline_earlier(deadline, deadline_after_ms(KV_BACKEND_PING_MAX_MS));
	return object_store_probe(of(backend)->parts.store, limit, fault);
}

static size_t bucket_step(const struct kv_backend *backend, enum hfkv_operation operation)
{
	(void)backend;
	(void)operation;
	return SIZE_MAX;
}

static void bucket_free(struct kv_backend *backend, struct deadline deadline)
{
	kv_cache_close(of(backend)->parts.cache, deadline, NULL);
	object_store_free(of(backend)->parts.store);
	size_rule_free(of(backend)->parts.rule);
	free(backend);
}

static const struct kv_backend_class bucket_class = {
	.name = "hfbucket",
	.run = bucket_run,
	.list = bucket_list,
	.ping = bucket_ping,
	.step = bucket_step,
	.free = bucket_free,
};

enum hfkv_status bucket_connector_new(const struct bucket_connector_parts *parts, bool multi_process,
				      struct kv_backend **ret_backend)
{
	struct bucket_connector *bucket = calloc(1, sizeof(*bucket));
	if (!bucket)
		return HFKV_NO_MEMORY;
	bucket->backend = (struct kv_backend){ &bucket_class, multi_process };
	bucket->parts = *parts;
	*ret_backend = &bucket->backend;
	return HFKV_OK;
}
