/*
 * What both Python classes over a handle of libhfkv do alike: open, close, list the keys, ping.
 *
 * The gate lets calls without the GIL finish before the handle is closed; the batches under way are only touched with
 * the GIL. A class adds its own methods, between handle_gate_enter and handle_gate_leave.
 */
#ifndef HFKV_PYTHON_HANDLE_OBJECT_H
#define HFKV_PYTHON_HANDLE_OBJECT_H

#include "batch.h"
#include "handle.h"

/* The library's calls of one kind of handle. All run without the GIL. */
struct handle_calls {
	enum hfkv_status (*open)(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				 void **ret_handle, struct hfkv_error *error);
	void (*close)(void *handle);
	enum hfkv_status (*list)(void *handle, hfkv_visit visit, void *context, int64_t timeout_ms,
				 struct hfkv_error *error);
	enum hfkv_status (*ping)(void *handle, struct hfkv_error *error);
};

struct handle_object {
	PyObject_HEAD
	const struct handle_calls *calls;
	void *handle;
	struct handle_gate gate;
	struct batch *under_way;
};

/* tp_new of a class: arguments as handle_arguments_parse. */
PyObject *handle_object_new(PyTypeObject *type, PyObject *positional, PyObject *named, const struct handle_calls *calls);
/* tp_dealloc. */
void handle_object_dealloc(PyObject *object);

/* Methods. close() closes once: the owners of batches that never came back. */
PyObject *handle_object_close(PyObject *object, PyObject *unused);
PyObject *handle_object_list(PyObject *object, PyObject *positional);
PyObject *handle_object_ping(PyObject *object, PyObject *unused);

#endif
