#include "backend/store/store_open.h"

#include "backend/store/memory_store.h"

enum hfkv_status store_open_memory(struct object_store **ret_store, struct fault *fault)
{
	return memory_store_new(ret_store, fault);
}
