#include "backend/local_server/server_keys.h"

#include "common/file_io.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES      32
#define MAC_BYTES      32
#define MAC_TEXT       (2 * MAC_BYTES + 1)
#define TOKEN_FILE_MAX 512

struct server_keys {
	struct secret *write_token, *read_token, *signing_key; /* the key as hex text */
};

static void to_hex(const uint8_t *bytes, size_t length, char *text)
{
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* ---- the files ---- */

static enum hfkv_status write_whole(int fd, const char *text, struct fault *fault)
{
	if (!file_io_write(fd, text, strlen(text)) || fsync(fd) < 0)
		return fault_set_errno(fault, errno, "cannot write a key file");
	return HFKV_OK;
}

/* Makes directory/name with a fresh random value: written aside and renamed, so that it is whole or absent. */
static enum hfkv_status make_key_file(int directory, const char *name, const char *prefix, struct fault *fault)
{
	uint8_t random[KEY_BYTES];
	char hex[2 * KEY_BYTES + 1], text[128], aside[64];
	if (RAND_bytes(random, sizeof(random)) != 1)
		return fault_set(fault, HFKV_IO, "no random numbers from the system");
	to_hex(random, sizeof(random), hex);
	snprintf(text, sizeof(text), "%s%s\n", prefix, hex);
	snprintf(aside, sizeof(aside), "%s.new", name);
	CLEANUP(close_fd)
	int fd = openat(directory, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fault_set_errno(fault, errno, "cannot make '%s'", name);
	enum hfkv_status status = write_whole(fd, text, fault);
	OPENSSL_cleanse(text, sizeof(text));
	OPENSSL_cleanse(hex, sizeof(hex));
	if (status != HFKV_OK)
		return status;
	if (renameat(directory, aside, directory, name) < 0 || fsync(directory) < 0)
		return fault_set_errno(fault, errno, "cannot make '%s'", name);
	return HFKV_OK;
}

static enum hfkv_status read_key_file(int directory, const char *name, struct secret **ret_secret,
				      struct fault *fault)
{
	CLEANUP(close_fd) int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? HFKV_NOT_FOUND : fault_set_errno(fault, errno, "cannot read '%s'", name);
	char text[TOKEN_FILE_MAX];
	ssize_t length = read(fd, text, sizeof(text) - 1);
	if (length < 0)
		return fault_set_errno(fault, errno, "cannot read '%s'", name);
	text[length] = '\0';
	size_t used = strcspn(text, " \t\r\n");
	struct secret *secret = used ? secret_new(text, used) : NULL;
	OPENSSL_cleanse(text, sizeof(text));
	if (!secret)
		return fault_set(fault, HFKV_CORRUPT,
				 "'%s' is empty: remove it, and the next start makes a new one", name);
	*ret_secret = secret;
	return HFKV_OK;
}

static enum hfkv_status load_key(int directory, const char *name, const char *prefix, struct secret **ret_secret,
				 struct fault *fault)
{
	enum hfkv_status status = read_key_file(directory, name, ret_secret, fault);
	if (status != HFKV_NOT_FOUND)
		return status;
	status = make_key_file(directory, name, prefix, fault);
	return status == HFKV_OK ? read_key_file(directory, name, ret_secret, fault) : status;
}

enum hfkv_status server_keys_open(const char *directory, struct server_keys **ret_keys, struct fault *fault)
{
	CLEANUP(close_fd) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_set_errno(fault, errno, "cannot open '%s'", directory);
	CLEANUP(server_keys_freep) struct server_keys *keys = calloc(1, sizeof(*keys));
	if (!keys)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for keys");
	enum hfkv_status status = load_key(fd, "write-token", "hf_local_write_", &keys->write_token, fault);
	if (status == HFKV_OK)
		status = load_key(fd, "read-token", "hf_local_read_", &keys->read_token, fault);
	if (status == HFKV_OK)
		status = load_key(fd, "signing-key", "", &keys->signing_key, fault);
	if (status != HFKV_OK) {
		fault_add_context(fault, "'%s'", directory);
		return status;
	}
	*ret_keys = TAKE_PTR(keys);
	return HFKV_OK;
}

void server_keys_free(struct server_keys *keys)
{
	if (!keys)
		return;
	secret_unref(keys->write_token);
	secret_unref(keys->read_token);
	secret_unref(keys->signing_key);
	free(keys);
}

const struct secret *server_keys_write_token(const struct server_keys *keys)
{
	return keys->write_token;
}

static bool is_secret(const struct secret *secret, const char *text)
{
	size_t length = strlen(text);
	return length == secret_length(secret) && CRYPTO_memcmp(secret_reveal(secret), text, length) == 0;
}

enum server_right server_keys_hub_right(const struct server_keys *keys, const char *token)
{
	if (is_secret(keys->write_token, token))
		return RIGHT_WRITE;
	return is_secret(keys->read_token, token) ? RIGHT_READ : RIGHT_NONE;
}

/* ---- signatures ---- */

static void sign(const struct server_keys *keys, const char *text, char ret_mac[MAC_TEXT])
{
	uint8_t mac[EVP_MAX_MD_SIZE] = { 0 };
	unsigned length = 0;
	HMAC(EVP_sha256(), secret_reveal(keys->signing_key), (int)secret_length(keys->signing_key),
	     (const uint8_t *)text, strlen(text), mac, &length);
	to_hex(mac, MAC_BYTES, ret_mac);
}

static bool mac_equal(const char *a, const char *b)
{
	return strlen(b) == MAC_TEXT - 1 && CRYPTO_memcmp(a, b, MAC_TEXT - 1) == 0;
}

/* "cas1.<r|w>.<bucket>.<end>" is signed; the token is that, a dot, the signature. */
void server_keys_make_cas_token(const struct server_keys *keys, const struct cas_grant *grant,
				char ret_token[CAS_TOKEN_BYTES])
{
	char claim[80], mac[MAC_TEXT];
	snprintf(claim, sizeof(claim), "cas1.%c.%" PRId64 ".%" PRId64, grant->right == RIGHT_WRITE ? 'w' : 'r',
		 grant->bucket, grant->expires_at_s);
	sign(keys, claim, mac);
	snprintf(ret_token, CAS_TOKEN_BYTES, "%s.%s", claim, mac);
}

bool server_keys_read_cas_token(const struct server_keys *keys, const char *token, struct cas_grant *ret_grant)
{
	const char *dot = strrchr(token, '.');
	char claim[80], mac[MAC_TEXT], right;
	size_t length = dot ? (size_t)(dot - token) : 0;
	if (length == 0 || length >= sizeof(claim))
		return false;
	memcpy(claim, token, length);
	claim[length] = '\0';
	sign(keys, claim, mac);
	if (!mac_equal(mac, dot + 1))
		return false;
	if (sscanf(claim, "cas1.%c.%" SCNd64 ".%" SCNd64, &right, &ret_grant->bucket, &ret_grant->expires_at_s) !=
	    3)
		return false;
	ret_grant->right = right == 'w' ? RIGHT_WRITE : RIGHT_READ;
	return true;
}

bool server_keys_sign_url(const struct server_keys *keys, const struct content_hash *xorb, const char *ranges,
			  int64_t expires_at_s, char ret_signature[URL_SIGNATURE_BYTES])
{
	char hash[CONTENT_HASH_TEXT_BYTES], text[URL_RANGES_BYTES + 128];
	if (strlen(ranges) >= URL_RANGES_BYTES)
		return false;
	content_hash_format(xorb, hash);
	snprintf(text, sizeof(text), "url1\n%s\n%s\n%" PRId64, hash, ranges, expires_at_s);
	sign(keys, text, ret_signature);
	return true;
}

bool server_keys_check_url(const struct server_keys *keys, const struct content_hash *xorb, const char *ranges,
			   int64_t expires_at_s, const char *signature)
{
	char expected[URL_SIGNATURE_BYTES];
	return server_keys_sign_url(keys, xorb, ranges, expires_at_s, expected) && mac_equal(expected, signature);
}
