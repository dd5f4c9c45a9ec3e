#include "src/connector/kv_backend.h"

#include "cache/key_codec.h"

#include <string.h>

#define MP_FORM     "<model>@<kv_rank>@<group>@<chunk_hash>[@<cache_salt>]"
#define NON_MP_FORM "<model>@<world_size>@<worker_id>@<chunk_hash>@<dtype>..."

/* The part after the fourth @, or NULL. */
static const char *salt_of(const char *key)
{
	for (int i = 0; key && i < 4; i++) {
		key = strchr(key, '@');
		key = key ? key + 1 : NULL;
	}
	return key;
}

static enum hfkv_status check_mp_key(enum hfkv_operation operation, enum key_family family, const char *key,
				     struct fault *fault)
{
	if (family == KEY_FAMILY_NON_MP)
		return fault_set(fault, HFKV_INVALID,
				 "key '%.200s' is of LMCache's in-process form; an L2 adapter takes " MP_FORM,
				 key);
	if (family == KEY_FAMILY_OTHER)
		return fault_set(fault, HFKV_INVALID, "key '%.200s' is no LMCache key: " MP_FORM, key);
	if (family == KEY_FAMILY_MP_OLD && operation == HFKV_OP_PUT)
		return fault_set(fault, HFKV_INVALID,
				 "key '%.200s' has no object group; the old form is only read: " MP_FORM, key);
	const char *salt = salt_of(key);
	if (salt && strpbrk(salt, "/\\"))
		return fault_set(fault, HFKV_INVALID, "key '%.200s': a cache salt holds no slash and no backslash",
				 key);
	return HFKV_OK;
}

enum hfkv_status kv_backend_check_key(bool multi_process, enum hfkv_operation operation, const char *key,
				      struct fault *fault)
{
	if (!key)
		return fault_set(fault, HFKV_INVALID, "an item has no key");
	enum key_family family = key_family_of(key);
	if (multi_process)
		return check_mp_key(operation, family, key, fault);
	if (family == KEY_FAMILY_NON_MP)
		return HFKV_OK;
	if (family == KEY_FAMILY_OTHER)
		return fault_set(fault, HFKV_INVALID, "key '%.200s' is no LMCache key: " NON_MP_FORM, key);
	return fault_set(fault, HFKV_INVALID,
			 "key '%.200s' is of LMCache's multi-process form; an in-process connector "
			 "takes " NON_MP_FORM,
			 key);
}

/* Clears outputs, marks bad keys. How many good ones stand before the first bad one; `count` when all are good. */
static size_t check_items(struct kv_backend *backend, enum hfkv_operation operation, struct hfkv_item *items,
			  size_t count, struct fault *fault)
{
	size_t good = count;
	for (size_t i = 0; i < count; i++) {
		items[i].bytes = 0;
		items[i].is_new = 0;
		bool is_first = good == count;
		items[i].status =
		    kv_backend_check_key(backend->multi_process, operation, items[i].key, is_first ? fault : NULL);
		if (items[i].status != HFKV_OK && is_first)
			good = i;
	}
	return good;
}

enum hfkv_status kv_backend_run(struct kv_backend *backend, enum hfkv_operation operation, struct hfkv_item *items,
				size_t count, struct deadline deadline, struct fault *fault)
{
	if (count == 0)
		return HFKV_OK;
	if (check_items(backend, operation, items, count, fault) == count)
		return backend->class->run(backend, operation, items, count, deadline, fault);
	/* Runs of good keys between the bad ones; only a program that mixes families comes here. */
	enum hfkv_status result = HFKV_INVALID;
	for (size_t start = 0; start < count;) {
		size_t end = start;
		while (end < count && items[end].status != HFKV_INVALID)
			end++;
		enum hfkv_status status = HFKV_OK;
		if (end > start)
			status =
			    backend->class->run(backend, operation, items + start, end - start, deadline, NULL);
		if (status != HFKV_OK && status != HFKV_INVALID)
			result = status;
		start = end + 1;
	}
	return result;
}

enum hfkv_status kv_backend_list(struct kv_backend *backend, kv_backend_visit visit, void *context,
				 struct deadline deadline, struct fault *fault)
{
	return backend->class->list(backend, visit, context, deadline, fault);
}

enum hfkv_status kv_backend_ping(struct kv_backend *backend, struct deadline deadline, struct fault *fault)
{
	return backend->class->ping(backend, deadline, fault);
}

size_t kv_backend_step(const struct kv_backend *backend, enum hfkv_operation operation)
{
	return backend->class->step(backend, operation);
}

void kv_backend_free(struct kv_backend *backend, struct deadline deadline)
{
	if (backend)
		backend->class->free(backend, deadline);
}
