/* The classes of the module _hfkv, each made once by the module. New references, NULL with an exception set. */
#ifndef HFKV_PYTHON_OBJECTS_H
#define HFKV_PYTHON_OBJECTS_H

#include "python_api.h"

PyObject *connector_type_new(void);
PyObject *l2_type_new(void);

#endif
