/* Python's C API, limited to what every Python from 3.11 on has (the buffer protocol joined it there). */
#ifndef HFKV_PYTHON_API_H
#define HFKV_PYTHON_API_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#endif
