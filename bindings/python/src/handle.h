/*
 * What the Python classes over libhfkv's handles share: opening from settings text, the exception, and the gate that keeps
 * a handle open while calls without the GIL are inside it.
 */
#ifndef HFKV_PYTHON_HANDLE_H
#define HFKV_PYTHON_HANDLE_H

#include "python_api.h"

#include "hfkv/hfkv.h"

#include <pthread.h>

/* _hfkv.Error: str() is the library's line; .status is the number of the status, .name its name, .http_status. Owned by
 * the module for the life of the process. */
extern PyObject *handle_error_type;

/* Raises handle_error_type and returns NULL. `error` may be empty: the status's name is the text then. */
PyObject *handle_raise(enum hfkv_status status, const struct hfkv_error *error);

/* ---- opening ---- */

struct handle_arguments {
	struct hfkv_settings *settings;   /* freed with handle_arguments_done */
	struct hfkv_open_options options; /* borrows from the call's arguments */
};

/* Parses (text, *, format="json", plugin_name=None, chunk_bytes=0, header_groups=0, without_own_evictor=False,
 * literal_token_refused=False, endpoint=None, token_env=None, token_file=None, ca_file=None, timeout_ms=0).
 * -1 with an exception set. */
int handle_arguments_parse(PyObject *positional, PyObject *named, struct handle_arguments *ret_arguments);
void handle_arguments_done(struct handle_arguments *arguments);

/* ---- the gate ---- */

struct handle_gate {
	pthread_mutex_t mutex;
	pthread_cond_t is_idle; /* or done */
	int inside;
	int is_closed;
	int is_done; /* the handle is closed */
};

void handle_gate_init(struct handle_gate *gate);
void handle_gate_done(struct handle_gate *gate);
/* 0 and inside, or -1 with ValueError set because the handle is closed. Needs the GIL. */
int handle_gate_enter(struct handle_gate *gate);
void handle_gate_leave(struct handle_gate *gate);
/* Lets nobody in any more and waits until those inside have left. 1 for the first caller, who closes the handle and says
 * so with handle_gate_closed; later ones get 0 once it did. Call without the GIL. */
int handle_gate_close(struct handle_gate *gate);
void handle_gate_closed(struct handle_gate *gate);

/* ---- lists collected without the GIL ---- */

struct key_list {
	char **keys;
	uint64_t *sizes;
	size_t count, capacity;
};

/* A hfkv_visit over a struct key_list. */
enum hfkv_status key_list_add(void *context, const char *key, uint64_t bytes);
/* [(key, bytes), ...] or NULL with an exception set; frees the content either way. Needs the GIL. */
PyObject *key_list_take(struct key_list *list);
void key_list_done(struct key_list *list);

#endif
