#include "cache/kv_chunk_spec.h"

#include "cache/key_codec.h"

#include <fnmatch.h>
#include <string.h>

#define TABLE_RULES_MAX      4096
#define TABLE_LINE_MAX_BYTES 4096

/* One line of a table. */
struct size_rule {
	char *pattern;
	uint64_t full_bytes;
};

struct kv_chunk_spec {
	uint64_t uniform_bytes; /* 0: the table decides */
	uint64_t largest_bytes;
	uint64_t header_bytes;
	size_t rule_count;
	struct size_rule *rules;
};

uint64_t kv_chunk_header_bytes(unsigned groups)
{
	return 8 + 20 * (uint64_t)groups;
}

void kv_chunk_spec_free(struct kv_chunk_spec *spec)
{
	if (!spec)
		return;
	for (size_t i = 0; i < spec->rule_count; i++)
		free(spec->rules[i].pattern);
	free(spec->rules);
	free(spec);
}

static struct kv_chunk_spec *spec_alloc(uint64_t header_bytes)
{
	struct kv_chunk_spec *spec = calloc(1, sizeof(*spec));
	if (!spec)
		return NULL;
	spec->header_bytes = header_bytes;
	return spec;
}

/* chunk_bytes + header_bytes, 0 when that is no size of a file. */
static uint64_t full_bytes_of(uint64_t chunk_bytes, uint64_t header_bytes)
{
	uint64_t full_bytes;
	if (chunk_bytes == 0 || __builtin_add_overflow(chunk_bytes, header_bytes, &full_bytes) ||
	    full_bytes > INT64_MAX)
		return 0;
	return full_bytes;
}

enum hfkv_status kv_chunk_spec_new(uint64_t chunk_bytes, uint64_t header_bytes, struct kv_chunk_spec **ret_spec,
				   struct fault *fault)
{
	uint64_t full_bytes = full_bytes_of(chunk_bytes, header_bytes);
	if (full_bytes == 0)
		return fault_set(fault, HFKV_INVALID, "chunk size %llu: must be above 0 and fit a file",
				 (unsigned long long)chunk_bytes);
	struct kv_chunk_spec *spec = spec_alloc(header_bytes);
	if (!spec)
		return fault_set(fault, HFKV_NO_MEMORY, "chunk size: out of memory");
	spec->uniform_bytes = spec->largest_bytes = full_bytes;
	*ret_spec = spec;
	return HFKV_OK;
}

/* ---- tables ---- */

static bool parse_bytes(const char *text, uint64_t *ret_bytes)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return false;
	*ret_bytes = value;
	return true;
}

static void trim_right(char *line)
{
	size_t length = strlen(line);
	while (length > 0 && strchr(" \t\r\n", line[length - 1]))
		line[--length] = '\0';
}

/* Parts `line`, trimmed, at its last blank run. NULL when there is none; else the number, and the pattern ends in
 * NUL. */
static char *split_pattern(char *line)
{
	char *number = line + strlen(line);
	while (number > line && number[-1] != ' ' && number[-1] != '\t')
		number--;
	if (number == line)
		return NULL;
	number[-1] = '\0';
	trim_right(line);
	return line[0] ? number : NULL;
}

/* NULL when the rule was added, else what is wrong with the line. */
static const char *add_rule(struct kv_chunk_spec *spec, char *line)
{
	uint64_t bytes;
	char *number = split_pattern(line);
	if (!number || !parse_bytes(number, &bytes))
		return "expected `PATTERN BYTES`";
	uint64_t full_bytes = full_bytes_of(bytes, spec->header_bytes);
	if (full_bytes == 0)
		return "the size must be above 0 and fit a file";
	if (spec->rule_count == TABLE_RULES_MAX)
		return "more lines than a table may have (4096)";
	struct size_rule *rules = reallocarray(spec->rules, spec->rule_count + 1, sizeof(*rules));
	if (!rules)
		return "out of memory";
	spec->rules = rules;
	char *pattern = strdup(line);
	if (!pattern)
		return "out of memory";
	rules[spec->rule_count++] = (struct size_rule){ pattern, full_bytes };
	if (full_bytes > spec->largest_bytes)
		spec->largest_bytes = full_bytes;
	return NULL;
}

static enum hfkv_status read_table(struct kv_chunk_spec *spec, const char *file, FILE *stream, struct fault *fault)
{
	char line[TABLE_LINE_MAX_BYTES];
	for (unsigned number = 1; fgets(line, sizeof(line), stream); number++) {
		const char *wrong = NULL;
		if (!strchr(line, '\n') && !feof(stream))
			wrong = "the line is longer than 4095 bytes";
		trim_right(line);
		char *start = line + strspn(line, " \t");
		if (!wrong && start[0] && start[0] != '#')
			wrong = add_rule(spec, start);
		if (wrong)
			return fault_set(fault, HFKV_INVALID, "chunk table '%s' line %u: %s", file, number, wrong);
	}
	if (ferror(stream))
		return fault_set_errno(fault, errno, "chunk table '%s'", file);
	if (spec->rule_count == 0)
		return fault_set(fault, HFKV_INVALID, "chunk table '%s' has no line `PATTERN BYTES`", file);
	return HFKV_OK;
}

enum hfkv_status kv_chunk_spec_from_table(const char *file, uint64_t header_bytes, struct kv_chunk_spec **ret_spec,
					  struct fault *fault)
{
	CLEANUP(close_stream) FILE *stream = fopen(file, "re");
	if (!stream)
		return fault_set_errno(fault, errno, "chunk table '%s'", file);
	CLEANUP(kv_chunk_spec_freep) struct kv_chunk_spec *spec = spec_alloc(header_bytes);
	if (!spec)
		return fault_set(fault, HFKV_NO_MEMORY, "chunk table '%s': out of memory", file);
	enum hfkv_status status = read_table(spec, file, stream, fault);
	if (status == HFKV_OK)
		*ret_spec = TAKE_PTR(spec);
	return status;
}

/* ---- questions ---- */

uint64_t kv_chunk_spec_full_size(const struct kv_chunk_spec *spec, const char *object_path)
{
	if (spec->uniform_bytes)
		return spec->uniform_bytes;
	const char *slash = strrchr(object_path, '/');
	CLEANUP(free_pointer) char *key = NULL;
	if (key_from_object_name(slash ? slash + 1 : object_path, &key) != HFKV_OK)
		return 0;
	for (size_t i = 0; i < spec->rule_count; i++)
		if (fnmatch(spec->rules[i].pattern, key, 0) == 0)
			return spec->rules[i].full_bytes;
	return 0;
}

uint64_t kv_chunk_spec_largest(const struct kv_chunk_spec *spec)
{
	return spec->largest_bytes;
}
