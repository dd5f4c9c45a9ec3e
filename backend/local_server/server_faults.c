#include "backend/local_server/server_faults.h"

#include <jansson.h>

#include <stdatomic.h>
#include <string.h>

#define RULES_MAX 256

struct fault_rule {
	_Atomic unsigned references;
	json_t *json; /* owned; immutable once parsed */
	const char *route, *path_contains;
	int64_t skip, times; /* times -1: for ever */
	int64_t seen;        /* under the owner's mutex */
	struct fault_plan plan;
};

struct server_faults {
	pthread_mutex_t mutex; /* guards the list and the counts; held for a walk of it only */
	struct fault_rule *rules[RULES_MAX];
	size_t count;
};

static void rule_unref(struct fault_rule *rule)
{
	if (!rule || atomic_fetch_sub(&rule->references, 1) != 1)
		return;
	json_decref(rule->json);
	free(rule);
}

/* ---- parsing ---- */

static enum hfkv_status read_integer(const json_t *json, const char *key, int64_t absent, int64_t *ret_value,
				     struct fault *fault)
{
	const json_t *value = json_object_get(json, key);
	if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
		return fault_set(fault, HFKV_INVALID, "rule: \"%s\" must be a whole number of 0 or more", key);
	*ret_value = value ? json_integer_value(value) : absent;
	return HFKV_OK;
}

static enum hfkv_status read_drop(const json_t *json, enum fault_drop *ret_drop, struct fault *fault)
{
	const json_t *value = json_object_get(json, "drop");
	const char *text = json_string_value(value);
	if (!value)
		*ret_drop = DROP_NEVER;
	else if (text && strcmp(text, "before_work") == 0)
		*ret_drop = DROP_BEFORE_WORK;
	else if (text && strcmp(text, "after_work") == 0)
		*ret_drop = DROP_AFTER_WORK;
	else
		return fault_set(fault, HFKV_INVALID, "rule: \"drop\" must be \"before_work\" or \"after_work\"");
	return HFKV_OK;
}

static enum hfkv_status check_keys(json_t *json, struct fault *fault)
{
	static const char *const known[] = { "route",
					     "path_contains",
					     "skip",
					     "times",
					     "status",
					     "headers",
					     "body",
					     "delay_ms",
					     "stall_after_bytes",
					     "cut_after_bytes",
					     "drop",
					     "apply_first",
					     "expire_tokens",
					     "expire_urls",
					     "reverse_order",
					     "flip_byte_at" };
	const char *key;
	json_t *value;
	json_object_foreach(json, key, value)
	{
		bool found = false;
		for (size_t i = 0; i < ARRAY_LENGTH(known) && !found; i++)
			found = strcmp(key, known[i]) == 0;
		if (!found)
			return fault_set(fault, HFKV_INVALID, "rule: unknown key \"%s\"", key);
	}
	return HFKV_OK;
}

static enum hfkv_status read_numbers(const json_t *json, struct fault_rule *rule, struct fault *fault)
{
	struct fault_plan *plan = &rule->plan;
	int64_t status_code = 0;
	const struct {
		const char *key;
		int64_t absent, *value;
	} numbers[] = {
		{ "skip", 0, &rule->skip },
		{ "times", -1, &rule->times },
		{ "status", 0, &status_code },
		{ "delay_ms", -1, &plan->delay_ms },
		{ "stall_after_bytes", -1, &plan->stall_after_bytes },
		{ "cut_after_bytes", -1, &plan->cut_after_bytes },
		{ "flip_byte_at", -1, &plan->flip_byte_at },
		{ "apply_first", -1, &plan->apply_first },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		enum hfkv_status status =
		    read_integer(json, numbers[i].key, numbers[i].absent, numbers[i].value, fault);
		if (status != HFKV_OK)
			return status;
	}
	if (status_code != 0 && (status_code < 200 || status_code > 599))
		return fault_set(fault, HFKV_INVALID, "rule: \"status\" must be between 200 and 599");
	plan->status = (int)status_code;
	return HFKV_OK;
}

static enum hfkv_status read_rule(struct fault_rule *rule, struct fault *fault)
{
	json_t *json = rule->json;
	if (!json_is_object(json))
		return fault_set(fault, HFKV_INVALID, "a rule must be an object");
	enum hfkv_status status = check_keys(json, fault);
	if (status == HFKV_OK)
		status = read_numbers(json, rule, fault);
	if (status == HFKV_OK)
		status = read_drop(json, &rule->plan.drop, fault);
	if (status != HFKV_OK)
		return status;
	rule->route = json_string_value(json_object_get(json, "route"));
	rule->path_contains = json_string_value(json_object_get(json, "path_contains"));
	if (!rule->route)
		return fault_set(fault, HFKV_INVALID, "rule: \"route\" must be a route's name or \"*\"");
	rule->plan.rule = rule;
	rule->plan.expire_tokens = json_is_true(json_object_get(json, "expire_tokens"));
	rule->plan.expire_urls = json_is_true(json_object_get(json, "expire_urls"));
	rule->plan.reverse_order = json_is_true(json_object_get(json, "reverse_order"));
	return HFKV_OK;
}

/* ---- the list ---- */

enum hfkv_status server_faults_new(struct server_faults **ret_faults, struct fault *fault)
{
	struct server_faults *faults = calloc(1, sizeof(*faults));
	if (!faults)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for test controls");
	pthread_mutex_init(&faults->mutex, NULL);
	*ret_faults = faults;
	return HFKV_OK;
}

static void replace_rules(struct server_faults *faults, struct fault_rule **rules, size_t count)
{
	SCOPED_LOCK(&faults->mutex);
	for (size_t i = 0; i < faults->count; i++)
		rule_unref(faults->rules[i]);
	memcpy(faults->rules, rules, count * sizeof(*rules));
	faults->count = count;
}

void server_faults_clear(struct server_faults *faults)
{
	struct fault_rule *none[1] = { NULL };
	replace_rules(faults, none, 0);
}

void server_faults_free(struct server_faults *faults)
{
	if (!faults)
		return;
	server_faults_clear(faults);
	pthread_mutex_destroy(&faults->mutex);
	free(faults);
}

static enum hfkv_status rule_new(json_t *json, struct fault_rule **ret_rule, struct fault *fault)
{
	struct fault_rule *rule = calloc(1, sizeof(*rule));
	if (!rule)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a rule");
	atomic_init(&rule->references, 1);
	rule->json = json_incref(json);
	enum hfkv_status status = read_rule(rule, fault);
	if (status == HFKV_OK)
		*ret_rule = rule;
	else
		rule_unref(rule);
	return status;
}

static enum hfkv_status read_rules(const json_t *array, struct fault_rule **rules, size_t *count,
				   struct fault *fault)
{
	if (!json_is_array(array) || json_array_size(array) > RULES_MAX)
		return fault_set(fault, HFKV_INVALID, "the body must be a JSON array of at most %d rules",
				 RULES_MAX);
	for (size_t i = 0; i < json_array_size(array); i++) {
		enum hfkv_status status = rule_new(json_array_get(array, i), &rules[i], fault);
		if (status != HFKV_OK)
			return status;
		(*count)++;
	}
	return HFKV_OK;
}

enum hfkv_status server_faults_set(struct server_faults *faults, const char *json, size_t length,
				   struct fault *fault)
{
	json_t *array = json_loadb(json, length, 0, NULL);
	struct fault_rule *rules[RULES_MAX];
	size_t count = 0;
	enum hfkv_status status = read_rules(array, rules, &count, fault);
	json_decref(array);
	if (status == HFKV_OK) {
		replace_rules(faults, rules, count);
		return HFKV_OK;
	}
	while (count > 0)
		rule_unref(rules[--count]);
	return status;
}

/* ---- the plan ---- */

static bool has_text(const struct byte_buf *body, const char *text)
{
	return body && body->length > 0 && memmem(body->data, body->length, text, strlen(text)) != NULL;
}

static bool rule_fits(const struct fault_rule *rule, const char *route, const char *target,
		      const struct byte_buf *body)
{
	if (strcmp(rule->route, "*") != 0 && strcmp(rule->route, route) != 0)
		return false;
	return !rule->path_contains || strstr(target, rule->path_contains) || has_text(body, rule->path_contains);
}

struct fault_plan server_faults_plan(struct server_faults *faults, const char *route, const char *target,
				     const struct byte_buf *body)
{
	struct fault_plan none = { .delay_ms = -1,
				   .stall_after_bytes = -1,
				   .cut_after_bytes = -1,
				   .flip_byte_at = -1,
				   .apply_first = -1 };
	SCOPED_LOCK(&faults->mutex);
	for (size_t i = 0; i < faults->count; i++) {
		struct fault_rule *rule = faults->rules[i];
		if (!rule_fits(rule, route, target, body))
			continue;
		int64_t seen = rule->seen++;
		if (seen < rule->skip || (rule->times >= 0 && seen >= rule->skip + rule->times))
			continue;
		atomic_fetch_add(&rule->references, 1);
		return rule->plan;
	}
	return none;
}

void fault_plan_done(struct fault_plan *plan)
{
	rule_unref((struct fault_rule *)plan->rule);
	plan->rule = NULL;
}

bool fault_plan_header(const struct fault_plan *plan, size_t index, const char **ret_name, const char **ret_value)
{
	if (!plan->rule)
		return false;
	json_t *headers = json_object_get(plan->rule->json, "headers");
	void *at = json_object_iter(headers);
	while (at && index-- > 0)
		at = json_object_iter_next(headers, at);
	if (!at)
		return false;
	const char *value = json_string_value(json_object_iter_value(at));
	*ret_name = json_object_iter_key(at);
	*ret_value = value ? value : "";
	return true;
}

const char *fault_plan_body(const struct fault_plan *plan)
{
	const char *body = plan->rule ? json_string_value(json_object_get(plan->rule->json, "body")) : NULL;
	return body ? body : "";
}
