/*
 * What reached the server: counts by route, and the last requests in order. Kept under test controls only.
 * Any thread.
 */
#ifndef BACKEND_LOCAL_SERVER_REQUEST_JOURNAL_H
#define BACKEND_LOCAL_SERVER_REQUEST_JOURNAL_H

#include "backend/local_server/json_writer.h"
#include "common/cleanup.h"

struct request_journal;

#define REQUEST_JOURNAL_ENTRIES 10000

struct request_journal *request_journal_new(void); /* NULL: no memory */
void request_journal_free(struct request_journal *journal);

/* Counts a request when its body has ended. `route`: static. */
void request_journal_count(struct request_journal *journal, const char *route);
/* Remembers it when its answer is decided; status 0: dropped without one. Texts are copied; `range` may be NULL.
 */
void request_journal_add(struct request_journal *journal, const char *route, const char *method,
			 const char *target, const char *range, unsigned status);
/* Forgets the counts (the log stays). */
void request_journal_reset_counts(struct request_journal *journal);

/* {"route": count, ...} */
void request_journal_write_counts(struct request_journal *journal, struct json_writer *json);
/* [{"route","method","path","range","status"}, ...], oldest first */
void request_journal_write_log(struct request_journal *journal, struct json_writer *json);

#endif
