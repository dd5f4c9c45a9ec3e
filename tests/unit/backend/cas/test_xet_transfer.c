/*
 * Uploads and downloads together, against a fake CAS over a real socket: what must come back, in how many
 * requests.
 */
#include "tests/unit/backend/cas/transfer_fixture.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void every_size_comes_back_from_memory_and_file(void **state)
{
	struct transfer_fixture *fixture = *state;
	static const size_t sizes[] = { 1,         8 * KIB - 1,   8 * KIB,    8 * KIB + 1, 128 * KIB - 1,
					128 * KIB, 128 * KIB + 1, 3 * MIB + 5 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct bytes bytes = transfer_mixed_bytes(100 + i, sizes[i]);
		struct content_hash from_memory = transfer_put_bytes(fixture, &bytes);
		struct xet_upload_item item = { .name = "f",
						.fd = transfer_file_with(&bytes),
						.size_bytes = sizes[i] };
		assert_int_equal(transfer_put_items(fixture, &item, 1, NULL), HFKV_OK);
		assert_true(content_hash_equal(&item.hash, &from_memory));
		close(item.fd);
		transfer_expect_download(fixture, &from_memory, &bytes);
		bytes_done(&bytes);
	}
}

static void downloads_reach_a_file_at_its_offset(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = transfer_mixed_bytes(7, 2 * MIB), got = { .data = calloc(1, 2 * MIB + 1000) };
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	struct xet_download download = transfer_download_of(&hash, bytes.length);
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
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = transfer_mixed_bytes(8, MIB);
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
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
		struct xet_download download = transfer_download_of(&hash, bytes.length);
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
	struct transfer_fixture *fixture = *state;
	struct bytes sources[32];
	struct xet_upload_item items[32];
	for (size_t i = 0; i < 32; i++) {
		sources[i] = vectors_random(1000 + i, 4 * MIB);
		items[i] = transfer_item_of(&sources[i]);
	}
	assert_int_equal(transfer_put_items(fixture, items, 32, NULL), HFKV_OK);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_in_range(counts.xorb_puts, 2, 3);
	assert_int_equal(counts.shard_puts, 1);
	assert_int_equal(counts.token_fetches, 1);
	fake_cas_reset_counts(fixture->cas);
	transfer_expect_download(fixture, &items[31].hash, &sources[31]);
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
	struct transfer_fixture *fixture = *state;
	struct bytes half = vectors_random(5, MIB), whole = { .data = malloc(2 * MIB), .length = 2 * MIB };
	memcpy(whole.data, half.data, MIB);
	memcpy(whole.data + MIB, half.data, MIB);
	struct xet_upload_item items[3] = { transfer_item_of(&half), transfer_item_of(&whole),
					    transfer_item_of(&half) };
	assert_int_equal(transfer_put_items(fixture, items, 3, NULL), HFKV_OK);
	assert_true(content_hash_equal(&items[0].hash, &items[2].hash));
	fake_cas_reset_counts(fixture->cas);
	transfer_expect_download(fixture, &items[1].hash, &whole);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_int_equal(counts.data_gets, 1);
	assert_in_range(counts.data_bytes, MIB, MIB + 400 * KIB);
	bytes_done(&half);
	bytes_done(&whole);
}

static void empty_sources_are_registered_without_xorbs(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct xet_upload_item items[2] = { { .name = "e", .fd = -1 }, { .name = "f", .memory = (uint8_t *)"" } };
	assert_int_equal(transfer_put_items(fixture, items, 2, NULL), HFKV_OK);
	assert_true(content_hash_is_zero(&items[0].hash));
	assert_true(fake_cas_has_file(fixture->cas, &items[1].hash));
	assert_int_equal(fake_cas_xorb_count(fixture->cas), 0);
}

static void more_than_one_xorb_and_many_fetches(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(77, 70 * MIB);
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	assert_int_equal(fake_cas_xorb_count(fixture->cas), 2);
	transfer_expect_download(fixture, &hash, &bytes);
	fake_cas_set_term_chunks(fixture->cas, 16);
	fake_cas_reset_counts(fixture->cas);
	transfer_expect_download(fixture, &hash, &bytes);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_in_range(counts.data_gets, 60, 100);
	/* No byte twice: the bodies and nothing else. */
	assert_in_range(counts.data_bytes, 70 * MIB, 71 * MIB);
	bytes_done(&bytes);
}

/* What the listener heard. Not atomic: a sanitizer sees it when two threads tell at once. */
struct heard {
	uint64_t last;
	unsigned times;
};

static bool hear(void *context, uint64_t bytes_done)
{
	struct heard *heard = context;
	assert_true(bytes_done > heard->last);
	heard->last = bytes_done;
	heard->times++;
	return true;
}

static void progress_grows_and_is_told_by_one_at_a_time(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(40, 40 * MIB);
	struct xet_upload_item item = transfer_item_of(&bytes);
	struct heard up = { 0 }, down = { 0 };
	const struct xet_upload upload = { .items = &item,
					   .item_count = 1,
					   .progress = hear,
					   .progress_context = &up,
					   .call = transfer_in_time() };
	assert_int_equal(xet_upload_session_run(fixture->client, &upload, NULL), HFKV_OK);
	assert_true(up.times > 0 && up.last <= bytes.length);
	fake_cas_set_term_chunks(fixture->cas, 8);
	struct xet_download download = transfer_download_of(&item.hash, bytes.length);
	uint64_t got = 0;
	download.memory = calloc(1, bytes.length);
	download.progress = hear;
	download.progress_context = &down;
	assert_int_equal(xet_download_run(fixture->client, &download, &got, NULL), HFKV_OK);
	assert_true(down.times > 0 && down.last <= bytes.length);
	assert_memory_equal(download.memory, bytes.data, bytes.length);
	free(download.memory);
	bytes_done(&bytes);
}

static void servers_without_v2_are_asked_for_it_once(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = transfer_mixed_bytes(3, 300000);
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .v1_only = true });
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	transfer_expect_download(fixture, &hash, &bytes);
	transfer_expect_download(fixture, &hash, &bytes);
	transfer_put_bytes(fixture, &bytes);
	struct fake_cas_counts counts = fake_cas_counts(fixture->cas);
	assert_int_equal(counts.plans_v1, 2);
	assert_int_equal(counts.shard_puts, 2);
	bytes_done(&bytes);
}

static void tokens_near_their_end_are_renewed(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(22, 100000);
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	transfer_expect_download(fixture, &hash, &bytes);
	transfer_expect_download(fixture, &hash, &bytes);
	assert_int_equal(fake_cas_counts(fixture->cas).token_fetches, 2); /* one for each scope */
	bytes_done(&bytes);
}

static void short_lived_tokens_are_fetched_each_time(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(23, 100000);
	fake_cas_set_token_seconds(fixture->cas, 20); /* less than the 30 s that a token must have left */
	transfer_put_bytes(fixture, &bytes);
	assert_int_equal(fake_cas_counts(fixture->cas).token_fetches, 2); /* xorb, shard */
	bytes_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(every_size_comes_back_from_memory_and_file),
		WITH_FIXTURE(downloads_reach_a_file_at_its_offset),
		WITH_FIXTURE(any_range_is_read_exactly),
		WITH_FIXTURE(a_batch_shares_xorbs_and_one_shard),
		WITH_FIXTURE(what_occurs_twice_is_sent_and_fetched_once),
		WITH_FIXTURE(empty_sources_are_registered_without_xorbs),
		WITH_FIXTURE(more_than_one_xorb_and_many_fetches),
		WITH_FIXTURE(progress_grows_and_is_told_by_one_at_a_time),
		WITH_FIXTURE(servers_without_v2_are_asked_for_it_once),
		WITH_FIXTURE(tokens_near_their_end_are_renewed),
		WITH_FIXTURE(short_lived_tokens_are_fetched_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
