/*
 * Wraps any object store and fails on command: for unit tests of the layers above.
 *
 *     struct object_store *store;
 *     fault_store_new(memory, &store, NULL);                                   owns `memory` from now on
 *     fault_store_add(store, &(struct fault_store_rule){
 *             .call = FAULT_STORE_PUT, .path_contains = "k3", .times = 1,
 *             .status = HFKV_UNAVAILABLE, .apply_first = 3 });                  3 objects land, then the batch
 * fails
 *
 * The first rule that fits a call decides it. It also counts the calls of each kind. Any thread.
 */
#ifndef BACKEND_STORE_FAULT_STORE_H
#define BACKEND_STORE_FAULT_STORE_H

#include "backend/store/object_store.h"

enum fault_store_call {
	FAULT_STORE_STAT,
	FAULT_STORE_LIST,
	FAULT_STORE_READ,
	FAULT_STORE_PUT,
	FAULT_STORE_DELETE,
	FAULT_STORE_RENAME,
	FAULT_STORE_PROBE,
	FAULT_STORE_CALL_COUNT
};

struct fault_store_rule {
	enum fault_store_call call;
	const char
	    *path_contains; /* some path of the call contains it; NULL: any call. Not for READ and PROBE. Copied */
	unsigned skip;      /* so many fitting calls pass first */
	unsigned times;     /* then so many are decided by this rule; 0: for ever */

	/* Runs first, without a lock; it may block, to hold a call under way. NULL: nothing. */
	void (*gate)(void *context);
	void *gate_context;

	enum hfkv_status status; /* what the call returns; OK: only the gate matters */
	size_t apply_first;      /* PUT, DELETE: so many items are done and OK, the others get `status` */
	bool after_work; /* everything is done, then `status` is returned: a lost answer that nobody looked into.
			  * Items of PUT, DELETE and STAT get `status` too */
	int64_t retry_after_ms; /* in the fault; 0: the fault says nothing */
};

/* On OK the new store owns `inner`. */
MUST_CHECK enum hfkv_status fault_store_new(struct object_store *inner, struct object_store **ret_store,
					    struct fault *fault);
/* Puts a rule behind the others; at most 32. NO_MEMORY beyond. */
MUST_CHECK enum hfkv_status fault_store_add(struct object_store *store, const struct fault_store_rule *rule);
/* Forgets every rule. */
void fault_store_clear(struct object_store *store);

/* Calls of one kind since the start, failed ones included. */
unsigned fault_store_calls(struct object_store *store, enum fault_store_call call);
/* Items (paths, objects) in those calls. */
unsigned fault_store_items(struct object_store *store, enum fault_store_call call);

#endif
