/*
 * Transfers that meet a failing CAS, changing sources, cancellation and deadlines.
 */
#include "tests/unit/backend/cas/transfer_fixture.h"
#include "tests/unit/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

static void passing_failures_are_lived_through(void **state)
{
	struct transfer_fixture *fixture = *state;
	static const struct fake_cas_faults faults[] = {
		{ .reject_tokens = 1 }, { .fail_calls = 2 },   { .cut_bodies = 1 },
		{ .expire_urls = 1 },   { .retry_shards = 1 }, { .silent_shards = 1 },
	};
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct bytes bytes = transfer_mixed_bytes(50 + i, 400000);
		fake_cas_set_faults(fixture->cas, faults[i]);
		struct content_hash hash = transfer_put_bytes(fixture, &bytes);
		fake_cas_set_faults(fixture->cas, faults[i]);
		transfer_expect_download(fixture, &hash, &bytes);
		bytes_done(&bytes);
	}
}

static void expired_urls_are_renewed_for_all_fetches_at_once(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(12, 8 * MIB);
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	fake_cas_set_term_chunks(fixture->cas, 4);
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .expire_urls = 4 });
	fake_cas_reset_counts(fixture->cas);
	transfer_expect_download(fixture, &hash, &bytes);
	assert_in_range(fake_cas_counts(fixture->cas).plans_v2, 2, 5);
	bytes_done(&bytes);
}

static void a_plan_that_moves_is_followed(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes first = vectors_random(30, MIB), second = vectors_random(31, MIB);
	struct xet_upload_item items[2] = { transfer_item_of(&first), transfer_item_of(&second) };
	assert_int_equal(transfer_put_items(fixture, items, 2, NULL), HFKV_OK);
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .expire_urls = 1, .move_ranges = true });
	fake_cas_reset_counts(fixture->cas);
	/* The second file does not begin at its xorb's first chunk, so its range can move. */
	transfer_expect_download(fixture, &items[1].hash, &second);
	assert_int_equal(fake_cas_counts(fixture->cas).plans_v2, 3); /* at first, for URLs, for places */
	bytes_done(&first);
	bytes_done(&second);
}

static enum hfkv_status download_under(struct transfer_fixture *fixture, struct fake_cas_faults faults,
				       struct fault *fault)
{
	struct bytes bytes = vectors_random(13, MIB), got = { .data = malloc(MIB), .length = MIB };
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	fake_cas_set_faults(fixture->cas, faults);
	enum hfkv_status status = transfer_get_bytes(fixture, &hash, &got, fault);
	bytes_done(&bytes);
	bytes_done(&got);
	return status;
}

static void lasting_failures_get_their_status(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct fault fault = FAULT_NONE;
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .flip_bytes = 1 }, &fault),
			 HFKV_CORRUPT);
	assert_string_not_equal(fault.text, "");
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .drop_fetch_info = true }, &fault),
			 HFKV_CORRUPT);
	assert_non_null(strstr(fault.text, "reconstruction"));
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .expire_urls = 1000 }, &fault),
			 HFKV_FORBIDDEN);
	assert_int_equal(download_under(fixture, (struct fake_cas_faults){ .reject_tokens = 1000 }, &fault),
			 HFKV_AUTH);
}

static void an_unknown_file_is_not_found(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct content_hash hash = { .bytes = { 1, 2, 3 } };
	uint8_t memory[10];
	struct bytes into = { memory, sizeof(memory) };
	assert_int_equal(transfer_get_bytes(fixture, &hash, &into, NULL), HFKV_NOT_FOUND);
}

static void a_wrong_size_is_found_out(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(14, 300000), got = { .data = malloc(400000) };
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	got.length = 300001;
	assert_int_equal(transfer_get_bytes(fixture, &hash, &got, NULL), HFKV_CORRUPT);
	got.length = 299999;
	/* Fewer bytes than the file has: its chunks are read, their hash is right, and still it is not that file.
	 */
	got.data[299999] = 0xaa;
	assert_int_equal(transfer_get_bytes(fixture, &hash, &got, NULL), HFKV_CORRUPT);
	assert_int_equal(got.data[299999], 0xaa);
	bytes_done(&bytes);
	bytes_done(&got);
}

static void a_refused_shard_fails_every_item(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(15, 100000);
	struct xet_upload_item items[2] = { transfer_item_of(&bytes), transfer_item_of(&bytes) };
	struct fault fault = FAULT_NONE;
	fake_cas_set_faults(fixture->cas, (struct fake_cas_faults){ .refuse_shards = true });
	assert_int_equal(transfer_put_items(fixture, items, 2, &fault), HFKV_CORRUPT);
	assert_int_equal(items[1].status, HFKV_CORRUPT);
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
	struct transfer_fixture *fixture = *state;
	struct bytes good = vectors_random(16, 4 * MIB), bad = vectors_random(17, 31 * MIB);
	struct changer changer = { .fd = transfer_file_with(&bad) };
	struct xet_upload_item items[2] = { transfer_item_of(&good),
					    { .name = "bad", .fd = changer.fd, .size_bytes = bad.length } };
	const struct xet_upload upload = { .items = items,
					   .item_count = 2,
					   .progress = change_once,
					   .progress_context = &changer,
					   .call = transfer_in_time() };
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
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(18, 500000);
	struct xet_upload_item items[3] = {
		transfer_item_of(&bytes),
		{ .name = "short", .fd = transfer_file_with(&bytes), .size_bytes = 500001 },
		{ .name = "closed", .fd = -1, .size_bytes = 10 }
	};
	assert_int_equal(transfer_put_items(fixture, items, 3, NULL), HFKV_CHANGED);
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
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(19, 2 * MIB);
	struct content_hash hash = transfer_put_bytes(fixture, &bytes);
	struct bytes other = vectors_random(20, 2 * MIB);
	struct xet_upload_item item = transfer_item_of(&other);
	const struct xet_upload upload = {
		.items = &item, .item_count = 1, .progress = refuse_progress, .call = transfer_in_time()
	};
	assert_int_equal(xet_upload_session_run(fixture->client, &upload, NULL), HFKV_CANCELLED);
	struct xet_download download = transfer_download_of(&hash, bytes.length);
	uint64_t got;
	download.memory = other.data;
	download.progress = refuse_progress;
	assert_int_equal(xet_download_run(fixture->client, &download, &got, NULL), HFKV_CANCELLED);
	bytes_done(&bytes);
	bytes_done(&other);
}

static void deadlines_are_kept(void **state)
{
	struct transfer_fixture *fixture = *state;
	struct bytes bytes = vectors_random(21, MIB);
	struct xet_upload_item item = transfer_item_of(&bytes);
	const struct xet_upload upload = { .items = &item,
					   .item_count = 1,
					   .call = { .deadline = deadline_after_ms(0) } };
	assert_int_equal(xet_upload_session_run(fixture->client, &upload, NULL), HFKV_TIMEOUT);
	bytes_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(passing_failures_are_lived_through),
		WITH_FIXTURE(expired_urls_are_renewed_for_all_fetches_at_once),
		WITH_FIXTURE(a_plan_that_moves_is_followed),
		WITH_FIXTURE(lasting_failures_get_their_status),
		WITH_FIXTURE(an_unknown_file_is_not_found),
		WITH_FIXTURE(a_wrong_size_is_found_out),
		WITH_FIXTURE(a_refused_shard_fails_every_item),
		WITH_FIXTURE(a_source_that_changes_fails_alone),
		WITH_FIXTURE(a_source_that_is_short_fails_alone),
		WITH_FIXTURE(progress_can_cancel_both_ways),
		WITH_FIXTURE(deadlines_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
