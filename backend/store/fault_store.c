#include "backend/store/fault_store.h"

#include "backend/store/object_store_class.h"
#include "common/cleanup.h"

#include <stdatomic.h>
#include <string.h>

#define RULES_MAX 32

struct live_rule {
	struct fault_store_rule rule;
	char *path_contains;
	unsigned fitting;
};

struct fault_store {
	struct object_store base;
	struct object_store *inner;
	pthread_mutex_t mutex; /* rules */
	struct live_rule rules[RULES_MAX];
	size_t n_rules;
	atomic_uint calls[FAULT_STORE_CALL_COUNT], items[FAULT_STORE_CALL_COUNT];
};

static struct fault_store *of(struct object_store *store)
{
	return (struct fault_store *)store;
}

/* ---- rules ---- */

/* The paths of a call: an array of structures whose first member is the path. */
struct call_paths {
	const void *items;
	size_t item_bytes, count;
};

static bool any_path_contains(const struct call_paths *paths, const char *part)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *path = *(const char *const *)((const char *)paths->items + i * paths->item_bytes);
		if (strstr(path, part))
			return true;
	}
	return false;
}

/* The rule that decides this call; a rule of zeroes (status OK) when there is none. The gate has run. */
static struct fault_store_rule decide(struct fault_store *store, enum fault_store_call call,
				      const struct call_paths *paths)
{
	struct fault_store_rule found = { .status = HFKV_OK };
	atomic_fetch_add(&store->calls[call], 1);
	atomic_fetch_add(&store->items[call], (unsigned)paths->count);
	{
		SCOPED_LOCK(&store->mutex);
		for (size_t i = 0; i < store->n_rules; i++) {
			struct live_rule *live = &store->rules[i];
			if (live->rule.call != call ||
			    (live->path_contains && !any_path_contains(paths, live->path_contains)))
				continue;
			unsigned turn = live->fitting++;
			if (turn < live->rule.skip ||
			    (live->rule.times > 0 && turn >= live->rule.skip + live->rule.times))
				continue;
			found = live->rule;
			break;
		}
	}
	if (found.gate)
		found.gate(found.gate_context);
	return found;
}

static enum hfkv_status failure(const struct fault_store_rule *rule, struct fault *fault)
{
	fault_set(fault, rule->status, "a scripted failure");
	if (fault && rule->retry_after_ms > 0)
		fault->retry_after_ms = rule->retry_after_ms;
	return rule->status;
}

/* ---- calls ---- */

static enum hfkv_status fault_stat_many(struct object_store *base, struct object_stat *stats, size_t count,
					struct deadline deadline, struct fault *fault)
{
	struct fault_store *store = of(base);
	struct call_paths paths = { stats, sizeof(*stats), count };
	struct fault_store_rule rule = decide(store, FAULT_STORE_STAT, &paths);
	if (rule.status == HFKV_OK)
		return object_store_stat_many(store->inner, stats, count, deadline, fault);
	for (size_t i = 0; i < count; i++)
		stats[i].status = rule.status;
	return failure(&rule, fault);
}

static enum hfkv_status fault_list(struct object_store *base, const char *directory, bool recursive,
				   object_list_visit visit, void *context, struct deadline deadline,
				   struct fault *fault)
{
	struct fault_store *store = of(base);
	struct call_paths paths = { &directory, sizeof(directory), 1 };
	struct fault_store_rule rule = decide(store, FAULT_STORE_LIST, &paths);
	if (rule.status != HFKV_OK && !rule.after_work)
		return failure(&rule, fault);
	enum hfkv_status status =
	    object_store_list(store->inner, directory, recursive, visit, context, deadline, fault);
	return rule.status != HFKV_OK ? failure(&rule, fault) : status;
}

static enum hfkv_status fault_read(struct object_store *base, const struct object_read *read, uint64_t *ret_bytes,
				   struct deadline deadline, struct fault *fault)
{
	struct fault_store *store = of(base);
	struct call_paths none = { 0 };
	struct fault_store_rule rule = decide(store, FAULT_STORE_READ, &none);
	if (rule.status != HFKV_OK)
		return failure(&rule, fault);
	return store->inner->class->read(store->inner, read, ret_bytes, deadline, fault);
}

/* How many of `count` items are to be done for real under this rule. */
static size_t applied(const struct fault_store_rule *rule, size_t count)
{
	if (rule->status == HFKV_OK || rule->after_work)
		return count;
	return rule->apply_first < count ? rule->apply_first : count;
}

static enum hfkv_status fault_put_many(struct object_store *base, struct object_put *puts, size_t count,
				       object_progress progress, void *progress_context, struct deadline deadline,
				       struct fault *fault)
{
	struct fault_store *store = of(base);
	struct call_paths paths = { puts, sizeof(*puts), count };
	struct fault_store_rule rule = decide(store, FAULT_STORE_PUT, &paths);
	size_t n_applied = applied(&rule, count);
	enum hfkv_status status = HFKV_OK;
	if (n_applied > 0)
		status = object_store_put_many(store->inner, puts, n_applied, progress, progress_context, deadline,
					       fault);
	if (rule.status == HFKV_OK)
		return status;
	for (size_t i = rule.after_work ? 0 : n_applied; i < count; i++)
		puts[i].status = failure(&rule, &puts[i].fault);
	return failure(&rule, fault);
}

static enum hfkv_status fault_delete_many(struct object_store *base, struct object_stat *stats, size_t count,
					  struct deadline deadline, struct fault *fault)
{
	struct fault_store *store = of(base);
	struct call_paths paths = { stats, sizeof(*stats), count };
	struct fault_store_rule rule = decide(store, FAULT_STORE_DELETE, &paths);
	size_t n_applied = applied(&rule, count);
	enum hfkv_status status = HFKV_OK;
	if (n_applied > 0)
		status = object_store_delete_many(store->inner, stats, n_applied, deadline, fault);
	if (rule.status == HFKV_OK)
		return status;
	for (size_t i = rule.after_work ? 0 : n_applied; i < count; i++)
		stats[i].status = rule.status;
	return failure(&rule, fault);
}

static enum hfkv_status fault_rename(struct object_store *base, const char *from, const struct object_info *info,
				     const char *to, struct deadline deadline, struct fault *fault)
{
	struct fault_store *store = of(base);
	const char *names[] = { from, to };
	struct call_paths paths = { names, sizeof(names[0]), 2 };
	struct fault_store_rule rule = decide(store, FAULT_STORE_RENAME, &paths);
	enum hfkv_status status = HFKV_OK;
	if (rule.status == HFKV_OK || rule.after_work)
		status = object_store_rename(store->inner, from, info, to, deadline, fault);
	return rule.status != HFKV_OK ? failure(&rule, fault) : status;
}

static enum hfkv_status fault_probe(struct object_store *base, struct deadline deadline, struct fault *fault)
{
	struct fault_store *store = of(base);
	struct call_paths none = { 0 };
	struct fault_store_rule rule = decide(store, FAULT_STORE_PROBE, &none);
	return rule.status != HFKV_OK ? failure(&rule, fault) : object_store_probe(store->inner, deadline, fault);
}

static void fault_free(struct object_store *base)
{
	struct fault_store *store = of(base);
	fault_store_clear(base);
	object_store_free(store->inner);
	pthread_mutex_destroy(&store->mutex);
	free(store);
}

static const struct object_store_class fault_store_class = {
	.name = "fault",
	.stat_many = fault_stat_many,
	.list = fault_list,
	.read = fault_read,
	.put_many = fault_put_many,
	.delete_many = fault_delete_many,
	.rename = fault_rename,
	.probe = fault_probe,
	.free = fault_free,
};

/* ---- life and rules ---- */

enum hfkv_status fault_store_new(struct object_store *inner, struct object_store **ret_store, struct fault *fault)
{
	struct fault_store *store = calloc(1, sizeof(*store));
	if (!store)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a store");
	store->base.class = &fault_store_class;
	store->inner = inner;
	pthread_mutex_init(&store->mutex, NULL);
	*ret_store = &store->base;
	return HFKV_OK;
}

enum hfkv_status fault_store_add(struct object_store *base, const struct fault_store_rule *rule)
{
	struct fault_store *store = of(base);
	CLEANUP(free_pointer) char *part = rule->path_contains ? strdup(rule->path_contains) : NULL;
	SCOPED_LOCK(&store->mutex);
	if (store->n_rules == RULES_MAX || (rule->path_contains && !part))
		return HFKV_NO_MEMORY;
	store->rules[store->n_rules++] = (struct live_rule){ .rule = *rule, .path_contains = TAKE_PTR(part) };
	return HFKV_OK;
}

void fault_store_clear(struct object_store *base)
{
	struct fault_store *store = of(base);
	SCOPED_LOCK(&store->mutex);
	for (size_t i = 0; i < store->n_rules; i++)
		free(store->rules[i].path_contains);
	store->n_rules = 0;
}

unsigned fault_store_calls(struct object_store *store, enum fault_store_call call)
{
	return atomic_load(&of(store)->calls[call]);
}

unsigned fault_store_items(struct object_store *store, enum fault_store_call call)
{
	return atomic_load(&of(store)->items[call]);
}
