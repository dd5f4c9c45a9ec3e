/*
 * How large the body of a key must be, as a connector knows it: told (a number or a chunk table), learned from the
 * buffers of this process, or not known.
 *
 * A body is LMCache's metadata header, where one is used, and the tensor data. Learned sizes are kept per model,
 * rank and group of MP keys, the latest one counts, at most 4096 of them. Any thread.
 */
#ifndef SRC_CONNECTOR_SIZE_RULE_H
#define SRC_CONNECTOR_SIZE_RULE_H

#include "cache/kv_chunk_spec.h"

#include <stdbool.h>

struct size_rule;

struct size_rule_settings {
	uint64_t chunk_bytes;    /* tensor bytes; 0: not told */
	const char *chunk_table; /* a file; NULL: none. Borrowed during the call */
	uint64_t header_bytes;   /* in front of the data of every body; 0: none */
	bool any_size;           /* every size above 0 is right (full_chunks: false) */
	bool learns;             /* from size_rule_learn; MP keys */
};

MUST_CHECK enum hfkv_status size_rule_new(const struct size_rule_settings *settings, struct size_rule **ret_rule,
					  struct fault *fault);
void size_rule_free(struct size_rule *rule);
DEFINE_CLEANUP(size_rule_free, struct size_rule *);

uint64_t size_rule_header_bytes(const struct size_rule *rule);
bool size_rule_any_size(const struct size_rule *rule);
/* The rule as the cache takes it; NULL when sizes were not told. Borrowed. */
const struct kv_chunk_spec *size_rule_spec(const struct size_rule *rule);

/* Whether a body of `body_bytes` may stand under `key`: OK, PARTIAL_KV_CHUNK, or OVERSIZE. Not known: any size
 * above the header's is OK. `for_store` leaves learned sizes out: a process may change its mind about what it
 * stores. */
enum hfkv_status size_rule_check(struct size_rule *rule, const char *key, uint64_t body_bytes, bool for_store);

/* Fills `fault` with why size_rule_check gave `status`, and returns it. */
enum hfkv_status size_rule_refuse(struct size_rule *rule, const char *key, uint64_t body_bytes, enum hfkv_status status,
				  struct fault *fault);

/* A buffer of `body_bytes` was stored or loaded under `key`. */
void size_rule_learn(struct size_rule *rule, const char *key, uint64_t body_bytes);

#endif
