/*
 * A CAS inside a test: keeps xorbs and shards in memory, checks what it takes in as the service does, answers
 * reconstructions and ranges, and misbehaves on demand. Not a server for anything else.
 */
#ifndef TESTS_UNIT_BACKEND_CAS_FAKE_CAS_H
#define TESTS_UNIT_BACKEND_CAS_FAKE_CAS_H

#include "backend/cas/cas_client.h"

/* How to misbehave. Set before a call, read by the server's threads under its lock. Counts go down as they are
 * used. */
struct fake_cas_faults {
	bool v1_only;           /* v2 paths are 404 */
	unsigned reject_tokens; /* so many authorized calls get 401 */
	unsigned expire_urls;   /* so many data requests get 403 */
	unsigned cut_bodies;    /* so many data bodies end in the middle */
	unsigned fail_calls;    /* so many calls other than for data get 503 */
	unsigned flip_bytes;    /* so many data bodies have one byte changed */
	unsigned retry_shards;  /* so many shard calls end with a retryable error line */
	unsigned silent_shards; /* so many shard calls end without a last line */
	bool refuse_shards;     /* shard calls end with an error line */
	bool drop_fetch_info;   /* reconstructions without any range to fetch */
	bool move_ranges;       /* reconstructions after the first name other ranges */
};

struct fake_cas_counts {
	unsigned token_fetches, xorb_puts, shard_puts, plans_v1, plans_v2, data_gets, data_bytes,
	    with_auth_on_data;
};

struct fake_cas;

struct fake_cas *fake_cas_start(void);
void fake_cas_stop(struct fake_cas *cas);

/* A client of it, with tokens that it takes. */
struct cas_client *fake_cas_client(struct fake_cas *cas, struct http_client *http);

void fake_cas_set_faults(struct fake_cas *cas, struct fake_cas_faults faults);
/* What happened since the last reset. */
struct fake_cas_counts fake_cas_counts(struct fake_cas *cas);
void fake_cas_reset_counts(struct fake_cas *cas);
/* Seconds that tokens are given out for; 3600 at first. */
void fake_cas_set_token_seconds(struct fake_cas *cas, int64_t seconds);
/* Makes reconstructions cut at most this many chunks into one term; 0: no limit. For many fetches in one plan. */
void fake_cas_set_term_chunks(struct fake_cas *cas, uint32_t chunks);

uint32_t fake_cas_xorb_count(struct fake_cas *cas);
/* Whether a shard has registered the file. */
bool fake_cas_has_file(struct fake_cas *cas, const struct content_hash *file);

#endif
