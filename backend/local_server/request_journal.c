#include "backend/local_server/request_journal.h"

#include <string.h>

/* Every route shows in the counts, also before its first request. */
static const char *const routes[] = { "create-bucket",
				      "bucket-info",
				      "list-buckets",
				      "delete-bucket",
				      "tree",
				      "paths-info",
				      "batch",
				      "xet-read-token",
				      "xet-write-token",
				      "resolve",
				      "whoami",
				      "reconstruction-v1",
				      "reconstruction-v2",
				      "xorb-data",
				      "xorb-put",
				      "shard-v1",
				      "shard-v2",
				      "dedup-chunk",
				      "xorb-grant",
				      "other" };

struct journal_entry {
	const char *route;
	char method[8], range[96];
	char *target; /* owned */
	unsigned status;
};

struct request_journal {
	pthread_mutex_t mutex;
	uint64_t counts[ARRAY_LENGTH(routes)];
	struct journal_entry entries[REQUEST_JOURNAL_ENTRIES]; /* a ring */
	uint64_t added;
};

struct request_journal *request_journal_new(void)
{
	struct request_journal *journal = calloc(1, sizeof(*journal));
	if (journal)
		pthread_mutex_init(&journal->mutex, NULL);
	return journal;
}

void request_journal_free(struct request_journal *journal)
{
	if (!journal)
		return;
	for (size_t i = 0; i < REQUEST_JOURNAL_ENTRIES; i++)
		free(journal->entries[i].target);
	pthread_mutex_destroy(&journal->mutex);
	free(journal);
}

void request_journal_count(struct request_journal *journal, const char *route)
{
	SCOPED_LOCK(&journal->mutex);
	for (size_t i = 0; i < ARRAY_LENGTH(routes); i++)
		if (strcmp(routes[i], route) == 0)
			journal->counts[i]++;
}

void request_journal_add(struct request_journal *journal, const char *route, const char *method,
			 const char *target, const char *range, unsigned status)
{
	char *copy = strdup(target);
	if (!copy)
		return;
	SCOPED_LOCK(&journal->mutex);
	struct journal_entry *entry = &journal->entries[journal->added++ % REQUEST_JOURNAL_ENTRIES];
	free(entry->target);
	entry->target = copy;
	entry->route = route;
	entry->status = status;
	snprintf(entry->method, sizeof(entry->method), "%s", method);
	snprintf(entry->range, sizeof(entry->range), "%s", range ? range : "");
}

void request_journal_reset_counts(struct request_journal *journal)
{
	SCOPED_LOCK(&journal->mutex);
	memset(journal->counts, 0, sizeof(journal->counts));
}

void request_journal_write_counts(struct request_journal *journal, struct json_writer *json)
{
	SCOPED_LOCK(&journal->mutex);
	json_write_open(json, '{');
	for (size_t i = 0; i < ARRAY_LENGTH(routes); i++)
		json_write_uint_field(json, routes[i], journal->counts[i]);
	json_write_close(json, '}');
}

static void write_entry(const struct journal_entry *entry, struct json_writer *json)
{
	json_write_open(json, '{');
	json_write_text_field(json, "route", entry->route);
	json_write_text_field(json, "method", entry->method);
	json_write_text_field(json, "path", entry->target);
	json_write_key(json, "range");
	if (entry->range[0])
		json_write_text(json, entry->range);
	else
		json_write_null(json);
	json_write_uint_field(json, "status", entry->status);
	json_write_close(json, '}');
}

void request_journal_write_log(struct request_journal *journal, struct json_writer *json)
{
	SCOPED_LOCK(&journal->mutex);
	uint64_t first = journal->added > REQUEST_JOURNAL_ENTRIES ? journal->added - REQUEST_JOURNAL_ENTRIES : 0;
	json_write_open(json, '[');
	for (uint64_t i = first; i < journal->added; i++)
		write_entry(&journal->entries[i % REQUEST_JOURNAL_ENTRIES], json);
	json_write_close(json, ']');
}
