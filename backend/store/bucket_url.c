#include "backend/store/bucket_url.h"

#include "backend/store/object_store.h"
#include "common/byte_buf.h"
#include "common/cleanup.h"

#include <ctype.h>
#include <string.h>

#define FORM           "hf://buckets/<namespace>/<bucket>[/<path>]"
#define NAME_MAX_BYTES 96

void bucket_url_done(struct bucket_url *url)
{
	free(url->bucket);
	free(url->path);
	*url = (struct bucket_url){ 0 };
}

/* Why a text that does not begin with hf://buckets/ is no bucket URL. */
static enum hfkv_status explain_scheme(const char *text, struct fault *fault)
{
	if (strncmp(text, "hf:", 3) == 0 && strncmp(text, "hf://", 5) != 0)
		return fault_set(fault, HFKV_INVALID, "'%.200s' lacks the two slashes after 'hf:'; write " FORM,
				 text);
	if (strncmp(text, "hf://", 5) == 0 && text[5])
		return fault_set(
		    fault, HFKV_INVALID,
		    "'%.200s' is not a bucket (a repository perhaps: only buckets can be used); write " FORM,
		    text);
	if (strstr(text, "://"))
		return fault_set(fault, HFKV_INVALID, "'%.200s' has another scheme than hf://; write " FORM, text);
	return fault_set(fault, HFKV_INVALID, "'%.200s' is not a bucket URL; write " FORM, text);
}

/* Segments joined by single slashes, without outer ones. */
static char *collapse_slashes(const char *text, size_t length)
{
	char *collapsed = malloc(length + 1);
	size_t out = 0;
	for (size_t i = 0; collapsed && i < length; i++)
		if (text[i] != '/' || (out > 0 && collapsed[out - 1] != '/'))
			collapsed[out++] = text[i];
	if (collapsed) {
		while (out > 0 && collapsed[out - 1] == '/')
			out--;
		collapsed[out] = '\0';
	}
	return collapsed;
}

static bool is_name(const char *name, size_t length)
{
	if (length == 0 || length > NAME_MAX_BYTES || name[0] == '.')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isascii((unsigned char)name[i]) ||
		    !(isalnum((unsigned char)name[i]) || strchr("-_.", name[i])))
			return false;
	return true;
}

/* `rest` is "<namespace>/<bucket>[/<path>]", slashes collapsed. */
static enum hfkv_status split(const char *text, const char *rest, struct bucket_url *ret_url, struct fault *fault)
{
	size_t namespace_length = strcspn(rest, "/");
	if (namespace_length == 0 || rest[namespace_length] == '\0')
		return fault_set(fault, HFKV_INVALID, "'%.200s' names no bucket; write " FORM, text);
	const char *bucket = rest + namespace_length + 1;
	size_t bucket_length = strcspn(bucket, "/");
	if (!is_name(rest, namespace_length) || !is_name(bucket, bucket_length))
		return fault_set(
		    fault, HFKV_INVALID,
		    "'%.200s': namespace and bucket are made of letters, digits, '-', '_' and '.'; write " FORM,
		    text);
	const char *path = bucket[bucket_length] ? bucket + bucket_length + 1 : "";
	enum hfkv_status status = *path ? object_path_check(path) : HFKV_OK;
	if (status != HFKV_OK)
		return fault_set(fault, status, "'%.200s': its path %s", text,
				 status == HFKV_OVERSIZE ? "is longer than 1024 bytes"
							 : "has a '.' or '..' segment or is not UTF-8");
	struct bucket_url url = { strndup(rest, (size_t)(bucket - rest) + bucket_length), strdup(path) };
	if (!url.bucket || !url.path) {
		bucket_url_done(&url);
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a bucket URL");
	}
	*ret_url = url;
	return HFKV_OK;
}

enum hfkv_status bucket_url_parse(const char *text, struct bucket_url *ret_url, struct fault *fault)
{
	const char *begin = text, *prefix = "hf://";
	while (isspace((unsigned char)*begin))
		begin++;
	size_t length = strlen(begin);
	while (length > 0 && isspace((unsigned char)begin[length - 1]))
		length--;
	CLEANUP(free_pointer) char *trimmed = strndup(begin, length);
	if (!trimmed)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a bucket URL");
	if (strncmp(trimmed, prefix, strlen(prefix)) != 0)
		return explain_scheme(trimmed, fault);
	CLEANUP(free_pointer) char *rest = collapse_slashes(trimmed + strlen(prefix), length - strlen(prefix));
	if (!rest)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a bucket URL");
	if (strcmp(rest, "buckets") == 0)
		return fault_set(fault, HFKV_INVALID, "'%.200s' names no bucket; write " FORM, trimmed);
	if (strncmp(rest, "buckets/", 8) != 0)
		return explain_scheme(trimmed, fault);
	return split(trimmed, rest + 8, ret_url, fault);
}
