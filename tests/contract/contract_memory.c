/* The contract on the memory store. */
#include "tests/contract/contract.h"

#include "backend/store/memory_store.h"

static int open_memory(void **state)
{
	struct object_store *store;
	if (memory_store_new(&store, NULL) != HFKV_OK)
		return -1;
	*state = contract_world_new(store);
	return *state ? 0 : -1;
}

int main(void)
{
	return contract_run("contract on the memory store", open_memory);
}
