#include "handle_object.h"

PyObject *handle_object_new(PyTypeObject *type, PyObject *positional, PyObject *named, const struct handle_calls *calls)
{
	struct handle_arguments arguments;
	if (handle_arguments_parse(positional, named, &arguments) < 0)
		return NULL;
	struct hfkv_error error = { 0 };
	void *handle = NULL;
	enum hfkv_status status;
	Py_BEGIN_ALLOW_THREADS
	status = calls->open(arguments.settings, &arguments.options, &handle, &error);
	handle_arguments_done(&arguments);
	Py_END_ALLOW_THREADS
	if (status != HFKV_OK)
		return handle_raise(status, &error);
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct handle_object *self = (struct handle_object *)allocate(type, 0);
	if (!self) {
		calls->close(handle);
		return NULL;
	}
	self->calls = calls;
	self->handle = handle;
	handle_gate_init(&self->gate);
	return (PyObject *)self;
}

/* Closes once; the owners of batches that never came back, or NULL with an exception set. */
static PyObject *close_handle(struct handle_object *self)
{
	int is_first;
	Py_BEGIN_ALLOW_THREADS
	is_first = handle_gate_close(&self->gate);
	if (is_first) {
		self->calls->close(self->handle);
		handle_gate_closed(&self->gate);
	}
	Py_END_ALLOW_THREADS
	if (!is_first)
		return PyList_New(0);
	self->handle = NULL;
	return batch_free_all(&self->under_way);
}

void handle_object_dealloc(PyObject *object)
{
	struct handle_object *self = (struct handle_object *)object;
	PyTypeObject *type = Py_TYPE(object);
	Py_DecRef(close_handle(self));
	PyErr_Clear();
	handle_gate_done(&self->gate);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DecRef((PyObject *)type);
}

PyObject *handle_object_close(PyObject *object, PyObject *unused)
{
	(void)unused;
	return close_handle((struct handle_object *)object);
}

PyObject *handle_object_list(PyObject *object, PyObject *positional)
{
	struct handle_object *self = (struct handle_object *)object;
	long long timeout_ms = 0;
	if (!PyArg_ParseTuple(positional, "|L", &timeout_ms) || handle_gate_enter(&self->gate) < 0)
		return NULL;
	struct hfkv_error error = { 0 };
	struct key_list list = { 0 };
	enum hfkv_status status;
	Py_BEGIN_ALLOW_THREADS
	status = self->calls->list(self->handle, key_list_add, &list, timeout_ms, &error);
	handle_gate_leave(&self->gate);
	Py_END_ALLOW_THREADS
	if (status == HFKV_OK)
		return key_list_take(&list);
	key_list_done(&list);
	return handle_raise(status, &error);
}

PyObject *handle_object_ping(PyObject *object, PyObject *unused)
{
	(void)unused;
	struct handle_object *self = (struct handle_object *)object;
	if (handle_gate_enter(&self->gate) < 0)
		return NULL;
	struct hfkv_error error = { 0 };
	enum hfkv_status status;
	Py_BEGIN_ALLOW_THREADS
	status = self->calls->ping(self->handle, &error);
	handle_gate_leave(&self->gate);
	Py_END_ALLOW_THREADS
	return status == HFKV_OK ? Py_BuildValue("") : handle_raise(status, &error);
}
