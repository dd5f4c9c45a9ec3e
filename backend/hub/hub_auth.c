#include "backend/hub/hub_auth.h"

#include "common/file_io.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#define DEFAULT_ENVIRONMENT_NAME "HF_TOKEN"

struct hub_auth {
	/* Unchanged after hub_auth_new. */
	char *environment_name, *file;
	struct secret *configured;

	pthread_mutex_t mutex;
	struct secret *token;
	char origin[HUB_AUTH_ORIGIN_BYTES];
};

/* A token and the words for its place. */
struct found_token {
	struct secret *token;
	char origin[HUB_AUTH_ORIGIN_BYTES];
};

/* The text without outer white space as a secret; NULL when nothing is left. */
static enum hfkv_status secret_from_text(const char *text, size_t length, struct secret **ret_secret,
					 const char *origin, struct fault *fault)
{
	while (length > 0 && isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		length--;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f)
			return fault_set(fault, HFKV_INVALID, "%s holds something that is not one token", origin);
	if (length == 0)
		return HFKV_OK;
	*ret_secret = secret_new(text, length);
	return *ret_secret ? HFKV_OK : fault_set(fault, HFKV_NO_MEMORY, "no memory for a token");
}

static enum hfkv_status from_environment(const char *name, struct found_token *found, struct fault *fault)
{
	const char *value = getenv(name);
	snprintf(found->origin, sizeof(found->origin), "the variable %.200s", name);
	return value ? secret_from_text(value, strlen(value), &found->token, found->origin, fault) : HFKV_OK;
}

/* Reads at most the limit; the buffer is wiped by the caller. */
static int64_t read_file(const char *path, char *buffer, size_t room)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : file_io_read(fd, buffer, room);
}

/* A file that must be there, or (may_lack) need not. */
static enum hfkv_status from_file(const char *path, bool may_lack, struct found_token *found, struct fault *fault)
{
	snprintf(found->origin, sizeof(found->origin), "the file '%.200s'", path);
	char *buffer = malloc(HUB_TOKEN_FILE_MAX_BYTES + 1);
	if (!buffer)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a token");
	int64_t length = read_file(path, buffer, HUB_TOKEN_FILE_MAX_BYTES + 1);
	enum hfkv_status status;
	if (length < 0)
		status = may_lack
			     ? HFKV_OK
			     : fault_set(fault, HFKV_INVALID, "token file '%s': %s", path, strerrordesc_np(errno));
	else if (length > HUB_TOKEN_FILE_MAX_BYTES)
		status = fault_set(fault, HFKV_INVALID, "token file '%s' is longer than a token can be", path);
	else
		status = secret_from_text(buffer, (size_t)length, &found->token, found->origin, fault);
	explicit_bzero(buffer, HUB_TOKEN_FILE_MAX_BYTES + 1);
	free(buffer);
	return status;
}

/* Where huggingface_hub keeps its token; NULL: no memory or no home. The caller frees it. */
static char *own_tools_file(void)
{
	const char *path = getenv("HF_TOKEN_PATH"), *hf_home = getenv("HF_HOME");
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *text = NULL;
	int length;
	if (path && *path)
		return strdup(path);
	if (hf_home && *hf_home)
		length = asprintf(&text, "%s/token", hf_home);
	else if (cache && *cache)
		length = asprintf(&text, "%s/huggingface/token", cache);
	else if (home && *home)
		length = asprintf(&text, "%s/.cache/huggingface/token", home);
	else
		return NULL;
	return length < 0 ? NULL : text;
}

static enum hfkv_status search_places(const struct hub_auth *auth, struct found_token *found, struct fault *fault)
{
	enum hfkv_status status = from_environment(auth->environment_name, found, fault);
	if (status != HFKV_OK || found->token)
		return status;
	if (auth->configured && secret_length(auth->configured) > 0) {
		snprintf(found->origin, sizeof(found->origin), "the configuration");
		return secret_from_text(secret_reveal(auth->configured), secret_length(auth->configured),
					&found->token, found->origin, fault);
	}
	if (auth->file)
		status = from_file(auth->file, false, found, fault);
	if (status == HFKV_OK && !found->token)
		status = from_environment(DEFAULT_ENVIRONMENT_NAME, found, fault);
	if (status != HFKV_OK || found->token)
		return status;
	CLEANUP(free_pointer) char *file = own_tools_file();
	return file ? from_file(file, true, found, fault) : HFKV_OK;
}

enum hfkv_status hub_auth_reload(struct hub_auth *auth, struct fault *fault)
{
	struct found_token found = { 0 };
	enum hfkv_status status = search_places(auth, &found, fault);
	if (status != HFKV_OK)
		return status;
	if (!found.token && auth->file)
		snprintf(found.origin, sizeof(found.origin), "no token was found: '%.120s' is empty, and %.60s is not set",
			 auth->file, auth->environment_name);
	else if (!found.token)
		snprintf(found.origin, sizeof(found.origin),
			 "no token was found: set %.60s, name a token file, or run 'hf auth login'",
			 *auth->environment_name ? auth->environment_name : DEFAULT_ENVIRONMENT_NAME);
	struct secret *old;
	{
		SCOPED_LOCK(&auth->mutex);
		old = auth->token;
		auth->token = found.token;
		memcpy(auth->origin, found.origin, sizeof(auth->origin));
	}
	secret_unref(old);
	return HFKV_OK;
}

/* A token where its variable's name belongs would be shown by the first error; hf_ and 20 bytes look like one. */
static bool is_variable_name(const char *name)
{
	if (isdigit((unsigned char)name[0]) || (strncmp(name, "hf_", 3) == 0 && strlen(name) >= 20))
		return false;
	size_t length = 0;
	while (isalnum((unsigned char)name[length]) || name[length] == '_')
		length++;
	return length > 0 && name[length] == '\0';
}

enum hfkv_status hub_auth_new(const struct hub_auth_places *places, struct hub_auth **ret_auth,
			      struct fault *fault)
{
	if (places->environment_name && !is_variable_name(places->environment_name))
		return fault_set(fault, HFKV_INVALID,
				 "token_env: what it holds (not shown: it may be a token) is no name of an "
				 "environment variable; put the token into a variable and give that one's name");
	CLEANUP(hub_auth_freep) struct hub_auth *auth = calloc(1, sizeof(*auth));
	if (!auth)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a token");
	pthread_mutex_init(&auth->mutex, NULL);
	auth->environment_name =
	    strdup(places->environment_name ? places->environment_name : DEFAULT_ENVIRONMENT_NAME);
	auth->file = places->file ? strdup(places->file) : NULL;
	auth->configured = secret_ref(places->configured);
	if (!auth->environment_name || (places->file && !auth->file))
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a token");
	enum hfkv_status status = hub_auth_reload(auth, fault);
	if (status == HFKV_OK)
		*ret_auth = TAKE_PTR(auth);
	return status;
}

void hub_auth_free(struct hub_auth *auth)
{
	if (!auth)
		return;
	secret_unref(auth->token);
	secret_unref(auth->configured);
	free(auth->environment_name);
	free(auth->file);
	pthread_mutex_destroy(&auth->mutex);
	free(auth);
}

struct secret *hub_auth_token(struct hub_auth *auth)
{
	SCOPED_LOCK(&auth->mutex);
	return secret_ref(auth->token);
}

void hub_auth_describe(struct hub_auth *auth, char text[HUB_AUTH_ORIGIN_BYTES])
{
	SCOPED_LOCK(&auth->mutex);
	memcpy(text, auth->origin, HUB_AUTH_ORIGIN_BYTES);
}
