/*
 * A token that cannot be printed by mistake.
 *
 * The bytes are reachable only through secret_reveal, which is easy to search for; `struct secret` holds
 * them in memory that is wiped on release and excluded from core dumps. Immutable after creation and
 * reference counted; any thread.
 */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include "common/cleanup.h"

#include <stddef.h>

struct secret;

/* A copy of text[0..length); NULL when there is no memory. The caller holds one reference. */
struct secret *secret_new(const char *text, size_t length);
struct secret *secret_ref(struct secret *secret);
void secret_unref(struct secret *secret);
DEFINE_CLEANUP(secret_unref, struct secret *);

/* The NUL-terminated token, borrowed while the reference is held. For request headers and comparisons only. */
const char *secret_reveal(const struct secret *secret);
size_t secret_length(const struct secret *secret);

#endif
