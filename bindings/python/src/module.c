/* The module hfkv._hfkv: libhfkv for Python, without a word of LMCache. */
#include "handle.h"
#include "objects.h"

static PyObject *module_version(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyUnicode_FromString(hfkv_version());
}

static PyMethodDef module_methods[] = {
	{ "version", module_version, METH_NOARGS, "The version of libhfkv." },
	{ NULL, NULL, 0, NULL },
};

/* 0, or -1 with an exception set. Gives `object` away. */
static int add(PyObject *module, const char *name, PyObject *object)
{
	if (!object)
		return -1;
	int result = PyModule_AddObjectRef(module, name, object);
	Py_DecRef(object);
	return result;
}

static int add_constants(PyObject *module)
{
	static const struct {
		const char *name;
		long value;
	} constants[] = {
		{ "EXISTS", HFKV_OP_EXISTS },
		{ "PUT", HFKV_OP_PUT },
		{ "GET", HFKV_OP_GET },
		{ "REMOVE", HFKV_OP_REMOVE },
		{ "STORE", HFKV_L2_STORE },
		{ "LOOKUP", HFKV_L2_LOOKUP },
		{ "LOAD", HFKV_L2_LOAD },
		{ "OK", HFKV_OK },
		{ "NOT_FOUND", HFKV_NOT_FOUND },
		{ "BUSY", HFKV_BUSY },
		{ "CANCELLED", HFKV_CANCELLED },
		{ "INVALID", HFKV_INVALID },
	};
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
			return -1;
	return 0;
}

static int add_status_names(PyObject *module)
{
	PyObject *names = PyTuple_New(HFKV_STATUS_COUNT);
	for (int status = 0; names && status < HFKV_STATUS_COUNT; status++) {
		PyObject *name = PyUnicode_FromString(hfkv_status_name((enum hfkv_status)status));
		if (!name || PyTuple_SetItem(names, status, name) < 0) {
			Py_DecRef(names);
			names = NULL;
		}
	}
	return add(module, "STATUS_NAMES", names);
}

static struct PyModuleDef module_definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "hfkv._hfkv",
	.m_doc = "libhfkv: KV chunks in Hugging Face buckets and directories.",
	.m_size = -1, /* one in a process: the exception type is shared */
	.m_methods = module_methods,
};

PyMODINIT_FUNC PyInit__hfkv(void);

PyMODINIT_FUNC PyInit__hfkv(void)
{
	PyObject *module = PyModule_Create(&module_definition);
	if (!module)
		return NULL;
	handle_error_type = PyErr_NewExceptionWithDoc("hfkv._hfkv.Error", "What libhfkv says about a failed call.",
						      PyExc_RuntimeError, NULL);
	Py_IncRef(handle_error_type);
	if (add(module, "Error", handle_error_type) < 0 || add(module, "Connector", connector_type_new()) < 0 ||
	    add(module, "L2", l2_type_new()) < 0 || add_constants(module) < 0 || add_status_names(module) < 0) {
		Py_DecRef(module);
		return NULL;
	}
	return module;
}
