/*
 * A complete object store in this process's memory, for unit tests of the layers above.
 *
 * Not for users: nothing is kept, and nothing bounds it but memory. Content is named by its SHA-256, not by a Xet
 * hash, so a hash from here means nothing elsewhere; the empty object has the zero hash as everywhere. Content
 * stays readable by (hash, size) after its name was overwritten or removed, as in a CAS. It never waits.
 */
#ifndef BACKEND_STORE_MEMORY_STORE_H
#define BACKEND_STORE_MEMORY_STORE_H

#include "backend/store/object_store.h"

MUST_CHECK enum hfkv_status memory_store_new(struct object_store **ret_store, struct fault *fault);

#endif
