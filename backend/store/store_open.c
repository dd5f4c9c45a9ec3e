#include "backend/store/store_open.h"

#include "backend/store/hub_store.h"
#include "backend/store/memory_store.h"

enum hfkv_status store_open_memory(struct object_store **ret_store, struct fault *fault)
{
	return memory_store_new(ret_store, fault);
}

enum hfkv_status store_open_hub(const struct store_settings *settings, struct object_store **ret_store,
				struct fault *fault)
{
	return hub_store_new(settings, ret_store, fault);
}

enum hfkv_status store_reload_token(struct object_store *store, struct fault *fault)
{
	return hub_store_reload_token(store, fault);
}
