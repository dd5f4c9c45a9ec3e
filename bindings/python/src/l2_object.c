/*
 * _hfkv.L2: libhfkv's L2 adapter core as a Python class. The GIL rule is connector_object.c's.
 */
#include "handle_object.h"
#include "objects.h"

/* ---- open, close, list, ping ---- */

static enum hfkv_status open_handle(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				    void **ret_handle, struct hfkv_error *error)
{
	struct hfkv_l2 *l2 = NULL;
	enum hfkv_status status = hfkv_l2_open(settings, options, &l2, error);
	*ret_handle = l2;
	return status;
}

static void close_handle(void *handle)
{
	hfkv_l2_close(handle);
}

static enum hfkv_status list_keys(void *handle, hfkv_visit visit, void *context, int64_t timeout_ms,
				  struct hfkv_error *error)
{
	return hfkv_l2_list(handle, visit, context, timeout_ms, error);
}

static enum hfkv_status ping(void *handle, struct hfkv_error *error)
{
	return hfkv_l2_ping(handle, error);
}

static const struct handle_calls calls = { open_handle, close_handle, list_keys, ping };

static PyObject *l2_new(PyTypeObject *type, PyObject *positional, PyObject *named)
{
	return handle_object_new(type, positional, named, &calls);
}

/* ---- its own methods ---- */

static int check_kind(int kind)
{
	if (kind >= 0 && kind < HFKV_L2_KINDS)
		return 0;
	PyErr_Format(PyExc_ValueError, "no kind of task %d", kind);
	return -1;
}

static PyObject *l2_event_fd(PyObject *object, PyObject *positional)
{
	struct handle_object *self = (struct handle_object *)object;
	int kind;
	if (!PyArg_ParseTuple(positional, "i", &kind) || check_kind(kind) < 0 || handle_gate_enter(&self->gate) < 0)
		return NULL;
	int fd = hfkv_l2_event_fd(self->handle, (enum hfkv_l2_kind)kind);
	handle_gate_leave(&self->gate);
	return PyLong_FromLong(fd);
}

static PyObject *l2_submit(PyObject *object, PyObject *positional, PyObject *named)
{
	static char *names[] = { "kind", "keys", "buffers", "owner", NULL };
	struct handle_object *self = (struct handle_object *)object;
	PyObject *keys, *buffers = Py_None, *owner = Py_None;
	int kind;
	if (!PyArg_ParseTupleAndKeywords(positional, named, "iO|OO", names, &kind, &keys, &buffers, &owner) ||
	    check_kind(kind) < 0)
		return NULL;
	struct batch *batch = batch_new(keys, buffers, Py_None, kind == HFKV_L2_LOAD ? BATCH_WRITES : BATCH_READS, owner);
	if (!batch || handle_gate_enter(&self->gate) < 0) {
		batch_free(batch);
		return NULL;
	}
	struct hfkv_error error = { 0 };
	uint64_t task = 0;
	batch_link(&self->under_way, batch);
	enum hfkv_status status = hfkv_l2_submit(self->handle, (enum hfkv_l2_kind)kind, batch->items, batch->count, &task,
						 &error);
	handle_gate_leave(&self->gate);
	if (status == HFKV_OK)
		return PyLong_FromUnsignedLongLong(task);
	batch_unlink(&self->under_way, batch);
	batch_free(batch);
	return handle_raise(status, &error);
}

/* (task, bytes, outcome), and the batch is freed. */
static PyObject *take_result(struct handle_object *self, struct hfkv_l2_result *result)
{
	struct batch *batch = batch_of_items(result->items);
	batch_unlink(&self->under_way, batch);
	PyObject *entry = Py_BuildValue("(KKN)", (unsigned long long)result->task, (unsigned long long)result->bytes,
					batch_outcome(batch, result->status, result->text));
	batch_free(batch);
	return entry;
}

static PyObject *l2_query(PyObject *object, PyObject *positional)
{
	struct handle_object *self = (struct handle_object *)object;
	int kind;
	unsigned long long task;
	if (!PyArg_ParseTuple(positional, "iK", &kind, &task) || check_kind(kind) < 0 || handle_gate_enter(&self->gate) < 0)
		return NULL;
	struct hfkv_l2_result result;
	enum hfkv_status status = hfkv_l2_query(self->handle, (enum hfkv_l2_kind)kind, task, &result);
	handle_gate_leave(&self->gate);
	return status == HFKV_OK ? take_result(self, &result) : Py_BuildValue("");
}

#define POPPED_AT_ONCE 16

static PyObject *l2_pop(PyObject *object, PyObject *positional)
{
	struct handle_object *self = (struct handle_object *)object;
	int kind;
	if (!PyArg_ParseTuple(positional, "i", &kind) || check_kind(kind) < 0)
		return NULL;
	PyObject *list = PyList_New(0);
	if (!list || handle_gate_enter(&self->gate) < 0) {
		Py_DecRef(list);
		return NULL;
	}
	struct hfkv_l2_result results[POPPED_AT_ONCE];
	size_t count;
	int is_whole = 1;
	do {
		count = hfkv_l2_pop(self->handle, (enum hfkv_l2_kind)kind, results, POPPED_AT_ONCE);
		for (size_t i = 0; i < count; i++) {
			PyObject *entry = take_result(self, &results[i]);
			if (!entry || PyList_Append(list, entry) < 0)
				is_whole = 0;
			Py_DecRef(entry);
		}
	} while (count == POPPED_AT_ONCE);
	handle_gate_leave(&self->gate);
	if (is_whole)
		return list;
	Py_DecRef(list);
	return NULL;
}

static PyObject *l2_unlock(PyObject *object, PyObject *keys)
{
	struct handle_object *self = (struct handle_object *)object;
	struct batch *batch = batch_new(keys, Py_None, Py_None, BATCH_READS, Py_None);
	const char **texts = batch ? PyMem_Calloc(batch->count + 1, sizeof(*texts)) : NULL;
	if (!texts || handle_gate_enter(&self->gate) < 0) {
		PyMem_Free(texts);
		batch_free(batch);
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	}
	for (size_t i = 0; i < batch->count; i++)
		texts[i] = batch->items[i].key;
	hfkv_l2_unlock(self->handle, texts, batch->count);
	handle_gate_leave(&self->gate);
	PyMem_Free(texts);
	batch_free(batch);
	return Py_BuildValue("");
}

static PyObject *l2_delete(PyObject *object, PyObject *positional)
{
	struct handle_object *self = (struct handle_object *)object;
	PyObject *keys;
	long long timeout_ms = 0;
	if (!PyArg_ParseTuple(positional, "O|L", &keys, &timeout_ms))
		return NULL;
	struct batch *batch = batch_new(keys, Py_None, Py_None, BATCH_READS, Py_None);
	if (!batch || handle_gate_enter(&self->gate) < 0) {
		batch_free(batch);
		return NULL;
	}
	struct hfkv_error error = { 0 };
	enum hfkv_status status;
	Py_BEGIN_ALLOW_THREADS
	status = hfkv_l2_delete(self->handle, batch->items, batch->count, timeout_ms, &error);
	handle_gate_leave(&self->gate);
	Py_END_ALLOW_THREADS
	PyObject *outcome = batch_outcome(batch, status, status == HFKV_OK ? "" : error.text);
	batch_free(batch);
	return outcome;
}

static PyObject *l2_usage(PyObject *object, PyObject *unused)
{
	(void)unused;
	struct handle_object *self = (struct handle_object *)object;
	if (handle_gate_enter(&self->gate) < 0)
		return NULL;
	struct hfkv_l2_usage usage;
	struct key_list salts = { 0 };
	hfkv_l2_usage_read(self->handle, &usage);
	enum hfkv_status status = hfkv_l2_usage_by_salt(self->handle, key_list_add, &salts);
	handle_gate_leave(&self->gate);
	if (status != HFKV_OK) {
		key_list_done(&salts);
		return handle_raise(status, NULL);
	}
	PyObject *by_salt = key_list_take(&salts);
	return Py_BuildValue("{sKsKsdsKsKsNsN}", "total_bytes", (unsigned long long)usage.total_bytes, "capacity_bytes",
			     (unsigned long long)usage.capacity_bytes, "fraction", usage.fraction, "keys",
			     (unsigned long long)usage.keys, "locked_keys", (unsigned long long)usage.locked_keys, "rebuilt",
			     PyBool_FromLong(usage.rebuilt), "by_salt", by_salt);
}

static PyMethodDef l2_methods[] = {
	{ "event_fd", l2_event_fd, METH_VARARGS, "event_fd(kind): readable when a task of that kind is done." },
	{ "submit", (PyCFunction)(void (*)(void))l2_submit, METH_VARARGS | METH_KEYWORDS,
	  "submit(kind, keys, buffers=None, owner=None) -> task. Holds owner until the result is popped." },
	{ "query", l2_query, METH_VARARGS, "query(kind, task) -> (task, bytes, outcome) once, None while it is not done." },
	{ "pop", l2_pop, METH_VARARGS, "pop(kind) -> [(task, bytes, outcome), ...] of all done tasks." },
	{ "unlock", l2_unlock, METH_O, "unlock(keys): takes one lock off each; never fails." },
	{ "delete", l2_delete, METH_VARARGS, "delete(keys, timeout_ms=0) -> outcome; locked keys are BUSY. Blocks." },
	{ "usage", l2_usage, METH_NOARGS, "usage() -> dict of totals and by_salt, [(salt, bytes), ...]." },
	{ "list", handle_object_list, METH_VARARGS, "list(timeout_ms=0) -> [(key, bytes), ...], oldest first. Blocks." },
	{ "ping", handle_object_ping, METH_NOARGS, "Raises unless the directory or bucket answers. Blocks up to 5 s." },
	{ "close", handle_object_close, METH_NOARGS, "close() -> owners of the tasks that never came back. Blocks." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot l2_slots[] = {
	{ Py_tp_new, (void *)l2_new },
	{ Py_tp_dealloc, (void *)handle_object_dealloc },
	{ Py_tp_methods, l2_methods },
	{ Py_tp_doc, "The core of LMCache's multi-process L2 adapter." },
	{ 0, NULL },
};

static PyType_Spec l2_spec = {
	.name = "hfkv._hfkv.L2",
	.basicsize = sizeof(struct handle_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = l2_slots,
};

PyObject *l2_type_new(void)
{
	return PyType_FromSpec(&l2_spec);
}
