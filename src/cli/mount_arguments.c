#include "src/cli/mount_arguments.h"

#include "common/cleanup.h"

#include <stdio.h>
#include <string.h>

/* Words of fstab lines that are for mount(8), systemd or another kind of filesystem. */
static const char *const ignored_words[] = {
	"rw", "nosuid", "nodev", "noexec", "suid", "dev", "exec", "noatime", "relatime", "atime", "nodiratime", "_netdev",
	"nofail", "user", "users", "nouser", "owner", "group", "auto", "noauto", "defaults", "async",
};

void mount_arguments_done(struct mount_arguments *arguments)
{
	for (int i = 0; i < arguments->count; i++)
		free(arguments->values[i]);
	free(arguments->values);
	*arguments = (struct mount_arguments){ 0 };
}

/* Takes over `value`. */
static enum hfkv_status add(struct mount_arguments *arguments, char *value, struct fault *fault)
{
	char **grown = value ? reallocarray(arguments->values, (size_t)arguments->count + 2, sizeof(*grown)) : NULL;
	if (!grown) {
		free(value);
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for options");
	}
	arguments->values = grown;
	arguments->values[arguments->count++] = value;
	arguments->values[arguments->count] = NULL;
	return HFKV_OK;
}

static bool is_ignored(const char *word)
{
	if (strncmp(word, "x-", 2) == 0 || strncmp(word, "X-", 2) == 0 || strncmp(word, "comment=", 8) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LENGTH(ignored_words); i++)
		if (strcmp(word, ignored_words[i]) == 0)
			return true;
	return word[0] == '\0';
}

static enum hfkv_status add_word(struct mount_arguments *arguments, const char *word, const struct argp *known,
				 struct fault *fault)
{
	if (is_ignored(word))
		return HFKV_OK;
	bool read_only = strncmp(word, "ro", 2) == 0 && (word[2] == '\0' || word[2] == '=');
	char *value = NULL;
	if (asprintf(&value, "--%s%s", read_only ? "read-only" : "", word + (read_only ? 2 : 0)) < 0)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for options");
	size_t length = strcspn(value + 2, "=");
	for (size_t i = 2; i < 2 + length; i++)
		if (value[i] == '_')
			value[i] = '-';
	if (!option_find(known, value + 2, length)) {
		enum hfkv_status status = fault_set(fault, HFKV_INVALID, "-o: no option '%.*s' (see 'hfkv mount --help')",
						    (int)strcspn(word, "="), word);
		free(value);
		return status;
	}
	return add(arguments, value, fault);
}

static enum hfkv_status add_list(struct mount_arguments *arguments, const char *list, const struct argp *known,
				 struct fault *fault)
{
	CLEANUP(free_pointer) char *copy = strdup(list);
	if (!copy)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for options");
	enum hfkv_status status = HFKV_OK;
	char *rest = copy, *word;
	while (status == HFKV_OK && (word = strsep(&rest, ",")))
		status = add_word(arguments, word, known, fault);
	return status;
}

/* Flags of mount(8)'s helper call that mean nothing here. -t and -N take a value. */
static bool skip_helper_flag(const char *argument, bool *fake, bool *skip_next)
{
	if (argument[0] != '-' || argument[1] == '\0' || strspn(argument + 1, "sfnvtN") != strlen(argument + 1))
		return false;
	if (strchr(argument, 'f'))
		*fake = true;
	*skip_next = strchr("tN", argument[strlen(argument) - 1]) != NULL;
	return true;
}

enum hfkv_status mount_arguments_expand(int argc, char **argv, bool as_helper, const struct argp *known,
					struct mount_arguments *ret_arguments, struct fault *fault)
{
	CLEANUP(mount_arguments_done) struct mount_arguments arguments = { 0 };
	enum hfkv_status status = add(&arguments, strdup(argv[0]), fault);
	bool literal = false;
	for (int i = 1; status == HFKV_OK && i < argc; i++) {
		bool skip_next = false;
		literal = literal || strcmp(argv[i], "--") == 0;
		if (!literal && as_helper && skip_helper_flag(argv[i], &arguments.fake, &skip_next))
			i += skip_next;
		else if (!literal && strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			status = add_list(&arguments, argv[++i], known, fault);
		else if (!literal && strncmp(argv[i], "-o", 2) == 0 && argv[i][2])
			status = add_list(&arguments, argv[i] + 2, known, fault);
		else
			status = add(&arguments, strdup(argv[i]), fault);
	}
	if (status != HFKV_OK)
		return status;
	*ret_arguments = arguments;
	arguments = (struct mount_arguments){ 0 };
	return HFKV_OK;
}
