#include "src/connector/usage_ledger.h"

#include <stdatomic.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#define SALT_FIELD 4

struct salt_usage {
	uint64_t bytes;
	size_t keys;
	UT_hash_handle hh;
	char salt[];
};

struct ledger_entry {
	uint64_t bytes;
	uint64_t seen_at; /* the moment when it was last noted or touched */
	struct salt_usage *salt;
	struct ledger_entry *prev, *next; /* utlist's names; the head is the least recently used */
	UT_hash_handle hh;
	char key[];
};

struct usage_ledger {
	size_t max_keys;
	uint64_t total_bytes;
	atomic_uint_fast64_t moment;  /* counts what was seen */
	struct ledger_entry *entries; /* hash */
	struct ledger_entry *oldest;  /* list */
	struct salt_usage *salts;     /* hash; none without keys */
};

struct usage_ledger *usage_ledger_new(size_t max_keys)
{
	struct usage_ledger *ledger = calloc(1, sizeof(*ledger));
	if (ledger)
		ledger->max_keys = max_keys;
	return ledger;
}

/* The part after the fourth @ of an MP key, "" when there is none. */
static const char *salt_of(const char *key)
{
	for (int field = 0; field < SALT_FIELD; field++) {
		key = strchr(key, '@');
		if (!key)
			return "";
		key++;
	}
	return key;
}

static struct salt_usage *salt_for(struct usage_ledger *ledger, const char *salt)
{
	struct salt_usage *usage;
	HASH_FIND_STR(ledger->salts, salt, usage);
	if (usage)
		return usage;
	size_t length = strlen(salt);
	usage = calloc(1, sizeof(*usage) + length + 1);
	if (!usage)
		return NULL;
	memcpy(usage->salt, salt, length + 1);
	HASH_ADD_KEYPTR(hh, ledger->salts, usage->salt, length, usage);
	return usage;
}

static void remove_entry(struct usage_ledger *ledger, struct ledger_entry *entry)
{
	ledger->total_bytes -= entry->bytes;
	entry->salt->bytes -= entry->bytes;
	if (--entry->salt->keys == 0) {
		HASH_DEL(ledger->salts, entry->salt);
		free(entry->salt);
	}
	DL_DELETE(ledger->oldest, entry);
	HASH_DEL(ledger->entries, entry);
	free(entry);
}

void usage_ledger_free(struct usage_ledger *ledger)
{
	if (!ledger)
		return;
	while (ledger->oldest)
		remove_entry(ledger, ledger->oldest);
	free(ledger);
}

static struct ledger_entry *find(const struct usage_ledger *ledger, const char *key)
{
	struct ledger_entry *entry;
	HASH_FIND_STR(ledger->entries, key, entry);
	return entry;
}

static void mark_seen(struct usage_ledger *ledger, struct ledger_entry *entry)
{
	entry->seen_at = atomic_fetch_add(&ledger->moment, 1) + 1;
}

/* A new entry, in the hash but in no place of the list yet. NULL: no memory, and then the key is not counted. */
static struct ledger_entry *add_entry(struct usage_ledger *ledger, const char *key, uint64_t bytes)
{
	size_t length = strlen(key);
	struct ledger_entry *entry = calloc(1, sizeof(*entry) + length + 1);
	if (!entry)
		return NULL;
	entry->salt = salt_for(ledger, salt_of(key));
	if (!entry->salt) {
		free(entry);
		return NULL;
	}
	memcpy(entry->key, key, length + 1);
	entry->bytes = bytes;
	mark_seen(ledger, entry);
	entry->salt->keys++;
	entry->salt->bytes += bytes;
	ledger->total_bytes += bytes;
	HASH_ADD_KEYPTR(hh, ledger->entries, entry->key, length, entry);
	return entry;
}

static void make_newest(struct usage_ledger *ledger, struct ledger_entry *entry)
{
	mark_seen(ledger, entry);
	DL_DELETE(ledger->oldest, entry);
	DL_APPEND(ledger->oldest, entry);
}

bool usage_ledger_note(struct usage_ledger *ledger, const char *key, uint64_t bytes)
{
	struct ledger_entry *entry = find(ledger, key);
	if (entry) {
		ledger->total_bytes += bytes - entry->bytes;
		entry->salt->bytes += bytes - entry->bytes;
		entry->bytes = bytes;
		make_newest(ledger, entry);
		return false;
	}
	if (HASH_COUNT(ledger->entries) >= ledger->max_keys)
		remove_entry(ledger, ledger->oldest);
	entry = add_entry(ledger, key, bytes);
	if (entry)
		DL_APPEND(ledger->oldest, entry);
	return true;
}

bool usage_ledger_note_oldest(struct usage_ledger *ledger, const char *key, uint64_t bytes)
{
	if (find(ledger, key))
		return false;
	if (HASH_COUNT(ledger->entries) >= ledger->max_keys)
		return false;
	struct ledger_entry *entry = add_entry(ledger, key, bytes);
	if (entry)
		DL_PREPEND(ledger->oldest, entry);
	return entry != NULL;
}

bool usage_ledger_touch(struct usage_ledger *ledger, const char *key)
{
	struct ledger_entry *entry = find(ledger, key);
	if (entry)
		make_newest(ledger, entry);
	return entry != NULL;
}

uint64_t usage_ledger_moment(const struct usage_ledger *ledger)
{
	return atomic_load(&ledger->moment);
}

uint64_t usage_ledger_forget(struct usage_ledger *ledger, const char *key, uint64_t since)
{
	struct ledger_entry *entry = find(ledger, key);
	if (!entry || entry->seen_at > since)
		return 0;
	uint64_t bytes = entry->bytes;
	remove_entry(ledger, entry);
	return bytes;
}

uint64_t usage_ledger_total_bytes(const struct usage_ledger *ledger)
{
	return ledger->total_bytes;
}

size_t usage_ledger_key_count(const struct usage_ledger *ledger)
{
	return HASH_COUNT(ledger->entries);
}

enum hfkv_status usage_ledger_visit_keys(const struct usage_ledger *ledger, hfkv_visit visit, void *context)
{
	const struct ledger_entry *entry;
	DL_FOREACH(ledger->oldest, entry)
	{
		enum hfkv_status status = visit(context, entry->key, entry->bytes);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

enum hfkv_status usage_ledger_visit_salts(const struct usage_ledger *ledger, hfkv_visit visit, void *context)
{
	const struct salt_usage *usage, *next;
	HASH_ITER(hh, ledger->salts, usage, next)
	{
		enum hfkv_status status = visit(context, usage->salt, usage->bytes);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}
