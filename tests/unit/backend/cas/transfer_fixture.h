/*
 * A fake CAS with a client, and the usual steps of upload and download tests. Everything unexpected fails the
 * test.
 */
#ifndef TESTS_UNIT_BACKEND_CAS_TRANSFER_FIXTURE_H
#define TESTS_UNIT_BACKEND_CAS_TRANSFER_FIXTURE_H

#include "backend/cas/xet_download.h"
#include "backend/cas/xet_upload_session.h"
#include "tests/unit/backend/cas/fake_cas.h"
#include "tests/unit/backend/vectors.h"

#define KIB 1024
#define MIB (1024 * 1024)

struct transfer_fixture {
	struct fake_cas *cas;
	struct http_client *http;
	struct cas_client *client;
};

int transfer_setup(void **state);
int transfer_teardown(void **state);
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, transfer_setup, transfer_teardown)

/* A deadline that no good call reaches. */
struct cas_call transfer_in_time(void);
/* A file in memory with these bytes; the caller closes it. */
int transfer_file_with(const struct bytes *bytes);
/* Random, text and float pieces: all three record schemes, in one stream. */
struct bytes transfer_mixed_bytes(uint64_t seed, size_t length);

/* An item, or a whole read, of these bytes in memory. */
struct xet_upload_item transfer_item_of(const struct bytes *bytes);
struct xet_download transfer_download_of(const struct content_hash *hash, uint64_t size);

enum hfkv_status transfer_put_items(struct transfer_fixture *fixture, struct xet_upload_item *items, size_t count,
				    struct fault *fault);
/* Uploads one source, which must succeed. */
struct content_hash transfer_put_bytes(struct transfer_fixture *fixture, const struct bytes *bytes);
/* Reads a whole file of into->length bytes. */
enum hfkv_status transfer_get_bytes(struct transfer_fixture *fixture, const struct content_hash *hash,
				    struct bytes *into, struct fault *fault);
/* The same, which must succeed and give `want`. */
void transfer_expect_download(struct transfer_fixture *fixture, const struct content_hash *hash,
			      const struct bytes *want);

#endif
