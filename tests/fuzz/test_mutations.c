/*
 * Feeds damaged input to everything of hfkv that parses bytes from the network: xorb streams, whole xorb bodies,
 * shards, footers, LZ4 payloads, reconstructions. Whatever comes must give a status, within the memory it was
 * given.
 *
 * Deterministic. Run it under a sanitizer to see reads and writes out of bounds;
 * inputs are copied into allocations of exactly their size for that. HFKV_FUZZ_ROUNDS sets the rounds per input.
 */
#include "backend/cas/reconstruction.h"
#include "backend/xet/chunk_codec.h"
#include "backend/xet/shard_reader.h"
#include "backend/xet/xorb_footer.h"
#include "backend/xet/xorb_reader.h"
#include "backend/xet/xorb_validator.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROUNDS 400

struct random {
	uint64_t state;
};

static uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static size_t random_below(struct random *random, size_t below)
{
	return below ? (size_t)(random_next(random) % below) : 0;
}

static unsigned rounds(void)
{
	const char *text = getenv("HFKV_FUZZ_ROUNDS");
	return text ? (unsigned)strtoul(text, NULL, 10) : DEFAULT_ROUNDS;
}

/* ---- damage ---- */

static void flip_bits(struct random *random, struct bytes *bytes)
{
	for (size_t n = 1 + random_below(random, 4); n > 0 && bytes->length > 0; n--)
		bytes->data[random_below(random, bytes->length)] ^= (uint8_t)(1u << random_below(random, 8));
}

/* Length fields that are huge, or off by one, are what breaks parsers. */
static void plant_number(struct random *random, struct bytes *bytes)
{
	static const uint64_t numbers[] = { 0,       1,       0x7fffffff, 0x80000000, 0xffffffff, 0xffffff,
					    0x20000, 0x20001, 0x40000,    UINT64_MAX, INT64_MAX,  0x10000000000 };
	uint64_t number = numbers[random_below(random, sizeof(numbers) / sizeof(*numbers))];
	size_t width = (size_t[]){ 1, 3, 4, 8 }[random_below(random, 4)];
	if (bytes->length < width)
		return;
	/* Half the time on a multiple of 4, where the fields of shards and footers are. */
	size_t at = random_below(random, bytes->length - width + 1);
	if (random_below(random, 2))
		at &= ~(size_t)3;
	for (size_t i = 0; i < width; i++)
		bytes->data[at + i] = (uint8_t)(number >> (8 * i));
}

static void cut_off(struct random *random, struct bytes *bytes)
{
	bytes->length = random_below(random, bytes->length + 1);
}

static void move_block(struct random *random, struct bytes *bytes)
{
	size_t length = random_below(random, bytes->length / 2 + 1);
	size_t from = random_below(random, bytes->length - length + 1);
	size_t to = random_below(random, bytes->length - length + 1);
	memmove(bytes->data + to, bytes->data + from, length);
}

static void drop_block(struct random *random, struct bytes *bytes)
{
	size_t length = random_below(random, bytes->length / 4 + 1),
	       at = random_below(random, bytes->length - length + 1);
	memmove(bytes->data + at, bytes->data + at + length, bytes->length - at - length);
	bytes->length -= length;
}

/* A damaged copy in an allocation of exactly its size. */
static struct bytes damage(struct random *random, const struct bytes *good)
{
	static void (*const ways[])(struct random *, struct bytes *) = { flip_bits, plant_number, cut_off,
									 move_block, drop_block };
	struct bytes work = { .data = malloc(good->length + 1), .length = good->length };
	memcpy(work.data, good->data, good->length);
	for (size_t n = 1 + random_below(random, 2); n > 0; n--)
		ways[random_below(random, sizeof(ways) / sizeof(*ways))](random, &work);
	struct bytes exact = { .data = malloc(work.length ? work.length : 1), .length = work.length };
	memcpy(exact.data, work.data, work.length);
	free(work.data);
	return exact;
}

/* ---- parsers: each takes any bytes ---- */

typedef void (*parser)(struct random *random, const struct bytes *input);

/* A reader's place for each chunk, of exactly its size. */
struct places {
	struct random *random;
	uint8_t *place;
};

static enum xorb_chunk_wish want_somehow(void *context, uint32_t index, uint32_t raw_bytes, uint8_t **ret_place)
{
	struct places *places = context;
	(void)index;
	enum xorb_chunk_wish wish = (enum xorb_chunk_wish)random_below(places->random, 3);
	if (wish == XORB_CHUNK_HERE) {
		free(places->place);
		*ret_place = places->place = malloc(raw_bytes ? raw_bytes : 1);
	}
	return wish;
}

static enum hfkv_status take_any(void *context, uint32_t index, const uint8_t *bytes, uint32_t raw_bytes,
				 struct fault *fault)
{
	(void)context, (void)index, (void)fault;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < raw_bytes; i += 64)
		sum += bytes[i];
	return sum == UINT64_MAX ? HFKV_BUG : HFKV_OK;
}

static void read_stream(struct random *random, const struct bytes *input)
{
	static const struct xorb_reader_calls calls = { want_somehow, take_any };
	struct places places = { .random = random };
	struct xorb_reader *reader = NULL;
	assert_int_equal(xorb_reader_new(&calls, &places, &reader, NULL), HFKV_OK);
	size_t span = 1 + random_below(random, input->length + 1);
	enum hfkv_status status = HFKV_OK;
	for (size_t at = 0; at < input->length && status == HFKV_OK; at += span) {
		size_t left = input->length - at;
		status = xorb_reader_feed(reader, input->data + at, left < span ? left : span, NULL);
	}
	if (status == HFKV_OK)
		status = xorb_reader_finish(reader, NULL);
	assert_true(status == HFKV_OK || status == HFKV_CORRUPT);
	xorb_reader_free(reader);
	free(places.place);
}

static void validate_body(struct random *random, const struct bytes *input)
{
	struct xorb_validator *validator = NULL;
	struct xorb_listing listing = { 0 };
	assert_int_equal(xorb_validator_new(&validator, NULL), HFKV_OK);
	size_t first = random_below(random, input->length + 1);
	enum hfkv_status status = xorb_validator_feed(validator, input->data, first, NULL);
	if (status == HFKV_OK)
		status = xorb_validator_feed(validator, input->data + first, input->length - first, NULL);
	if (status == HFKV_OK)
		status = xorb_validator_finish(validator, &listing, NULL);
	assert_true(status == HFKV_OK || status == HFKV_CORRUPT || status == HFKV_OVERSIZE);
	if (status == HFKV_OK)
		assert_true(listing.records_bytes <= input->length && listing.chunk_count > 0);
	xorb_listing_done(&listing);
	xorb_validator_free(validator);
}

static void walk_shard(struct random *random, const struct bytes *input)
{
	struct shard_reader reader;
	struct shard_file file;
	struct shard_xorb xorb;
	struct content_hash hash = { 0 };
	size_t cursor = 0;
	uint32_t files = 0, xorbs = 0, index;
	enum hfkv_status status = shard_reader_open(input->data, input->length, &reader, NULL);
	assert_true(status == HFKV_OK || status == HFKV_CORRUPT || status == HFKV_OVERSIZE);
	if (status != HFKV_OK)
		return;
	for (; shard_reader_next_file(&reader, &cursor, &file); files++)
		for (uint32_t i = 0; i < file.term_count; i++) {
			struct shard_term term;
			shard_file_term(&file, i, &term);
		}
	cursor = 0;
	for (; shard_reader_next_xorb(&reader, &cursor, &xorb); xorbs++)
		for (uint32_t i = 0; i < xorb.chunk_count; i++) {
			struct shard_chunk chunk;
			shard_xorb_chunk(&xorb, i, &chunk);
			hash = chunk.hash;
		}
	assert_int_equal(files, reader.file_count);
	assert_int_equal(xorbs, reader.xorb_count);
	if (random_below(random, 2) && shard_reader_find_chunk(&reader, &hash, &xorb, &index))
		assert_true(index < xorb.chunk_count);
}

static void read_footer(struct random *random, const struct bytes *input)
{
	struct xorb_listing listing = { 0 };
	(void)random;
	enum hfkv_status status = xorb_footer_read(input->data, input->length, &listing, NULL);
	assert_true(status == HFKV_OK || status == HFKV_CORRUPT);
	xorb_listing_done(&listing);
}

static void unpack_payload(struct random *random, const struct bytes *input)
{
	struct chunk_unpacker *unpacker = NULL;
	struct xorb_record record = {
		.scheme = random_below(random, 2) ? XORB_SCHEME_LZ4 : XORB_SCHEME_BG4_LZ4,
		.payload_bytes = (uint32_t)input->length,
		.raw_bytes = (uint32_t)random_below(random, XET_CHUNK_MAX_BYTES + 1),
	};
	if (random_below(random, 2))
		record.raw_bytes = 100000; /* what the frames of the vectors hold */
	uint8_t *out = malloc(record.raw_bytes ? record.raw_bytes : 1);
	assert_int_equal(chunk_unpacker_new(&unpacker, NULL), HFKV_OK);
	enum hfkv_status status = chunk_unpacker_unpack(unpacker, &record, input->data, out, NULL);
	assert_true(status == HFKV_OK || status == HFKV_CORRUPT);
	chunk_unpacker_free(unpacker);
	free(out);
}

static void parse_plan(struct random *random, const struct bytes *input)
{
	struct reconstruction *plan = NULL;
	enum reconstruction_version version = random_below(random, 2) ? RECONSTRUCTION_V1 : RECONSTRUCTION_V2;
	enum hfkv_status status =
	    reconstruction_parse(version, (const char *)input->data, input->length, &plan, NULL);
	assert_true(status == HFKV_OK || status == HFKV_CORRUPT || status == HFKV_OVERSIZE);
	if (status != HFKV_OK)
		return;
	assert_true(plan->skip_bytes < plan->total_bytes);
	for (size_t i = 0; i < plan->term_count; i++) {
		const struct reconstruction_fetch *fetch = &plan->fetches[plan->terms[i].fetch];
		assert_true(plan->terms[i].chunk_end <= fetch->chunk_end);
		assert_true(fetch->first_byte <= fetch->last_byte);
	}
	reconstruction_free(plan);
}

/* ---- the tests ---- */

static void attack(parser parse, const struct bytes *good, const char *name)
{
	struct random random = { .state = 0 };
	for (const char *c = name; *c; c++)
		random.state = random.state * 31 + (uint8_t)*c;
	parse(&random, good);
	for (unsigned round = 0; round < rounds(); round++) {
		struct bytes bad = damage(&random, good);
		parse(&random, &bad);
		bytes_done(&bad);
	}
}

static void attack_file(parser parse, const char *name)
{
	struct bytes good = vectors_read(name);
	attack(parse, &good, name);
	bytes_done(&good);
}

static void damaged_xorbs_get_a_status(void **state)
{
	(void)state;
	static const char *const names[] = { "xorb/auto.upload.bin", "xorb/auto.footer.bin",
					     "xorb/bg4.upload.bin",  "xorb/lz4.upload.bin",
					     "xorb/none.footer.bin", "xorb/one_byte.footer.bin" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		attack_file(read_stream, names[i]);
		attack_file(validate_body, names[i]);
	}
}

/* Cut off at every byte: whole records are taken, anything else is refused. */
static void a_xorb_cut_off_anywhere_is_refused(void **state)
{
	(void)state;
	static const struct xorb_reader_calls calls = { want_somehow, take_any };
	struct bytes body = vectors_read("xorb/bg4.upload.bin");
	struct random random = { .state = 1 };
	size_t whole = 0;
	for (size_t length = 0; length <= body.length; length++) {
		struct places places = { .random = &random };
		struct xorb_reader *reader = NULL;
		assert_int_equal(xorb_reader_new(&calls, &places, &reader, NULL), HFKV_OK);
		assert_int_equal(xorb_reader_feed(reader, body.data, length, NULL), HFKV_OK);
		bool is_whole = xorb_reader_record_bytes(reader) == length;
		assert_int_equal(xorb_reader_finish(reader, NULL), is_whole ? HFKV_OK : HFKV_CORRUPT);
		whole += is_whole;
		xorb_reader_free(reader);
		free(places.place);
	}
	assert_int_equal(whole, 1 + 6); /* nothing, and the ends of the six records */
	bytes_done(&body);
}

static void damaged_footers_get_a_status(void **state)
{
	(void)state;
	json_t *file = vectors_load("xorbs.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one)
	{
		struct bytes body = vectors_read(vectors_text(one, "footer_file"));
		size_t start = vectors_number(one, "footer_start");
		struct bytes footer = { body.data + start, body.length - start };
		attack(read_footer, &footer, vectors_text(one, "name"));
		bytes_done(&body);
	}
	json_decref(file);
}

static void damaged_shards_get_a_status(void **state)
{
	(void)state;
	static const char *const names[] = { "shard/upload_multi.bin", "shard/local_full.bin",
					     "shard/dedup_keyed_lookup.bin", "shard/dedup_keyed.bin",
					     "captured/dedup.answer.bin" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		attack_file(walk_shard, names[i]);
}

static void damaged_frames_get_a_status(void **state)
{
	(void)state;
	static const char *const names[] = { "lz4/linked_blocks.bin", "lz4/content_checksum.bin",
					     "lz4/block_checksum.bin", "lz4/hc_level9_4MB.bin",
					     "lz4/mixed_stored_and_packed.bin" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		attack_file(unpack_payload, names[i]);
}

static void damaged_plans_get_a_status(void **state)
{
	(void)state;
	json_t *file = vectors_load("reconstruction.json"), *one;
	size_t index;
	json_array_foreach(json_object_get(file, "cases"), index, one) for (size_t version = 0; version < 2;
									    version++)
	{
		char *text = json_dumps(json_object_get(one, version ? "v2" : "v1"), 0);
		struct bytes good = { (uint8_t *)text, strlen(text) };
		attack(parse_plan, &good, vectors_text(one, "name"));
		free(text);
	}
	json_decref(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_xorbs_get_a_status),
		cmocka_unit_test(a_xorb_cut_off_anywhere_is_refused),
		cmocka_unit_test(damaged_footers_get_a_status),
		cmocka_unit_test(damaged_shards_get_a_status),
		cmocka_unit_test(damaged_frames_get_a_status),
		cmocka_unit_test(damaged_plans_get_a_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
