#include "tests/unit/backend/cas/transfer_fixture.h"

#include "tests/unit/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int transfer_setup(void **state)
{
	struct transfer_fixture *fixture = calloc(1, sizeof(*fixture));
	const struct http_client_settings settings = { .stall_ms = 20000 };
	fixture->cas = fake_cas_start();
	assert_int_equal(http_client_new(&settings, &fixture->http, NULL), HFKV_OK);
	fixture->client = fake_cas_client(fixture->cas, fixture->http);
	*state = fixture;
	return 0;
}

int transfer_teardown(void **state)
{
	struct transfer_fixture *fixture = *state;
	cas_client_free(fixture->client);
	http_client_free(fixture->http);
	fake_cas_stop(fixture->cas);
	free(fixture);
	return 0;
}

struct cas_call transfer_in_time(void)
{
	return (struct cas_call){ .deadline = deadline_after_ms(60000) };
}

/* A file in memory with these bytes. */
int transfer_file_with(const struct bytes *bytes)
{
	int fd = memfd_create("source", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->length), bytes->length);
	return fd;
}

enum hfkv_status transfer_put_items(struct transfer_fixture *fixture, struct xet_upload_item *items, size_t count,
				    struct fault *fault)
{
	const struct xet_upload upload = { .items = items, .item_count = count, .call = transfer_in_time() };
	return xet_upload_session_run(fixture->client, &upload, fault);
}

struct xet_upload_item transfer_item_of(const struct bytes *bytes)
{
	return (
	    struct xet_upload_item){ .name = "a", .memory = bytes->data, .fd = -1, .size_bytes = bytes->length };
}

/* Uploads one source that must succeed. */
struct content_hash transfer_put_bytes(struct transfer_fixture *fixture, const struct bytes *bytes)
{
	struct xet_upload_item item = transfer_item_of(bytes);
	struct fault fault = FAULT_NONE;
	if (transfer_put_items(fixture, &item, 1, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	return item.hash;
}

struct xet_download transfer_download_of(const struct content_hash *hash, uint64_t size)
{
	return (struct xet_download){
		.file = hash, .size_bytes = size, .length_bytes = size, .fd = -1, .call = transfer_in_time()
	};
}

enum hfkv_status transfer_get_bytes(struct transfer_fixture *fixture, const struct content_hash *hash,
				    struct bytes *into, struct fault *fault)
{
	struct xet_download download = transfer_download_of(hash, into->length);
	uint64_t got = 0;
	download.memory = into->data;
	enum hfkv_status status = xet_download_run(fixture->client, &download, &got, fault);
	if (status == HFKV_OK)
		assert_int_equal(got, into->length);
	return status;
}

void transfer_expect_download(struct transfer_fixture *fixture, const struct content_hash *hash,
			      const struct bytes *want)
{
	struct bytes got = { .data = calloc(1, want->length), .length = want->length };
	struct fault fault = FAULT_NONE;
	if (transfer_get_bytes(fixture, hash, &got, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
	assert_memory_equal(got.data, want->data, want->length);
	bytes_done(&got);
}

/* Random, text and float pieces: all three record schemes, in one stream. */
struct bytes transfer_mixed_bytes(uint64_t seed, size_t length)
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
