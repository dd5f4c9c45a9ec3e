#include "src/cli/url_list.h"

#include "common/cleanup.h"

#include <string.h>

error_t url_arguments_parse(int key, struct argp_state *state, struct url_arguments *arguments)
{
	switch (key) {
	case ARGP_KEY_ARGS:
		arguments->urls = state->argv + state->next;
		arguments->count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		return option_error(state, "which object? A URL such as hf://buckets/NS/BUCKET/PATH is missing");
	default: return ARGP_ERR_UNKNOWN;
	}
}

void url_list_done(struct url_list *list)
{
	for (size_t i = 0; list->paths && i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
	free(list->are_prefixes);
	free(list->bucket);
	*list = (struct url_list){ 0 };
}

static bool ends_in_slash(const char *text)
{
	size_t length = strlen(text);
	while (length > 0 && strchr(" \t\r\n", text[length - 1])) /* bucket_url_parse drops them too */
		length--;
	return length > 0 && text[length - 1] == '/';
}

static enum hfkv_status add(struct url_list *list, const char *text, struct fault *fault)
{
	CLEANUP(bucket_url_done) struct bucket_url url = { 0 };
	enum hfkv_status status = bucket_url_parse(text, &url, fault);
	if (status != HFKV_OK)
		return status;
	if (list->bucket && strcmp(list->bucket, url.bucket) != 0)
		return fault_set(fault, HFKV_INVALID, "'%s' is in another bucket than '%s': one bucket at a time", text,
				 list->bucket);
	if (!list->bucket)
		list->bucket = TAKE_PTR(url.bucket);
	list->are_prefixes[list->count] = ends_in_slash(text) || url.path[0] == '\0';
	list->paths[list->count++] = TAKE_PTR(url.path);
	return HFKV_OK;
}

enum hfkv_status url_list_parse(char *const *texts, size_t count, struct url_list *ret_list, struct fault *fault)
{
	CLEANUP(url_list_done) struct url_list list = { 0 };
	list.paths = calloc(count, sizeof(*list.paths));
	list.are_prefixes = calloc(count, sizeof(*list.are_prefixes));
	if (!list.paths || !list.are_prefixes)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for %zu names", count);
	for (size_t i = 0; i < count; i++) {
		enum hfkv_status status = add(&list, texts[i], fault);
		if (status != HFKV_OK)
			return status;
	}
	*ret_list = list;
	list = (struct url_list){ 0 };
	return HFKV_OK;
}
