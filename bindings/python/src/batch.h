/*
 * A batch of keys and buffers, as libhfkv takes it, made of Python objects.
 *
 * It holds what the library borrows until the batch is done: the key strings, a buffer export of each piece of memory, and
 * `owner`, any object of the caller (LMCache's MemoryObj list: a buffer export alone does not keep their memory).
 * It knows nothing of what is done with it. Every function needs the GIL.
 */
#ifndef HFKV_PYTHON_BATCH_H
#define HFKV_PYTHON_BATCH_H

#include "python_api.h"

#include "hfkv/hfkv.h"

struct batch {
	struct batch *previous, *next; /* of the handle's list of batches under way */
	PyObject *keys;                /* a tuple of str, whose UTF-8 the items borrow */
	PyObject *owner;
	Py_buffer *views;
	size_t view_count;
	size_t count;
	struct hfkv_item items[];
};

enum batch_access { BATCH_READS, BATCH_WRITES };

/* `keys` is a sequence of str; `buffers` and `headers` are None or sequences as long, of objects with the buffer protocol
 * (None entries allowed in headers). BATCH_WRITES wants them writable. NULL with an exception set. */
struct batch *batch_new(PyObject *keys, PyObject *buffers, PyObject *headers, enum batch_access access, PyObject *owner);

/* Releases the exports and references. NULL is fine. */
void batch_free(struct batch *batch);

/* The batch whose items the library handed back. */
struct batch *batch_of_items(struct hfkv_item *items);

/* (status, statuses as bytes, sizes as list of int, is_new as bytes, owner, text): what became of each item. New reference. */
PyObject *batch_outcome(const struct batch *batch, enum hfkv_status status, const char *text);

/* ---- the list of batches under way ---- */

void batch_link(struct batch **list, struct batch *batch);
void batch_unlink(struct batch **list, struct batch *batch);
/* Frees all of them; the owners come back as a new list, or NULL with an exception set. */
PyObject *batch_free_all(struct batch **list);

#endif
