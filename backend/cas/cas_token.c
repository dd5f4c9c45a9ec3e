#include "backend/cas/cas_token.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A token with less than this left is renewed before use. */
#define RENEW_BEFORE_S 30

/* What is known for one scope. */
struct cas_scope_state {
	struct cas_access access; /* url is NULL while there is none */
	bool is_fetching;
};

struct cas_token {
	cas_access_fetch fetch;
	void *context;
	pthread_mutex_t mutex; /* over scopes; not held while fetching */
	pthread_cond_t fetched;
	struct cas_scope_state scopes[CAS_SCOPE_COUNT];
};

void cas_access_done(struct cas_access *access)
{
	free(access->url);
	secret_unref(access->token);
	*access = (struct cas_access){ 0 };
}

enum hfkv_status cas_token_new(cas_access_fetch fetch, void *context, struct cas_token **ret_token,
			       struct fault *fault)
{
	struct cas_token *token = calloc(1, sizeof(*token));
	if (!token)
		return fault_set(fault, HFKV_NO_MEMORY, "CAS token: no memory");
	token->fetch = fetch;
	token->context = context;
	pthread_mutex_init(&token->mutex, NULL);
	condition_init(&token->fetched);
	*ret_token = token;
	return HFKV_OK;
}

void cas_token_free(struct cas_token *token)
{
	if (!token)
		return;
	for (size_t i = 0; i < CAS_SCOPE_COUNT; i++)
		cas_access_done(&token->scopes[i].access);
	pthread_cond_destroy(&token->fetched);
	pthread_mutex_destroy(&token->mutex);
	free(token);
}

static bool is_fresh(const struct cas_access *access)
{
	return access->url && access->expires_at_s - RENEW_BEFORE_S > clock_wall_ms() / 1000;
}

static enum hfkv_status copy_access(const struct cas_access *access, struct cas_access *ret_access,
				    struct fault *fault)
{
	char *url = strdup(access->url);
	if (!url)
		return fault_set(fault, HFKV_NO_MEMORY, "CAS token: no memory");
	*ret_access = (struct cas_access){ url, secret_ref(access->token), access->expires_at_s };
	return HFKV_OK;
}

static void trim_slashes(char *url)
{
	size_t length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		url[--length] = '\0';
}

/* Asks for a new token without the lock; the answer is good for this call however soon it expires. */
static enum hfkv_status renew(struct cas_token *token, enum cas_scope scope, struct deadline deadline,
			      struct cas_access *ret_access, struct fault *fault)
{
	CLEANUP(cas_access_done) struct cas_access fresh = { 0 };
	enum hfkv_status status = token->fetch(token->context, scope, deadline, &fresh, fault);
	if (status == HFKV_OK && (!fresh.url || !fresh.token))
		status = fault_set(fault, HFKV_BUG, "CAS token: the fetch gave none");
	SCOPED_LOCK(&token->mutex);
	struct cas_scope_state *state = &token->scopes[scope];
	state->is_fetching = false;
	pthread_cond_broadcast(&token->fetched);
	if (status != HFKV_OK)
		return status;
	trim_slashes(fresh.url);
	cas_access_done(&state->access);
	state->access = fresh;
	fresh = (struct cas_access){ 0 };
	return copy_access(&state->access, ret_access, fault);
}

enum hfkv_status cas_token_get(struct cas_token *token, enum cas_scope scope, struct deadline deadline,
			       struct cas_access *ret_access, struct fault *fault)
{
	struct cas_scope_state *state = &token->scopes[scope];
	{
		SCOPED_LOCK(&token->mutex);
		for (;;) {
			if (is_fresh(&state->access))
				return copy_access(&state->access, ret_access, fault);
			if (!state->is_fetching)
				break;
			if (!deadline_wait(&token->fetched, &token->mutex, deadline))
				return fault_set(fault, HFKV_TIMEOUT,
						 "CAS token: the deadline passed while it was being renewed");
		}
		state->is_fetching = true;
	}
	return renew(token, scope, deadline, ret_access, fault);
}

void cas_token_reject(struct cas_token *token, enum cas_scope scope, const struct cas_access *access)
{
	SCOPED_LOCK(&token->mutex);
	struct cas_access *known = &token->scopes[scope].access;
	if (known->token == access->token)
		cas_access_done(known);
}
