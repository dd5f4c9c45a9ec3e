/*
 * The contract on a bucket over HTTP.
 *
 *     contract_bucket server    HFKV_CONTRACT_ENDPOINT, HFKV_CONTRACT_BUCKET and a token (HF_TOKEN): a running
 * server contract_bucket live      HFKV_LIVE_BUCKET and a token: a real bucket of a person's, at HF_ENDPOINT or
 * the public Hub
 *
 * Without those settings it says so by name and ends with 77. Works inside one directory of its own and empties
 * it.
 */
#include "tests/contract/contract.h"

#include "backend/store/store_open.h"

#include <string.h>

#define EXIT_SKIPPED 77

static struct store_settings settings = { .create_bucket_if_missing = true };

static int open_bucket(void **state)
{
	struct object_store *store;
	struct fault fault = FAULT_NONE;
	if (store_open_hub(&settings, &store, &fault) != HFKV_OK) {
		fprintf(stderr, "%s\n", fault.text);
		return -1;
	}
	*state = contract_world_new(store);
	return *state ? 0 : -1;
}

static const char *setting(const char *name)
{
	const char *value = getenv(name);
	if (!value || !*value) {
		printf("skipped: %s is not set\n", name);
		exit(EXIT_SKIPPED);
	}
	return value;
}

int main(int argc, char **argv)
{
	bool live = argc == 2 && strcmp(argv[1], "live") == 0;
	if (!live && (argc != 2 || strcmp(argv[1], "server") != 0)) {
		fprintf(stderr, "usage: contract_bucket server|live\n");
		return 2;
	}
	if (!live)
		settings.endpoint = setting("HFKV_CONTRACT_ENDPOINT");
	settings.bucket = setting(live ? "HFKV_LIVE_BUCKET" : "HFKV_CONTRACT_BUCKET");
	setting("HF_TOKEN");
	settings.create_bucket_if_missing = !live;
	return contract_run(live ? "contract on a live bucket" : "contract on a bucket server", open_bucket);
}
