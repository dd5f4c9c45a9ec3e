/*
 * hfkv kv bench: how fast a connector stores, looks up and loads random bodies, every byte verified.
 * Main thread only.
 */
#ifndef SRC_CLI_KV_BENCH_H
#define SRC_CLI_KV_BENCH_H

#include "hfkv/hfkv.h"

#include <stdbool.h>

struct kv_bench_plan {
	const struct hfkv_settings *settings;
	const struct hfkv_open_options *options;
	uint64_t body_bytes; /* of each key, header included */
	uint64_t keys;       /* of a round, as one batch */
	uint64_t rounds;     /* each with keys and bytes of its own */
	bool keep;           /* leave what was stored */
	bool json;
};

/* Runs the plan and prints the result to stdout: for each round a connector stores, and another one, opened
 * afterwards with nothing staged, looks up and loads. A body that comes back different is CORRUPT. */
enum hfkv_status kv_bench_run(const struct kv_bench_plan *plan, struct hfkv_error *error);

#endif
