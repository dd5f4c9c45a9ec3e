/*
 * Uploads and downloads together, against a fake CAS over a real socket.
 */
#include "backend/cas/xet_download.h"
#include "backend/cas/xet_upload_session.h"
#include "tests/unit/backend/cas/fake_cas.h"
#include "tests/unit/backend/vectors.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KIB 1024
#define MIB (1024 * 1024)

struct fixture {
	struct fake_cas *cas;
	struct http_client *http;
	struct cas_client *client;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct http_client_settings settings = { .stall_ms = 20000 };
	fixture->cas = fake_cas_start();
	assert_int_equal(http_client_new(&settings, &fixture->http, NULL), HFKV_OK);
	fixture->client = fake_cas_client(fixture->cas, fixture->http);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	cas_client_free(fixture->client);
	http_client_free(fixture->http);
	fake_cas_stop(fixture->cas);
	free(fixture);
	return 0;
}

static struct cas_call in_time(void)
{
	return (struct cas_call){ .deadline = deadline_after_ms(60000) };
}

/* A file in memory with these bytes. */
static int file_with(const struct bytes *bytes)
{
	int fd = memfd_create("source", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->length), bytes->length);
	return fd;
}

static enum hfkv_status put_items(struct fixture *fixture, struct xet_upload_item *items, size_t count,
				  struct fault *fault)
{
	const struct xet_upload upload = { .items = items, .item_count = count, .call = in_time() };
	return xet_upload_session_run(fixture->client, &upload, fault);
}

static struct xet_upload_item item_of(const struct bytes *bytes)
{
	return (
	    struct xet_upload_item){ .name = "a", .memory = bytes->data, .fd = -1, .size_bytes = bytes->length };
}

/* Uploads one source that must succeed. */
static struct content_hash put_bytes(struct fixture *fixture, const struct bytes *bytes)
{
	struct xet_upload_item item = item_of(bytes);
	struct fault fault = FAULT_NONE;
	if (put_items(fixture, &item, 1, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	return item.hash;
}

static struct xet_download download_of(const struct content_hash *hash, uint64_t size)
{
	return (struct xet_download){
		.file = hash, .size_bytes = size, .length_bytes = size, .fd = -1, .call = in_time()
	};
}

static enum hfkv_status get_bytes(struct fixture *fixture, const struct content_hash *hash, struct bytes *into,
				  struct fault *fault)
{
	struct xet_download download = download_of(hash, into->length);
	uint64_t got = 0;
	download.memory = into->data;
	enum hfkv_status status = xet_download_run(fixture->client, &download, &got, fault);
	if (status == HFKV_OK)
		assert_int_equal(got, into->length);
	return status;
}

static void expect_download(struct fixture *fixture, const struct content_hash *hash, const struct bytes *want)
{
	struct bytes got = { .data = calloc(1, want->length), .length = want->length };
	struct fault fault = FAULT_NONE;
	if (get_bytes(fixture, hash, &got, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	assert_memory_equal(got.data, want->data, want->length);
	bytes_done(&got);
}

/* Random, text and float pieces: all three record schemes, in one stream. */
static struct bytes mixed_bytes(uint64_t seed, size_t length)
{
	char gen[512];
	snprintf(
	    gen, sizeof(gen),
	    "[{\"op\":\"splitmix64\",\"seed\":%llu,\"len\":%zu},{\"op\":\"lines\",\"start\":%llu,\"len\":%zu},"
	    "{\"op\":\"f32ramp\",\"start\":%llu,\"len\":%zu}]",
	    (unsigned long long)seed, length / 3, (unsigned long long)seed, length / 3, (unsigned long long)seed,
	    length - 2 * (length / 3));
	json_t *json = json_loads(gen, 0, NULL);
	struct bytes bytes = vectors_generate(json);
	json_decref(json);
	return bytes;
}

static void every_size_comes_back_from_memory_and_file(void **state)
{
	struct fixture *fixture = *state;
	static const size_t sizes[] = { 1,         8 * KIB - 1,   8 * KIB,    8 * KIB + 1, 128 * KIB - 1,
					128 * KIB, 128 * KIB + 1, 3 * MIB + 5 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct bytes bytes = mixed_bytes(100 + i, sizes[i]);
		struct content_hash from_memory = put_bytes(fixture, &bytes);
		struct xet_upload_item item = { .name = "f", .fd = file_with(&bytes), .size_bytes = sizes[i] };
		assert_int_equal(put_items(fixture, &item, 1, NULL), HFKV_OK);
		assert_true(content_hash_equal(&item.hash, &from_memory));
		close(item.fd);
		expect_download(fixture, &from_memory, &bytes);
		bytes_done(&bytes);
	}
}

static void downloads_reach_a_file_at_its_offset(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = mixed_bytes(7, 2 * MIB), got = { .data = calloc(1, 2 * MIB + 1000) };
	struct content_hash hash = put_bytes(fixture, &bytes);
	struct xet_download download = download_of(&hash, bytes.length);
	uint64_t count = 0;
	download.fd = memfd_create("sink", MFD_CLOEXEC);
	download.fd_offset = 1000;
	assert_int_equal(xet_download_run(fixture->client, &download, &count, NULL), HFKV_OK);
	assert_int_equal(pread(download.fd, got.data, 2 * MIB + 1000, 0), 2 * MIB + 1000);
	assert_memory_equal(got.data + 1000, bytes.data, bytes.length);
	close(download.fd);
	bytes_done(&bytes);
	bytes_done(&got);
}

static void any_range_is_read_exactly(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = mixed_bytes(8, MIB);
	struct content_hash hash = put_bytes(fixture, &bytes);
	static const struct {
		uint64_t offset, length, want;
	} ranges[] = { { 0, 1, 1 },
		       { 0, 70000, 70000 },
		       { 1, 1, 1 },
		       { 65000, 200000, 200000 },
		       { MIB - 1, 1, 1 },
		       { MIB - 1, 500, 1 },
		       { 300000, MIB, MIB - 300000 },
		       { MIB, 10, 0 },
		       { 5, 0, 0 },
		       { MIB + 5, 10, 0 } };
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		struct xet_download download = download_of(&hash, bytes.length);
		uint64_t got = 99;
		/* Exactly as long as asked, so that a sanitizer sees any byte too many. */
		uint8_t *memory = malloc(ranges[i].want ? ranges[i].want : 1);
		download.memory = memory;
		download.offset = ranges[i].offset;
		download.length_bytes = ranges[i].length;
		assert_int_equal(xet_download_run(fixture->client, &download, &got, NULL), HFKV_OK);
		assert_int_equal(got, ranges[i].want);
		if (got > 0)
			assert_memory_equal(memory, bytes.data + ranges[i].offset, got);
		free(memory);
	}
	bytes_done(&bytes);
}

static void a_batch_shares_xorbs_and_one_shard(void **state)
{
	struct fixture *fixture = *state;
	struct bytes sources[32];
	struct xet_upload_item items[32];
	for (size_t i = 0; i < 32; i++) {
		sources[i] = vectors_random(1000 + i, 4 * MIB);
		items[i] = item_of(&sources[i]);
	}
	assert_int_equal(put_items(fixture, items, 32, NULL), HFKV_OK);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_in_range(counts.xorb_puts, 2, 3);
	assert_int_equal(counts.shard_puts, 1);
	assert_int_equal(counts.token_fetches, 1);
	fake_cas_reset_counts(fixture->cas);
	expect_download(fixture, &items[31].hash, &sources[31]);
	counts = fake_cas_counts(fixture->cas);
	assert_int_equal(counts.plans_v2 + counts.plans_v1, 1);
	assert_in_range(counts.data_gets, 1, 2);
	assert_int_equal(counts.with_auth_on_data, 0);
	for (size_t i = 0; i < 32; i++) {
		assert_true(fake_cas_has_file(fixture->cas, &items[i].hash));
		bytes_done(&sources[i]);
	}
}

static void what_occurs_twice_is_sent_and_fetched_once(void **state)
{
	struct fixture *fixture = *state;
	struct bytes half = vectors_random(5, MIB), whole = { .data = malloc(2 * MIB), .length = 2 * MIB };
	memcpy(whole.data, half.data, MIB);
	memcpy(whole.data + MIB, half.data, MIB);
	struct xet_upload_item items[3] = { item_of(&half), item_of(&whole), item_of(&half) };
	assert_int_equal(put_items(fixture, items, 3, NULL), HFKV_OK);
	assert_true(content_hash_equal(&items[0].hash, &items[2].hash));
	fake_cas_reset_counts(fixture->cas);
	expect_download(fixture, &items[1].hash, &whole);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_int_equal(counts.data_gets, 1);
	assert_in_range(counts.data_bytes, MIB, MIB + 400 * KIB);
	bytes_done(&half);
	bytes_done(&whole);
}

static void empty_sources_are_registered_without_xorbs(void **state)
{
	struct fixture *fixture = *state;
	struct xet_upload_item items[2] = { { .name = "e", .fd = -1 }, { .name = "f", .memory = (uint8_t *)"" } };
	assert_int_equal(put_items(fixture, items, 2, NULL), HFKV_OK);
	assert_true(content_hash_is_zero(&items[0].hash));
	assert_true(fake_cas_has_file(fixture->cas, &items[1].hash));
	assert_int_equal(fake_cas_xorb_count(fixture->cas), 0);
}

static void more_than_one_xorb_and_many_fetches(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(77, 70 * MIB);
	struct content_hash hash = put_bytes(fixture, &bytes);
	assert_int_equal(fake_cas_xorb_count(fixture->cas), 2);
	expect_download(fixture, &hash, &bytes);
	fake_cas_set_term_chunks(fixture->cas, 16);
	fake_cas_reset_counts(fixture->cas);
	expect_download(fixture, &hash, &bytes);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_in_range(counts.data_gets, 60, 100);
	/* No byte twice: the bodies and nothing else. */
	assert_in_range(counts.data_bytes, 70 * MIB, 71 * MIB);
	bytes_done(&bytes);
}

static void servers_without_v2_are_asked_for_it_once(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = mixed_bytes(3, 300000);
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .v1_only = true });
	struct content_hash hash = put_bytes(fixture, &bytes);
	expect_download(fixture, &hash, &bytes);
	expect_download(fixture, &hash, &bytes);
	put_bytes(fixture, &bytes);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_int_equal(counts.plans_v1, 2);
	assert_int_equal(counts.shard_puts, 2);
	bytes_done(&bytes);
}

static void passing_failures_are_lived_through(void **state)
{
	struct fixture *fixture = *state;
	static const struct fake_cas_faults faults[] = {
		{ .reject_tokens = 1 }, { .fail_calls = 2 },   { .cut_bodies = 1 },
		{ .expire_urls = 1 },   { .retry_shards = 1 }, { .silent_shards = 1 },
	};
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct bytes bytes = mixed_bytes(50 + i, 400000);
		fake_cas_set_faults(fixture->cas, faults[i]);
		struct content_hash hash = put_bytes(fixture, &bytes);
		fake_cas_set_faults(fixture->cas, faults[i]);
		expect_download(fixture, &hash, &bytes);
		bytes_done(&bytes);
	}
}

static void expired_urls_are_renewed_for_all_fetches_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(12, 8 * MIB);
	struct content_hash hash = put_bytes(fixture, &bytes);
	fake_cas_set_term_chunks(fixture->cas, 4);
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .expire_urls = 4 });
	fake_cas_reset_counts(fixture->cas);
	expect_download(fixture, &hash, &bytes);
	assert_in_range(fake_cas_counts(fixture->cas).plans_v2, 2, 5);
	bytes_done(&bytes);
}

static enum hfkv_status download_under(struct fixture *fixture, struct fake_cas_faults faults, struct fault *fault)
{
	struct bytes bytes = vectors_random(13, MIB), got = { .data = malloc(MIB), .length = MIB };
	struct content_hash hash = put_bytes(fixture, &bytes);
	fake_cas_set_faults(fixture->cas, faults);
	enum hfkv_status status = get_bytes(fixture, &hash, &got, fault);
	bytes_done(&bytes);
	bytes_done(&got);
	return status;
}

static void lasting_failures_get_their_status(void **state)
{
	struct fixture *fixture = *state;
	struct fault fault = FAULT_NONE;
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .flip_bytes = 1 }, &fault),
			 HFKV_CORRUPT);
	assert_string_not_equal(fault.text, "");
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .expire_urls = 1000 }, &fault),
			 HFKV_FORBIDDEN);
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .reject_tokens = 1000 }, &fault),
			 HFKV_AUTH);
}

static void an_unknown_file_is_not_found(void **state)
{
	struct fixture *fixture = *state;
	struct content_hash hash = { .bytes = { 1, 2, 3 } };
	uint8_t memory[10];
	struct bytes into = { memory, sizeof(memory) };
	assert_int_equal(get_bytes(fixture, &hash, &into, NULL), HFKV_NOT_FOUND);
}

static void a_wrong_size_is_found_out(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(14, 300000), got = { .data = malloc(400000) };
	struct content_hash hash = put_bytes(fixture, &bytes);
	got.length = 300001;
	assert_int_equal(get_bytes(fixture, &hash, &got, NULL), HFKV_CORRUPT);
	got.length = 299999;
	/* Fewer bytes than the file has: its chunks are read, their hash is right, and still it is not that file.
	 */
	got.data[299999] = 0xaa;
	assert_int_equal(get_bytes(fixture, &hash, &got, NULL), HFKV_CORRUPT);
	assert_int_equal(got.data[299999], 0xaa);
	bytes_done(&bytes);
	bytes_done(&got);
}

static void a_refused_shard_fails_every_item(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(15, 100000);
	struct xet_upload_item items[2] = { item_of(&bytes), item_of(&bytes) };
	struct fault fault = FAULT_NONE;
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .refuse_shards = true });
	assert_int_equal(put_items(fixture, items, 2, &fault), HFKV_INVALID);
	assert_int_equal(items[1].status, HFKV_INVALID);
	assert_non_null(strstr(fault.text, "no such luck"));
	bytes_done(&bytes);
}

/* A source that changes between the passes: both sources share one xorb, so the first word of progress comes when
 * all is hashed and the body has begun to go out. */
struct changer {
	int fd;
};

static bool change_once(void *context, uint64_t bytes_done)
{
	struct changer *changer = context;
	(void)bytes_done;
	assert_int_equal(pwrite(changer->fd, "changed", 7, 30 * MIB), 7);
	return true;
}

static void a_source_that_changes_fails_alone(void **state)
{
	struct fixture *fixture = *state;
	struct bytes good = vectors_random(16, 4 * MIB), bad = vectors_random(17, 31 * MIB);
	struct changer changer = { .fd = file_with(&bad) };
	struct xet_upload_item items[2] = { item_of(&good),
					    { .name = "bad", .fd = changer.fd, .size_bytes = bad.length } };
	const struct xet_upload upload = { .items = items,
					   .item_count = 2,
					   .progress = change_once,
					   .progress_context = &changer,
					   .call = in_time() };
	struct fault fault = FAULT_NONE;
	assert_int_equal(xet_upload_session_run(fixture->client, &upload, &fault), HFKV_CHANGED);
	assert_non_null(strstr(fault.text, "'bad'"));
	assert_int_equal(items[0].status, HFKV_OK);
	assert_int_equal(items[1].status, HFKV_CHANGED);
	assert_true(fake_cas_has_file(fixture->cas, &items[0].hash));
	close(changer.fd);
	bytes_done(&good);
	bytes_done(&bad);
}

static void a_source_that_is_short_fails_alone(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(18, 500000);
	struct xet_upload_item items[3] = { item_of(&bytes),
					    { .name = "short", .fd = file_with(&bytes), .size_bytes = 500001 },
					    { .name = "closed", .fd = -1, .size_bytes = 10 } };
	assert_int_equal(put_items(fixture, items, 3, NULL), HFKV_CHANGED);
	assert_int_equal(items[0].status, HFKV_OK);
	assert_int_equal(items[1].status, HFKV_CHANGED);
	assert_int_equal(items[2].status, HFKV_IO);
	close(items[1].fd);
	bytes_done(&bytes);
}

static bool refuse_progress(void *context, uint64_t bytes_done)
{
	(void)context, (void)bytes_done;
	return false;
}

static void progress_can_cancel_both_ways(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(19, 2 * MIB);
	struct content_hash hash = put_bytes(fixture, &bytes);
	struct bytes other = vectors_random(20, 2 * MIB);
	struct xet_upload_item item = item_of(&other);
	const struct xet_upload upload = {
		.items = &item, .item_count = 1, .progress = refuse_progress, .call = in_time()
	};
	assert_int_equal(xet_upload_session_run(fixture->client, &upload, NULL), HFKV_CANCELLED);
	struct xet_download download = download_of(&hash, bytes.length);
	uint64_t got;
	download.memory = other.data;
	download.progress = refuse_progress;
	assert_int_equal(xet_download_run(fixture->client, &download, &got, NULL), HFKV_CANCELLED);
	bytes_done(&bytes);
	bytes_done(&other);
}

static void deadlines_are_kept(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(21, MIB);
	struct xet_upload_item item = item_of(&bytes);
	const struct xet_upload upload = { .items = &item,
					   .item_count = 1,
					   .call = { .deadline = deadline_after_ms(0) } };
	assert_int_equal(xet_upload_session_run(fixture->client, &upload, NULL), HFKV_TIMEOUT);
	bytes_done(&bytes);
}

static void tokens_near_their_end_are_renewed(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(22, 100000);
	struct content_hash hash = put_bytes(fixture, &bytes);
	expect_download(fixture, &hash, &bytes);
	expect_download(fixture, &hash, &bytes);
	assert_int_equal(fake_cas_counts(fixture->cas).token_fetches, 2); /* one for each scope */
	bytes_done(&bytes);
}

static void short_lived_tokens_are_fetched_each_time(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = vectors_random(23, 100000);
	fake_cas_set_token_seconds(fixture->cas, 20); /* less than the 30 s that a token must have left */
	put_bytes(fixture, &bytes);
	assert_int_equal(fake_cas_counts(fixture->cas).token_fetches, 2); /* xorb, shard */
	bytes_done(&bytes);
}

#define FIXTURE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE(every_size_comes_back_from_memory_and_file),
		FIXTURE(downloads_reach_a_file_at_its_offset),
		FIXTURE(any_range_is_read_exactly),
		FIXTURE(a_batch_shares_xorbs_and_one_shard),
		FIXTURE(what_occurs_twice_is_sent_and_fetched_once),
		FIXTURE(empty_sources_are_registered_without_xorbs),
		FIXTURE(more_than_one_xorb_and_many_fetches),
		FIXTURE(servers_without_v2_are_asked_for_it_once),
		FIXTURE(passing_failures_are_lived_through),
		FIXTURE(expired_urls_are_renewed_for_all_fetches_at_once),
		FIXTURE(lasting_failures_get_their_status),
		FIXTURE(an_unknown_file_is_not_found),
		FIXTURE(a_wrong_size_is_found_out),
		FIXTURE(a_refused_shard_fails_every_item),
		FIXTURE(a_source_that_changes_fails_alone),
		FIXTURE(a_source_that_is_short_fails_alone),
		FIXTURE(progress_can_cancel_both_ways),
		FIXTURE(deadlines_are_kept),
		FIXTURE(tokens_near_their_end_are_renewed),
		FIXTURE(short_lived_tokens_are_fetched_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
