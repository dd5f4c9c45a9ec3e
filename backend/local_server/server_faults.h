/*
 * The server's test controls: told to, it misbehaves; asked, it says what reached it. Not part of normal service.
 *
 * Rules (PUT /_control/faults takes a JSON array of them; the first that applies to a request wins):
 *   which requests   "route": a route's name or "*"; "path_contains": text, looked for in the raw target and, for
 *                    batch and paths-info, in the body; "skip": so many first; "times": so many then (absent: all)
 *   instead          "status" with "headers" and "body"; "drop": "before_work" | "after_work" (closed unanswered)
 *   before           "delay_ms"
 *   on the answer    "stall_after_bytes" (so many body bytes, then silence), "cut_after_bytes" (then closed),
 *                    "flip_byte_at" (one body byte altered)
 *   in the work      "apply_first" (batch: so many operations, then `status`, 500 if absent); "reverse_order"
 *                    (tree, paths-info, multi-range data); "expire_tokens" (on a CAS call: 401; on a token call:
 *                    the token it gives out is refused later); "expire_urls" (on a data URL: 403; on a
 * reconstruction: its URLs are refused later) Each rule counts only the requests that reached it past the rules
 * before it.
 *
 * Any thread.
 */
#ifndef BACKEND_LOCAL_SERVER_SERVER_FAULTS_H
#define BACKEND_LOCAL_SERVER_SERVER_FAULTS_H

#include "common/byte_buf.h"
#include "common/cleanup.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server_faults;
struct fault_rule;

enum fault_drop { DROP_NEVER, DROP_BEFORE_WORK, DROP_AFTER_WORK };

/* What one request suffers. Numbers are -1 when not asked for. */
struct fault_plan {
	int status;                    /* 0: the work's own */
	const struct fault_rule *rule; /* for fault_plan_header and fault_plan_body; NULL: no rule applied */
	int64_t delay_ms, stall_after_bytes, cut_after_bytes, flip_byte_at, apply_first;
	enum fault_drop drop;
	bool expire_tokens, expire_urls, reverse_order;
};

MUST_CHECK enum hfkv_status server_faults_new(struct server_faults **ret_faults, struct fault *fault);
void server_faults_free(struct server_faults *faults);
DEFINE_CLEANUP(server_faults_free, struct server_faults *);

/* INVALID, with the words for the caller, when it is no array of rules. The old rules stay then. */
MUST_CHECK enum hfkv_status server_faults_set(struct server_faults *faults, const char *json, size_t length,
					      struct fault *fault);
void server_faults_clear(struct server_faults *faults);

/* Takes note of a request and says what it suffers. The plan keeps its rule alive until fault_plan_done. */
struct fault_plan server_faults_plan(struct server_faults *faults, const char *route, const char *target,
				     const struct byte_buf *body);
void fault_plan_done(struct fault_plan *plan);

/* The rule's header `index`; false when there are no more. And its body, "" when it has none. Borrowed. */
bool fault_plan_header(const struct fault_plan *plan, size_t index, const char **ret_name, const char **ret_value);
const char *fault_plan_body(const struct fault_plan *plan);

#endif
