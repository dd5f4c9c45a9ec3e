#include "fuse/fs_name_rule.h"

#include "cache/key_codec.h"
#include "fuse/inode_table.h"

#include <errno.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static char *join(const char *directory, const char *name)
{
	char *path = NULL;
	if (asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", name) < 0)
		return NULL;
	return path;
}

/* Whether `path` is `inner`, or holds it as whole segments that end at a segment's end. */
static bool has_segments(const char *path, const char *inner)
{
	size_t length = strlen(inner);
	if (length == 0)
		return false;
	for (const char *at = strstr(path, inner); at; at = strstr(at + 1, inner))
		if ((at == path || at[-1] == '/') && (at[length] == '\0' || at[length] == '/'))
			return true;
	return false;
}

bool fs_name_is_scratch_directory(const struct fs_name_rule *rule, const char *path)
{
	if (rule->layout != FS_LAYOUT_KV)
		return false;
	if (path[0] == '.' || strstr(path, "/."))
		return true;
	return rule->tmp_dir && has_segments(path, rule->tmp_dir);
}

static bool is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	while (*at) {
		int more = *at < 0x80 ? 0 : *at >= 0xc2 && *at < 0xe0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : *at >= 0xf0 && *at < 0xf5 ? 3 : -1;
		if (more < 0 || (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
		    (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
			return false;
		for (at++; more > 0; more--, at++)
			if ((*at & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static int classify_kv(const struct fs_name_rule *rule, const char *directory, const char *name,
		       enum fs_name_kind *ret_kind, char **ret_path)
{
	CLEANUP(free_pointer) char *path = join(directory, name);
	if (!path)
		return ENOMEM;
	if (fs_name_is_scratch_directory(rule, path) || ends_with(name, ".tmp")) {
		*ret_kind = FS_NAME_LOCAL;
		*ret_path = TAKE_PTR(path);
		return 0;
	}
	if (!is_data_file_name(name)) {
		*ret_kind = FS_NAME_EITHER;
		*ret_path = TAKE_PTR(path);
		return 0;
	}
	CLEANUP(free_pointer) char *object = NULL;
	enum hfkv_status status = file_name_to_object_name(name, &object);
	if (status != HFKV_OK)
		return status == HFKV_OVERSIZE ? ENAMETOOLONG : status == HFKV_NO_MEMORY ? ENOMEM : EINVAL;
	char *object_path = join(directory, object);
	if (!object_path)
		return ENOMEM;
	*ret_kind = FS_NAME_OBJECT;
	*ret_path = object_path;
	return 0;
}

int fs_name_classify(const struct fs_name_rule *rule, const char *directory, const char *name,
		     enum fs_name_kind *ret_kind, char **ret_path)
{
	if (strlen(name) > FS_NAME_MAX_BYTES)
		return ENAMETOOLONG;
	if (!*directory && strcmp(name, FS_STATUS_FILE_NAME) == 0)
		return EINVAL;
	if (rule->layout == FS_LAYOUT_KV)
		return classify_kv(rule, directory, name, ret_kind, ret_path);
	if (!is_utf8(name))
		return EINVAL;
	char *path = join(directory, name);
	if (!path)
		return ENOMEM;
	*ret_kind = FS_NAME_OBJECT;
	*ret_path = path;
	return 0;
}

char *fs_name_of_listed(const struct fs_name_rule *rule, const char *directory, const char *name, bool is_directory)
{
	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strlen(name) > FS_NAME_MAX_BYTES)
		return NULL;
	if (!is_directory && rule->layout == FS_LAYOUT_KV) {
		char *file_name = NULL;
		return object_name_to_file_name(name, &file_name) == HFKV_OK ? file_name : NULL;
	}
	enum fs_name_kind kind = FS_NAME_LOCAL;
	CLEANUP(free_pointer) char *path = NULL;
	if (fs_name_classify(rule, directory, name, &kind, &path) != 0)
		return NULL;
	bool shown = rule->layout == FS_LAYOUT_PLAIN || kind == FS_NAME_EITHER;
	return shown ? strdup(name) : NULL;
}
