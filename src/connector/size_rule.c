#include "src/connector/size_rule.h"

#include "cache/key_codec.h"

#include <string.h>
#include <uthash.h>

#define LEARNED_MAX 4096

struct learned_size {
	uint64_t body_bytes;
	UT_hash_handle hh;
	char group[]; /* "<model>@<rank>@<group>" */
};

struct size_rule {
	struct size_rule_settings settings;
	struct kv_chunk_spec *spec; /* told sizes, header included; NULL: none */
	pthread_mutex_t mutex;
	struct learned_size *learned; /* under mutex, oldest first */
};

static enum hfkv_status make_spec(struct size_rule *rule, struct fault *fault)
{
	const struct size_rule_settings *settings = &rule->settings;
	if (settings->any_size)
		return HFKV_OK;
	if (settings->chunk_table)
		return kv_chunk_spec_from_table(settings->chunk_table, settings->header_bytes, &rule->spec, fault);
	if (settings->chunk_bytes)
		return kv_chunk_spec_new(settings->chunk_bytes, settings->header_bytes, &rule->spec, fault);
	return HFKV_OK;
}

enum hfkv_status size_rule_new(const struct size_rule_settings *settings, struct size_rule **ret_rule,
			       struct fault *fault)
{
	CLEANUP(size_rule_freep) struct size_rule *rule = calloc(1, sizeof(*rule));
	if (!rule)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&rule->mutex, NULL);
	rule->settings = *settings;
	enum hfkv_status status = make_spec(rule, fault);
	rule->settings.chunk_table = NULL;
	if (status != HFKV_OK)
		return status;
	*ret_rule = TAKE_PTR(rule);
	return HFKV_OK;
}

void size_rule_free(struct size_rule *rule)
{
	if (!rule)
		return;
	struct learned_size *size, *next;
	HASH_ITER(hh, rule->learned, size, next)
	{
		HASH_DEL(rule->learned, size);
		free(size);
	}
	kv_chunk_spec_free(rule->spec);
	pthread_mutex_destroy(&rule->mutex);
	free(rule);
}

uint64_t size_rule_header_bytes(const struct size_rule *rule)
{
	return rule->settings.header_bytes;
}

bool size_rule_any_size(const struct size_rule *rule)
{
	return rule->settings.any_size;
}

const struct kv_chunk_spec *size_rule_spec(const struct size_rule *rule)
{
	return rule->spec;
}

/* Length of "<model>@<rank>@<group>": all but the hash and a salt. 0 when the key has too few fields. */
static size_t group_length(const char *key)
{
	const char *at = strchr(key, '@');
	at = at ? strchr(at + 1, '@') : NULL;
	at = at ? strchr(at + 1, '@') : NULL;
	return at ? (size_t)(at - key) : 0;
}

static uint64_t learned_bytes(struct size_rule *rule, const char *key)
{
	size_t length = group_length(key);
	struct learned_size *size = NULL;
	SCOPED_LOCK(&rule->mutex);
	if (length > 0)
		HASH_FIND(hh, rule->learned, key, length, size);
	return size ? size->body_bytes : 0;
}

void size_rule_learn(struct size_rule *rule, const char *key, uint64_t body_bytes)
{
	size_t length = group_length(key);
	if (!rule->settings.learns || rule->spec || length == 0)
		return;
	SCOPED_LOCK(&rule->mutex);
	struct learned_size *size;
	HASH_FIND(hh, rule->learned, key, length, size);
	if (size) {
		size->body_bytes = body_bytes;
		return;
	}
	if (HASH_COUNT(rule->learned) >= LEARNED_MAX) {
		struct learned_size *oldest = rule->learned;
		HASH_DEL(rule->learned, oldest);
		free(oldest);
	}
	size = malloc(sizeof(*size) + length + 1);
	if (!size)
		return; /* not knowing is allowed */
	memcpy(size->group, key, length);
	size->group[length] = '\0';
	size->body_bytes = body_bytes;
	HASH_ADD(hh, rule->learned, group, length, size);
}

/* What the table says of `key`; a key that no line matches has no right size. */
static uint64_t told_bytes(const struct size_rule *rule, const char *key)
{
	if (rule->settings.chunk_bytes)
		return rule->settings.chunk_bytes + rule->settings.header_bytes;
	char *object_name;
	if (key_to_object_name(key, &object_name) != HFKV_OK)
		return 0;
	uint64_t bytes = kv_chunk_spec_full_size(rule->spec, object_name);
	free(object_name);
	return bytes;
}

enum hfkv_status size_rule_check(struct size_rule *rule, const char *key, uint64_t body_bytes, bool for_store)
{
	if (body_bytes <= rule->settings.header_bytes)
		return HFKV_PARTIAL_KV_CHUNK;
	uint64_t right = 0;
	if (rule->spec) {
		right = told_bytes(rule, key);
		if (right == 0)
			return HFKV_PARTIAL_KV_CHUNK;
	} else if (rule->settings.learns && !for_store) {
		right = learned_bytes(rule, key);
	}
	if (right == 0 || body_bytes == right)
		return HFKV_OK;
	return body_bytes < right ? HFKV_PARTIAL_KV_CHUNK : HFKV_OVERSIZE;
}

enum hfkv_status size_rule_refuse(struct size_rule *rule, const char *key, uint64_t body_bytes, enum hfkv_status status,
				  struct fault *fault)
{
	uint64_t right = rule->spec ? told_bytes(rule, key) : 0;
	if (rule->spec && right == 0)
		return fault_set(fault, status, "key '%.200s' matches no line of the chunk table", key);
	if (right == 0)
		return fault_set(fault, status, "key '%.200s': %llu bytes are not a full KV chunk", key,
				 (unsigned long long)body_bytes);
	return fault_set(fault, status, "key '%.200s': %llu bytes are not a full KV chunk, which has %llu", key,
			 (unsigned long long)body_bytes, (unsigned long long)right);
}
