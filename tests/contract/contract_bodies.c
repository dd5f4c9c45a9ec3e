/* Bytes: sizes, sources and sinks, ranges, duplicates, progress. */
#include "tests/contract/contract.h"

#include <string.h>
#include <sys/mman.h>

#define KIB 1024u
#define MIB (1024u * KIB)

static const size_t sizes[] = {
	0, 1, 8 * KIB - 1, 8 * KIB, 8 * KIB + 1, 128 * KIB - 1, 128 * KIB, 128 * KIB + 1, 5 * MIB, 70 * MIB
};

static int file_of(const void *bytes, size_t length)
{
	int fd = memfd_create("contract", MFD_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t at = 0; at < length;) {
		ssize_t written = pwrite(fd, (const char *)bytes + at, length - at, (off_t)at);
		assert_true(written > 0);
		at += (size_t)written;
	}
	return fd;
}

static void test_every_size(void **state)
{
	struct contract_world *world = *state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		char name[64];
		snprintf(name, sizeof(name), "size-%zu", sizes[i]);
		uint8_t *bytes = contract_bytes(sizes[i], 1000 + i);
		struct object_info info = contract_put(world, name, bytes, sizes[i]);
		assert_int_equal(content_hash_is_zero(&info.hash), sizes[i] == 0);
		struct object_info seen;
		assert_int_equal(contract_stat(world, name, &seen), HFKV_OK);
		assert_true(content_hash_equal(&seen.hash, &info.hash));
		contract_expect(world, name, bytes, sizes[i]);
		free(bytes);
	}
}

/* From a file, and into a file at an offset whose surroundings stay. */
static void test_files(void **state)
{
	struct contract_world *world = *state;
	const size_t length = 3 * MIB + 17, offset = 4096;
	uint8_t *bytes = contract_bytes(length, 7);
	CLEANUP(close_fd) int source = file_of(bytes, length);
	struct object_put put = { .path = contract_path(world, "from-file"),
				  .source = { .fd = source, .size_bytes = length } };
	assert_int_equal(object_store_put_many(world->store, &put, 1, NULL, NULL, WITHIN, NULL), HFKV_OK);
	struct object_info info;
	assert_int_equal(contract_stat(world, "from-file", &info), HFKV_OK);
	uint8_t *frame = malloc(offset + length + 100);
	memset(frame, 0xee, offset + length + 100);
	CLEANUP(close_fd) int target = file_of(frame, offset + length + 100);
	struct object_sink sink = { .fd = target, .fd_offset = offset };
	assert_int_equal(object_store_read_whole(world->store, &info, &sink, NULL, NULL, WITHIN, NULL), HFKV_OK);
	uint8_t *got = malloc(offset + length + 100);
	assert_int_equal(pread(target, got, offset + length + 100, 0), (ssize_t)(offset + length + 100));
	assert_memory_equal(got, frame, offset);
	assert_true(memcmp(got + offset, bytes, length) == 0);
	assert_memory_equal(got + offset + length, frame, 100);
	free(got);
	free(frame);
	free(bytes);
}

static void expect_range(struct contract_world *world, const struct object_info *info, const uint8_t *bytes,
			 uint64_t offset, uint64_t length)
{
	uint64_t left = offset < info->size_bytes ? info->size_bytes - offset : 0;
	uint64_t expected = length < left ? length : left, got_bytes = 99;
	uint8_t *got = malloc(length + 1);
	got[length] = 0xab;
	struct object_sink sink = { .memory = got, .fd = -1 };
	struct fault fault = FAULT_NONE;
	if (object_store_read_range(world->store, info, offset, length, &sink, &got_bytes, WITHIN, &fault) !=
	    HFKV_OK)
		fail_msg("range %llu+%llu: %s", (unsigned long long)offset, (unsigned long long)length,
			 fault.text);
	assert_int_equal(got_bytes, expected);
	assert_true(memcmp(got, bytes + offset, expected) == 0 || expected == 0);
	assert_int_equal(got[length], 0xab);
	free(got);
}

static void test_ranges(void **state)
{
	struct contract_world *world = *state;
	const size_t length = 5 * MIB + 3;
	uint8_t *bytes = contract_bytes(length, 11);
	contract_put(world, "ranges", bytes, length);
	struct object_info info;
	assert_int_equal(contract_stat(world, "ranges", &info), HFKV_OK);
	const uint64_t ranges[][2] = { { 0, 1 },           { 0, 4096 },        { 1, 1 },
				       { 65535, 2 },       { 131071, 131074 }, { MIB, 2 * MIB },
				       { length - 1, 1 },  { length - 1, 10 }, { length, 10 },
				       { length + 5, 10 }, { 0, length },      { 0, length + 1 },
				       { 4096, length } };
	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++)
		expect_range(world, &info, bytes, ranges[i][0], ranges[i][1]);
	free(bytes);
}

/* Equal bytes under several names of one batch, and once more in a later one. */
static void test_duplicates(void **state)
{
	struct contract_world *world = *state;
	uint8_t *bytes = contract_bytes(MIB, 13);
	struct object_put puts[3];
	for (size_t i = 0; i < 3; i++) {
		char name[16];
		snprintf(name, sizeof(name), "twin-%zu", i);
		puts[i] = (struct object_put){ .path = contract_path(world, name),
					       .source = { .memory = bytes, .fd = -1, .size_bytes = MIB } };
	}
	assert_int_equal(object_store_put_many(world->store, puts, 3, NULL, NULL, WITHIN, NULL), HFKV_OK);
	struct object_info later = contract_put(world, "twin-3", bytes, MIB);
	for (size_t i = 0; i < 3; i++)
		assert_true(content_hash_equal(&puts[i].hash, &later.hash));
	for (size_t i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof(name), "twin-%zu", i);
		contract_expect(world, name, bytes, MIB);
	}
	free(bytes);
}

/* What was told: a count that never falls. */
struct told {
	uint64_t last;
	unsigned times;
	bool fell;
};

static bool note_progress(void *context, uint64_t bytes_done)
{
	struct told *told = context;
	told->fell = told->fell || bytes_done < told->last;
	told->last = bytes_done;
	told->times++;
	return true;
}

static bool give_up(void *context, uint64_t bytes_done)
{
	(void)context;
	(void)bytes_done;
	return false;
}

static void test_progress(void **state)
{
	struct contract_world *world = *state;
	const size_t length = 6 * MIB;
	uint8_t *bytes = contract_bytes(length, 17);
	struct told told = { 0 };
	struct object_put put = { .path = contract_path(world, "watched"),
				  .source = { .memory = bytes, .fd = -1, .size_bytes = length } };
	assert_int_equal(object_store_put_many(world->store, &put, 1, note_progress, &told, WITHIN, NULL),
			 HFKV_OK);
	assert_true(told.times > 0 && !told.fell && told.last <= length);
	struct object_info info = { .size_bytes = length, .hash = put.hash };
	struct object_sink sink = { .memory = bytes, .fd = -1 };
	told = (struct told){ 0 };
	assert_int_equal(object_store_read_whole(world->store, &info, &sink, note_progress, &told, WITHIN, NULL),
			 HFKV_OK);
	assert_true(told.times > 0 && !told.fell && told.last <= length);
	assert_int_equal(object_store_read_whole(world->store, &info, &sink, give_up, NULL, WITHIN, NULL),
			 HFKV_CANCELLED);
	free(bytes);
}

static void test_unknown_content(void **state)
{
	struct contract_world *world = *state;
	struct object_info info = { .size_bytes = 100 };
	memset(info.hash.bytes, 0x5a, sizeof(info.hash.bytes));
	uint8_t bytes[100];
	struct object_sink sink = { .memory = bytes, .fd = -1 };
	assert_int_equal(object_store_read_whole(world->store, &info, &sink, NULL, NULL, WITHIN, NULL),
			 HFKV_NOT_FOUND);
}

const struct CMUnitTest contract_body_tests[] = {
	CONTRACT_TEST(test_every_size), CONTRACT_TEST(test_files),    CONTRACT_TEST(test_ranges),
	CONTRACT_TEST(test_duplicates), CONTRACT_TEST(test_progress), CONTRACT_TEST(test_unknown_content),
};
const size_t contract_body_test_count = ARRAY_LENGTH(contract_body_tests);
