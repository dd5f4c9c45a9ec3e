/*
 * _hfkv.Connector: libhfkv's connector as a Python class.
 *
 * Calls that may block drop the GIL; submit, cancel and drain never block and keep it, so that the list of batches under
 * way needs no lock of its own.
 */
#include "handle_object.h"
#include "objects.h"

/* ---- open, close, list, ping ---- */

static enum hfkv_status open_handle(const struct hfkv_settings *settings, const struct hfkv_open_options *options,
				    void **ret_handle, struct hfkv_error *error)
{
	struct hfkv_connector *connector = NULL;
	enum hfkv_status status = hfkv_connector_open(settings, options, &connector, error);
	*ret_handle = connector;
	return status;
}

static void close_handle(void *handle)
{
	hfkv_connector_close(handle);
}

static enum hfkv_status list_keys(void *handle, hfkv_visit visit, void *context, int64_t timeout_ms,
				  struct hfkv_error *error)
{
	return hfkv_connector_list(handle, visit, context, timeout_ms, error);
}

static enum hfkv_status ping(void *handle, struct hfkv_error *error)
{
	return hfkv_connector_ping(handle, error);
}

static const struct handle_calls calls = { open_handle, close_handle, list_keys, ping };

static PyObject *connector_new(PyTypeObject *type, PyObject *positional, PyObject *named)
{
	return handle_object_new(type, positional, named, &calls);
}

/* ---- its own methods ---- */

/* -1 with ValueError for a number that is no operation. */
static int check_operation(int operation)
{
	if (operation >= HFKV_OP_EXISTS && operation <= HFKV_OP_REMOVE)
		return 0;
	PyErr_Format(PyExc_ValueError, "no operation %d", operation);
	return -1;
}

static enum batch_access access_of(int operation)
{
	return operation == HFKV_OP_GET ? BATCH_WRITES : BATCH_READS;
}

static PyObject *connector_run(PyObject *object, PyObject *positional, PyObject *named)
{
	static char *names[] = { "operation", "keys", "buffers", "headers", "timeout_ms", NULL };
	struct handle_object *self = (struct handle_object *)object;
	PyObject *keys, *buffers = Py_None, *headers = Py_None;
	int operation;
	long long timeout_ms = 0;
	if (!PyArg_ParseTupleAndKeywords(positional, named, "iO|OOL", names, &operation, &keys, &buffers, &headers,
					 &timeout_ms) ||
	    check_operation(operation) < 0)
		return NULL;
	struct batch *batch = batch_new(keys, buffers, headers, access_of(operation), Py_None);
	if (!batch || handle_gate_enter(&self->gate) < 0) {
		batch_free(batch);
		return NULL;
	}
	struct hfkv_error error = { 0 };
	enum hfkv_status status;
	Py_BEGIN_ALLOW_THREADS
	status = hfkv_connector_run(self->handle, (enum hfkv_operation)operation, batch->items, batch->count, timeout_ms,
				    &error);
	handle_gate_leave(&self->gate);
	Py_END_ALLOW_THREADS
	PyObject *outcome = batch_outcome(batch, status, status == HFKV_OK ? "" : error.text);
	batch_free(batch);
	return outcome;
}

static PyObject *connector_contains_prefix(PyObject *object, PyObject *positional)
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
	size_t count = 0;
	Py_BEGIN_ALLOW_THREADS
	status = hfkv_connector_contains_prefix(self->handle, batch->items, batch->count, timeout_ms, &count, &error);
	handle_gate_leave(&self->gate);
	Py_END_ALLOW_THREADS
	batch_free(batch);
	return status == HFKV_OK ? PyLong_FromSize_t(count) : handle_raise(status, &error);
}

static PyObject *connector_submit(PyObject *object, PyObject *positional, PyObject *named)
{
	static char *names[] = { "operation", "keys", "buffers", "headers", "owner", NULL };
	struct handle_object *self = (struct handle_object *)object;
	PyObject *keys, *buffers = Py_None, *headers = Py_None, *owner = Py_None;
	int operation;
	if (!PyArg_ParseTupleAndKeywords(positional, named, "iO|OOO", names, &operation, &keys, &buffers, &headers, &owner) ||
	    check_operation(operation) < 0)
		return NULL;
	struct batch *batch = batch_new(keys, buffers, headers, access_of(operation), owner);
	if (!batch || handle_gate_enter(&self->gate) < 0) {
		batch_free(batch);
		return NULL;
	}
	struct hfkv_error error = { 0 };
	uint64_t id = 0;
	batch_link(&self->under_way, batch);
	enum hfkv_status status = hfkv_connector_submit(self->handle, (enum hfkv_operation)operation, batch->items,
							batch->count, &id, &error);
	handle_gate_leave(&self->gate);
	if (status == HFKV_OK)
		return PyLong_FromUnsignedLongLong(id);
	batch_unlink(&self->under_way, batch);
	batch_free(batch);
	return handle_raise(status, &error);
}

static PyObject *connector_cancel(PyObject *object, PyObject *positional)
{
	struct handle_object *self = (struct handle_object *)object;
	unsigned long long id;
	if (!PyArg_ParseTuple(positional, "K", &id) || handle_gate_enter(&self->gate) < 0)
		return NULL;
	hfkv_connector_cancel(self->handle, id);
	handle_gate_leave(&self->gate);
	return Py_BuildValue("");
}

/* Appends (id, operation, outcome) and frees the batch, also when Python has no memory. */
static int append_completion(struct handle_object *self, PyObject *list, struct hfkv_completion *completion)
{
	struct batch *batch = batch_of_items(completion->items);
	batch_unlink(&self->under_way, batch);
	PyObject *entry = Py_BuildValue("(KiN)", (unsigned long long)completion->id, (int)completion->operation,
					batch_outcome(batch, completion->status, completion->text));
	batch_free(batch);
	int result = entry ? PyList_Append(list, entry) : -1;
	Py_DecRef(entry);
	return result;
}

#define DRAINED_AT_ONCE 32

static PyObject *connector_drain(PyObject *object, PyObject *unused)
{
	(void)unused;
	struct handle_object *self = (struct handle_object *)object;
	PyObject *list = PyList_New(0);
	if (!list || handle_gate_enter(&self->gate) < 0) {
		Py_DecRef(list);
		return NULL;
	}
	struct hfkv_completion completions[DRAINED_AT_ONCE];
	size_t count;
	int result = 0;
	do {
		count = hfkv_connector_drain(self->handle, completions, DRAINED_AT_ONCE);
		for (size_t i = 0; i < count; i++)
			if (append_completion(self, list, &completions[i]) < 0)
				result = -1;
	} while (count == DRAINED_AT_ONCE);
	handle_gate_leave(&self->gate);
	if (result == 0)
		return list;
	Py_DecRef(list);
	return NULL;
}

static PyObject *connector_event_fd(PyObject *object, PyObject *unused)
{
	(void)unused;
	struct handle_object *self = (struct handle_object *)object;
	if (handle_gate_enter(&self->gate) < 0)
		return NULL;
	int fd = hfkv_connector_event_fd(self->handle);
	handle_gate_leave(&self->gate);
	return PyLong_FromLong(fd);
}

static PyObject *connector_sizes(PyObject *object, PyObject *unused)
{
	(void)unused;
	struct handle_object *self = (struct handle_object *)object;
	if (handle_gate_enter(&self->gate) < 0)
		return NULL;
	unsigned long long chunk = hfkv_connector_chunk_bytes(self->handle);
	unsigned long long header = hfkv_connector_header_bytes(self->handle);
	handle_gate_leave(&self->gate);
	return Py_BuildValue("(KK)", chunk, header);
}

#define WITH_NAMES(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef connector_methods[] = {
	{ "run", WITH_NAMES(connector_run), METH_VARARGS | METH_KEYWORDS,
	  "run(operation, keys, buffers=None, headers=None, timeout_ms=0) -> outcome. Blocks." },
	{ "contains_prefix", connector_contains_prefix, METH_VARARGS,
	  "contains_prefix(keys, timeout_ms=0) -> how many of the first keys exist without a gap. Blocks." },
	{ "list", handle_object_list, METH_VARARGS, "list(timeout_ms=0) -> [(key, bytes), ...]. Blocks." },
	{ "ping", handle_object_ping, METH_NOARGS, "Raises unless the directory or bucket answers. Blocks up to 5 s." },
	{ "submit", WITH_NAMES(connector_submit), METH_VARARGS | METH_KEYWORDS,
	  "submit(operation, keys, buffers=None, headers=None, owner=None) -> id. Holds owner until the batch is done." },
	{ "cancel", connector_cancel, METH_VARARGS, "cancel(id): the batch still comes back, when nothing touches it any more." },
	{ "drain", connector_drain, METH_NOARGS, "drain() -> [(id, operation, outcome), ...]" },
	{ "event_fd", connector_event_fd, METH_NOARGS, "The descriptor that is readable while completions wait." },
	{ "sizes", connector_sizes, METH_NOARGS, "(tensor bytes of a full chunk, bytes of the metadata header); 0: unknown, none." },
	{ "close", handle_object_close, METH_NOARGS,
	  "close() -> owners of the batches that never came back. Afterwards nothing touches their memory. Blocks." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot connector_slots[] = {
	{ Py_tp_new, (void *)connector_new },
	{ Py_tp_dealloc, (void *)handle_object_dealloc },
	{ Py_tp_methods, connector_methods },
	{ Py_tp_doc, "KV chunks by LMCache key, in directories or a bucket. An outcome is (status, statuses, sizes, is_new, "
		     "owner, text), with one byte of `statuses` and one entry of `sizes` for each key." },
	{ 0, NULL },
};

static PyType_Spec connector_spec = {
	.name = "hfkv._hfkv.Connector",
	.basicsize = sizeof(struct handle_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = connector_slots,
};

PyObject *connector_type_new(void)
{
	return PyType_FromSpec(&connector_spec);
}
