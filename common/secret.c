#include "common/secret.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

struct secret {
	atomic_int references;
	size_t mapped_bytes;
	size_t length;
	char text[];
};

/* A mapping of its own, so that MADV_DONTDUMP covers the token and nothing else. */
struct secret *secret_new(const char *text, size_t length)
{
	size_t bytes = sizeof(struct secret) + length + 1;
	struct secret *secret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (secret == MAP_FAILED)
		return NULL;
	madvise(secret, bytes, MADV_DONTDUMP);
	atomic_init(&secret->references, 1);
	secret->mapped_bytes = bytes;
	secret->length = length;
	memcpy(secret->text, text, length);
	return secret;
}

struct secret *secret_ref(struct secret *secret)
{
	if (secret)
		atomic_fetch_add(&secret->references, 1);
	return secret;
}

void secret_unref(struct secret *secret)
{
	if (!secret || atomic_fetch_sub(&secret->references, 1) != 1)
		return;
	size_t bytes = secret->mapped_bytes;
	explicit_bzero(secret, bytes);
	munmap(secret, bytes);
}

const char *secret_reveal(const struct secret *secret)
{
	return secret->text;
}

size_t secret_length(const struct secret *secret)
{
	return secret->length;
}
