/*
 * One suite of the object store contract (backend/store/object_store.h), run the same on every store.
 *
 * A test gets a store and a directory of its own inside it, empty at the start and emptied at the end.
 */
#ifndef TESTS_CONTRACT_CONTRACT_H
#define TESTS_CONTRACT_CONTRACT_H

#include "tests/unit/cmocka_prelude.h"

#include "backend/store/object_store.h"
#include "common/byte_buf.h"
#include "common/cleanup.h"

struct contract_world {
	struct object_store *store;
	char root[128];      /* directory of this run */
	char directory[160]; /* of this test, under root */
	unsigned number;     /* of the test */
};

/* Opens the store under test and sets root; for cmocka's group setup. */
typedef int (*contract_open)(void **state);

/* Runs every test on the store that `open` opens; the number of failed tests. */
int contract_run(const char *store_name, contract_open open);

/* Group tear-down: frees the store. */
int contract_close(void **state);
/* A world with a root that no other run has; NULL on failure. Owns `store`. */
struct contract_world *contract_world_new(struct object_store *store);

/* ---- for the tests ---- */

#define WITHIN deadline_after_ms(120000)

/* "<directory>/<name>", valid until 16 more calls on this thread. */
const char *contract_path(const struct contract_world *world, const char *name);

/* Malloc'd bytes that `seed` decides; at least one even for length 0. */
uint8_t *contract_bytes(size_t length, uint64_t seed);

/* Stores one object and expects success. */
struct object_info contract_put(const struct contract_world *world, const char *name, const void *bytes,
				size_t length);
/* What stat says of one name. */
enum hfkv_status contract_stat(const struct contract_world *world, const char *name, struct object_info *ret_info);
/* Expects that the name means exactly these bytes. */
void contract_expect(const struct contract_world *world, const char *name, const void *bytes, size_t length);

/* Names seen by a listing of directory/`under` ("": the directory itself), relative to it, sorted, joined by
 * newlines; directories end in a slash. The caller releases it with byte_buf_done. */
struct byte_buf contract_names(const struct contract_world *world, const char *under, bool recursive);

/* The tests of one file each. */
extern const struct CMUnitTest contract_body_tests[], contract_name_tests[], contract_change_tests[];
extern const size_t contract_body_test_count, contract_name_test_count, contract_change_test_count;

/* One world per test: makes and empties world->directory. */
int contract_begin(void **state);
int contract_end(void **state);

#define CONTRACT_TEST(function) cmocka_unit_test_setup_teardown(function, contract_begin, contract_end)

#endif
