#include "src/cli/kv_bench.h"

#include "common/cleanup.h"
#include "src/cli/object_report.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

DEFINE_CLEANUP(hfkv_connector_close, struct hfkv_connector *);

enum bench_step { STEP_STORE, STEP_LOOKUP, STEP_LOAD, STEP_COUNT };

/* One round's keys and bytes; the key text lies in `names`. */
struct bench_round {
	char (*names)[96];
	uint8_t *bytes, *back;
	struct hfkv_item *items;
};

static void round_done(struct bench_round *round)
{
	free(round->names);
	free(round->bytes);
	free(round->back);
	free(round->items);
}

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

static enum hfkv_status fail_with(struct hfkv_error *error, enum hfkv_status status, const char *text)
{
	error->status = status;
	snprintf(error->text, sizeof(error->text), "%s", text);
	return status;
}

/* Fast bytes that nothing compresses (xorshift64*), from a seed that the kernel gives. */
static void fill_random(uint8_t *bytes, uint64_t length)
{
	uint64_t state = 0;
	while (state == 0)
		if (getrandom(&state, sizeof(state), 0) != sizeof(state))
			state = (uint64_t)(now_ms() * 1e6) | 1;
	for (uint64_t at = 0; at < length; at += sizeof(state)) {
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		uint64_t value = state * 0x2545f4914f6cdd1dULL;
		uint64_t left = length - at;
		memcpy(bytes + at, &value, left < sizeof(value) ? left : sizeof(value));
	}
}

/* LMCache's header where bodies carry one: only its first word, the length of the data, has a meaning here. */
static void put_header(uint8_t *body, uint64_t header_bytes, uint64_t body_bytes)
{
	if (header_bytes == 0)
		return;
	int32_t length = (int32_t)(body_bytes - header_bytes);
	memset(body, 0, header_bytes);
	memcpy(body, &length, sizeof(length));
}

static void name_keys(const struct kv_bench_plan *plan, struct bench_round *round)
{
	uint64_t tag = 0;
	fill_random((uint8_t *)&tag, sizeof(tag));
	bool is_mp = hfkv_settings_is_l2(plan->settings);
	for (uint64_t i = 0; i < plan->keys; i++)
		snprintf(round->names[i], sizeof(round->names[i]), "hfkv-bench@%s@0@%016llx%04llx%s",
			 is_mp ? "00000001" : "1", (unsigned long long)(tag | 1ULL << 63), (unsigned long long)i,
			 is_mp ? "" : "@uint8");
}

static enum hfkv_status make_round(const struct kv_bench_plan *plan, uint64_t header_bytes,
				   struct bench_round *round, struct hfkv_error *error)
{
	round->names = calloc(plan->keys, sizeof(*round->names));
	round->items = calloc(plan->keys, sizeof(*round->items));
	uint64_t total;
	if (__builtin_mul_overflow(plan->keys, plan->body_bytes, &total))
		return fail_with(error, HFKV_INVALID, "bench: count times size is too much");
	round->bytes = malloc(total);
	round->back = malloc(total);
	if (!round->names || !round->items || !round->bytes || !round->back)
		return fail_with(error, HFKV_NO_MEMORY,
				 "bench: not enough memory for one round; take fewer or smaller keys");
	name_keys(plan, round);
	fill_random(round->bytes, total);
	memset(round->back, 0, total); /* touched: the first writer does not pay for the pages */
	for (uint64_t i = 0; i < plan->keys; i++)
		put_header(round->bytes + i * plan->body_bytes, header_bytes, plan->body_bytes);
	return HFKV_OK;
}

static void aim_items(const struct kv_bench_plan *plan, struct bench_round *round, uint8_t *memory)
{
	for (uint64_t i = 0; i < plan->keys; i++)
		round->items[i] = (struct hfkv_item){ .key = round->names[i],
						      .data = memory + i * plan->body_bytes,
						      .length = plan->body_bytes };
}

/* Runs one step and checks that every key came out OK. *ret_ms: how long it took. */
static enum hfkv_status run_step(const struct kv_bench_plan *plan, struct hfkv_connector *connector,
				 enum bench_step step, struct bench_round *round, double *ret_ms,
				 struct hfkv_error *error)
{
	static const enum hfkv_operation operations[] = { HFKV_OP_PUT, HFKV_OP_EXISTS, HFKV_OP_GET };
	aim_items(plan, round, step == STEP_STORE ? round->bytes : round->back);
	double start = now_ms();
	enum hfkv_status status =
	    hfkv_connector_run(connector, operations[step], round->items, plan->keys, 0, error);
	*ret_ms = now_ms() - start;
	for (uint64_t i = 0; status == HFKV_OK && i < plan->keys; i++)
		if (round->items[i].status != HFKV_OK)
			return fail_with(error, HFKV_CORRUPT, "bench: a key that was stored was not found again");
	return status;
}

static enum hfkv_status run_round(const struct kv_bench_plan *plan, double times_ms[STEP_COUNT],
				  struct hfkv_error *error)
{
	CLEANUP(hfkv_connector_closep) struct hfkv_connector *writer = NULL;
	CLEANUP(hfkv_connector_closep) struct hfkv_connector *reader = NULL;
	CLEANUP(round_done) struct bench_round round = { 0 };
	enum hfkv_status status = hfkv_connector_open(plan->settings, plan->options, &writer, error);
	if (status == HFKV_OK)
		status = make_round(plan, hfkv_connector_header_bytes(writer), &round, error);
	if (status == HFKV_OK)
		status = run_step(plan, writer, STEP_STORE, &round, &times_ms[STEP_STORE], error);
	if (status == HFKV_OK)
		status = hfkv_connector_open(plan->settings, plan->options, &reader, error);
	if (status == HFKV_OK)
		status = run_step(plan, reader, STEP_LOOKUP, &round, &times_ms[STEP_LOOKUP], error);
	if (status == HFKV_OK)
		status = run_step(plan, reader, STEP_LOAD, &round, &times_ms[STEP_LOAD], error);
	bool differs = status == HFKV_OK && memcmp(round.bytes, round.back, plan->keys * plan->body_bytes) != 0;
	if (reader && !plan->keep) {
		enum hfkv_status removed =
		    hfkv_connector_run(reader, HFKV_OP_REMOVE, round.items, plan->keys, 0, status ? NULL : error);
		status = status == HFKV_OK ? removed : status;
	}
	return differs ? fail_with(error, HFKV_CORRUPT, "bench: bytes came back different from what was stored")
		       : status;
}

static int compare_times(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* The median of one step over all rounds; `times` is rounds x STEP_COUNT. */
static double median_ms(const double (*times)[STEP_COUNT], uint64_t rounds, enum bench_step step, double *scratch)
{
	for (uint64_t i = 0; i < rounds; i++)
		scratch[i] = times[i][step];
	qsort(scratch, rounds, sizeof(*scratch), compare_times);
	return rounds % 2 ? scratch[rounds / 2] : (scratch[rounds / 2 - 1] + scratch[rounds / 2]) / 2;
}

static void print_result(const struct kv_bench_plan *plan, const double medians[STEP_COUNT])
{
	static const char *const names[STEP_COUNT] = { "store", "lookup", "load" };
	double batch_mb = (double)(plan->keys * plan->body_bytes) / 1e6;
	if (!plan->json) {
		printf("%llu keys of %llu bytes, %llu rounds, every byte verified; medians of a batch\n",
		       (unsigned long long)plan->keys, (unsigned long long)plan->body_bytes,
		       (unsigned long long)plan->rounds);
		for (int step = 0; step < STEP_COUNT; step++) {
			printf("%-6s %10.2f ms", names[step], medians[step]);
			if (step != STEP_LOOKUP) /* it moves no bytes */
				printf(" %10.1f MB/s", batch_mb / medians[step] * 1000);
			putchar('\n');
		}
		return;
	}
	json_t *result = json_pack("{sI sI sI}", "keys", (json_int_t)plan->keys, "bytes",
				   (json_int_t)plan->body_bytes, "rounds", (json_int_t)plan->rounds);
	for (int step = 0; result && step < STEP_COUNT; step++)
		json_object_set_new(result, names[step], json_pack("{sf}", "median_ms", medians[step]));
	json_print_line(result);
}

enum hfkv_status kv_bench_run(const struct kv_bench_plan *plan, struct hfkv_error *error)
{
	CLEANUP(free_pointer) double(*times)[STEP_COUNT] = calloc(plan->rounds, sizeof(*times));
	CLEANUP(free_pointer) double *scratch = calloc(plan->rounds, sizeof(*scratch));
	if (!times || !scratch)
		return fail_with(error, HFKV_NO_MEMORY, "bench: no memory for so many rounds");
	for (uint64_t i = 0; i < plan->rounds; i++) {
		enum hfkv_status status = run_round(plan, times[i], error);
		if (status != HFKV_OK)
			return status;
	}
	double medians[STEP_COUNT];
	for (int step = 0; step < STEP_COUNT; step++)
		medians[step] =
		    median_ms((const double(*)[STEP_COUNT])times, plan->rounds, (enum bench_step)step, scratch);
	print_result(plan, medians);
	return HFKV_OK;
}
