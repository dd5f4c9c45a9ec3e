#include "batch.h"

#include <stddef.h>
#include <string.h>

/* A key as the library wants it: UTF-8 without NUL. Borrowed from `key`. */
static const char *key_text(PyObject *key)
{
	Py_ssize_t length;
	const char *text = PyUnicode_AsUTF8AndSize(key, &length);
	if (text && strlen(text) != (size_t)length) {
		PyErr_SetString(PyExc_ValueError, "a key must not contain NUL");
		return NULL;
	}
	return text;
}

static int fill_keys(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		batch->items[i].key = key_text(PyTuple_GetItem(batch->keys, (Py_ssize_t)i));
		if (!batch->items[i].key)
			return -1;
	}
	return 0;
}

/* Takes an export of `object` and returns it, or NULL with an exception set. */
static Py_buffer *export_buffer(struct batch *batch, PyObject *object, enum batch_access access)
{
	Py_buffer *view = &batch->views[batch->view_count];
	if (PyObject_GetBuffer(object, view, access == BATCH_WRITES ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0)
		return NULL;
	batch->view_count++;
	return view;
}

static int fill_buffers(struct batch *batch, PyObject *buffers, int are_headers, enum batch_access access)
{
	if (!buffers || buffers == Py_None)
		return 0;
	if (PySequence_Size(buffers) != (Py_ssize_t)batch->count) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "there must be one buffer for each key");
		return -1;
	}
	for (size_t i = 0; i < batch->count; i++) {
		PyObject *object = PySequence_GetItem(buffers, (Py_ssize_t)i);
		if (!object)
			return -1;
		Py_buffer *view = object == Py_None ? NULL : export_buffer(batch, object, access);
		int is_missing = object == Py_None;
		Py_DecRef(object); /* the export holds it */
		if (is_missing)
			continue;
		if (!view)
			return -1;
		struct hfkv_item *item = &batch->items[i];
		*(are_headers ? &item->header : &item->data) = view->buf;
		*(are_headers ? &item->header_length : &item->length) = (uint64_t)view->len;
	}
	return 0;
}

struct batch *batch_new(PyObject *keys, PyObject *buffers, PyObject *headers, enum batch_access access, PyObject *owner)
{
	PyObject *tuple = PySequence_Tuple(keys);
	if (!tuple)
		return NULL;
	size_t count = (size_t)PyTuple_Size(tuple);
	struct batch *batch = PyMem_Calloc(1, sizeof(*batch) + count * sizeof(batch->items[0]));
	if (batch)
		batch->views = PyMem_Calloc(2 * count + 1, sizeof(*batch->views));
	if (!batch || !batch->views) {
		Py_DecRef(tuple);
		PyMem_Free(batch);
		PyErr_NoMemory();
		return NULL;
	}
	batch->keys = tuple;
	batch->count = count;
	batch->owner = owner ? owner : Py_None;
	Py_IncRef(batch->owner);
	if (fill_keys(batch) < 0 || fill_buffers(batch, buffers, 0, access) < 0 || fill_buffers(batch, headers, 1, access) < 0) {
		batch_free(batch);
		return NULL;
	}
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->view_count; i++)
		PyBuffer_Release(&batch->views[i]);
	PyMem_Free(batch->views);
	Py_DecRef(batch->keys);
	Py_DecRef(batch->owner);
	PyMem_Free(batch);
}

struct batch *batch_of_items(struct hfkv_item *items)
{
	return (struct batch *)(void *)((char *)items - offsetof(struct batch, items));
}

/* One byte an item, made by `value`. */
static PyObject *item_bytes(const struct batch *batch, int wants_is_new)
{
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)batch->count);
	char *text = bytes ? PyBytes_AsString(bytes) : NULL;
	for (size_t i = 0; text && i < batch->count; i++)
		text[i] = (char)(wants_is_new ? batch->items[i].is_new : (int)batch->items[i].status);
	return bytes;
}

static PyObject *item_sizes(const struct batch *batch)
{
	PyObject *sizes = PyList_New((Py_ssize_t)batch->count);
	for (size_t i = 0; sizes && i < batch->count; i++) {
		PyObject *size = PyLong_FromUnsignedLongLong(batch->items[i].bytes);
		if (!size || PyList_SetItem(sizes, (Py_ssize_t)i, size) < 0) {
			Py_DecRef(sizes);
			return NULL;
		}
	}
	return sizes;
}

PyObject *batch_outcome(const struct batch *batch, enum hfkv_status status, const char *text)
{
	/* "N" gives the reference away, and Py_BuildValue fails with the exception of a NULL among them. */
	return Py_BuildValue("(iNNNOs)", (int)status, item_bytes(batch, 0), item_sizes(batch), item_bytes(batch, 1),
			     batch->owner, text);
}

void batch_link(struct batch **list, struct batch *batch)
{
	batch->previous = NULL;
	batch->next = *list;
	if (*list)
		(*list)->previous = batch;
	*list = batch;
}

void batch_unlink(struct batch **list, struct batch *batch)
{
	if (batch->previous)
		batch->previous->next = batch->next;
	else
		*list = batch->next;
	if (batch->next)
		batch->next->previous = batch->previous;
}

PyObject *batch_free_all(struct batch **list)
{
	PyObject *owners = PyList_New(0);
	while (*list) {
		struct batch *batch = *list;
		batch_unlink(list, batch);
		if (owners && PyList_Append(owners, batch->owner) < 0) {
			Py_DecRef(owners);
			owners = NULL;
		}
		batch_free(batch);
	}
	return owners;
}
