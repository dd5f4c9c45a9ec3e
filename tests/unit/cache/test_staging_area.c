#include "tests/unit/cmocka_prelude.h"

#include "cache/staging_area.h"
#include "cache/staging_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 8192

struct fixture {
	char place[64];
	struct staging_area *area;
};

static void open_area(struct fixture *fixture, uint64_t limit_bytes, uint64_t largest_bytes)
{
	snprintf(fixture->place, sizeof(fixture->place), "/dev/shm/hfkv-unit-XXXXXX");
	assert_non_null(mkdtemp(fixture->place));
	struct staging_area_settings settings = { .directory = fixture->place,
						  .label = "unit/test",
						  .limit_bytes = limit_bytes,
						  .largest_bytes = largest_bytes };
	struct fault fault = FAULT_NONE;
	if (staging_area_new(&settings, &fixture->area, &fault) != HFKV_OK)
		fail_msg("%s", fault.text);
}

static void close_area(struct fixture *fixture)
{
	staging_area_free(fixture->area);
	assert_int_equal(rmdir(fixture->place), 0);
}

static struct content_hash hash_of(uint8_t mark)
{
	return (struct content_hash){ { mark, 1 } };
}

/* A body of CHUNK bytes, all `mark`. */
static struct staged_file *new_body(struct fixture *fixture, uint8_t mark)
{
	struct staged_file *body = NULL;
	if (staging_area_new_body(fixture->area, STAGING_FOR_READ, CHUNK, &body, NULL) != HFKV_OK)
		return NULL;
	uint8_t bytes[CHUNK];
	memset(bytes, mark, sizeof(bytes));
	assert_int_equal(pwrite(staged_file_fd(body), bytes, sizeof(bytes), 0), CHUNK);
	return body;
}

static void add_clean(struct fixture *fixture, uint8_t mark)
{
	struct staged_file *body = new_body(fixture, mark);
	assert_non_null(body);
	struct content_hash hash = hash_of(mark);
	staging_area_publish(fixture->area, body, &hash);
	staged_file_unref(body);
}

/* Pins and checks the clean file; false when there is none. */
static bool has_clean(struct fixture *fixture, uint8_t mark)
{
	struct content_hash hash = hash_of(mark);
	CLEANUP(staged_file_unrefp) struct staged_file *file = staging_area_find(fixture->area, &hash);
	uint8_t bytes[CHUNK + 1];
	if (!file)
		return false;
	assert_int_equal(pread(staged_file_fd(file), bytes, sizeof(bytes), 0), CHUNK);
	assert_int_equal(bytes[0], mark);
	assert_int_equal(bytes[CHUNK - 1], mark);
	return true;
}

static uint64_t used(struct fixture *fixture)
{
	return staging_area_usage(fixture->area).used_bytes;
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;
	DIR *stream = opendir("/proc/self/fd");
	while (readdir(stream))
		count++;
	closedir(stream);
	return count;
}

static void the_oldest_unpinned_goes_first(void **state)
{
	(void)state;
	struct fixture fixture;
	open_area(&fixture, 4 * CHUNK, 0);
	for (uint8_t i = 1; i <= 4; i++)
		add_clean(&fixture, i);
	assert_int_equal(used(&fixture), 4 * CHUNK);
	assert_true(has_clean(&fixture, 1)); /* used again: now 2 is the oldest */
	struct content_hash pinned_hash = hash_of(2);
	struct staged_file *pinned = staging_area_find(fixture.area, &pinned_hash);
	add_clean(&fixture, 5);
	assert_true(has_clean(&fixture, 2));
	assert_false(has_clean(&fixture, 3));
	assert_true(has_clean(&fixture, 1));
	/* Everything pinned: no room, and nothing is lost by trying. */
	struct staged_file *pins[3];
	uint8_t marks[] = { 1, 4, 5 };
	for (int i = 0; i < 3; i++) {
		struct content_hash hash = hash_of(marks[i]);
		pins[i] = staging_area_find(fixture.area, &hash);
		assert_non_null(pins[i]);
	}
	assert_null(new_body(&fixture, 9));
	assert_int_equal(used(&fixture), 4 * CHUNK);
	for (int i = 0; i < 3; i++)
		staged_file_unref(pins[i]);
	staged_file_unref(pinned);
	assert_int_equal(staging_area_usage(fixture.area).evictions, 1);
	close_area(&fixture);
}

static void a_body_that_is_dropped_gives_everything_back(void **state)
{
	(void)state;
	struct fixture fixture;
	open_area(&fixture, 4 * CHUNK, 0);
	staging_area_join_sweep_for_tests(fixture.area); /* it has descriptors of its own while it looks around */
	unsigned before = open_descriptors();
	struct staged_file *body = new_body(&fixture, 1);
	assert_int_equal(staged_file_reserve(body, 3 * CHUNK + 1), HFKV_OK);
	assert_int_equal(used(&fixture), 3 * CHUNK + 4096);
	assert_int_equal(staged_file_reserve(body, 5 * CHUNK), HFKV_NO_SPACE);
	assert_int_equal(staged_file_reserve(body, UINT64_MAX), HFKV_NO_SPACE);
	staged_file_ref(body);
	staged_file_unref(body);
	staged_file_unref(body);
	assert_int_equal(used(&fixture), 0);
	assert_int_equal(staging_area_usage(fixture.area).files, 0);
	assert_int_equal(open_descriptors(), before);
	/* Clean files hold no descriptor while nobody has them, and count what they are, not what was reserved. */
	body = new_body(&fixture, 1);
	assert_int_equal(staged_file_reserve(body, 4 * CHUNK), HFKV_OK);
	struct content_hash hash = hash_of(1);
	staging_area_publish(fixture.area, body, &hash);
	assert_int_equal(used(&fixture), CHUNK);
	staged_file_unref(body);
	assert_int_equal(open_descriptors(), before);
	close_area(&fixture);
}

static void content_is_kept_once(void **state)
{
	(void)state;
	struct fixture fixture;
	open_area(&fixture, 8 * CHUNK, 0);
	struct content_hash hash = hash_of(1);
	add_clean(&fixture, 1);
	struct staged_file *second = new_body(&fixture, 1);
	staging_area_publish(fixture.area, second, &hash);
	staging_area_publish(fixture.area, second, &hash);
	assert_int_equal(used(&fixture), 2 * CHUNK);
	staged_file_unref(second);
	assert_int_equal(used(&fixture), CHUNK);
	assert_true(has_clean(&fixture, 1));
	close_area(&fixture);
}

static void writers_leave_room_for_a_reader(void **state)
{
	(void)state;
	struct fixture fixture;
	open_area(&fixture, 4 * CHUNK, CHUNK);
	struct staged_file *bodies[3], *more = NULL;
	for (int i = 0; i < 3; i++)
		assert_int_equal(staging_area_new_body(fixture.area, STAGING_FOR_WRITE, CHUNK, &bodies[i], NULL),
				 HFKV_OK);
	struct fault fault = FAULT_NONE;
	assert_int_equal(staging_area_new_body(fixture.area, STAGING_FOR_WRITE, CHUNK, &more, &fault),
			 HFKV_NO_SPACE);
	assert_non_null(strstr(fault.text, "--staging-bytes"));
	assert_int_equal(staging_area_new_body(fixture.area, STAGING_FOR_READ, CHUNK, &more, NULL), HFKV_OK);
	staged_file_unref(more);
	for (int i = 0; i < 3; i++)
		staged_file_unref(bodies[i]);
	close_area(&fixture);
}

static void a_file_that_others_removed_is_a_miss(void **state)
{
	(void)state;
	struct fixture fixture;
	open_area(&fixture, 4 * CHUNK, 0);
	add_clean(&fixture, 1);
	char command[256];
	snprintf(command, sizeof(command), "%s/files", staging_area_path(fixture.area));
	DIR *stream = opendir(command);
	assert_non_null(stream);
	unsigned files = 0;
	for (struct dirent *entry; (entry = readdir(stream));)
		files += unlinkat(dirfd(stream), entry->d_name, 0) == 0;
	closedir(stream);
	assert_int_equal(files, 1);
	assert_false(has_clean(&fixture, 1));
	assert_int_equal(used(&fixture), 0);
	add_clean(&fixture, 1);
	assert_true(has_clean(&fixture, 1));
	close_area(&fixture);
}

static void the_directory_is_private(void **state)
{
	(void)state;
	struct fixture fixture;
	struct stat attributes;
	char expected[96];
	open_area(&fixture, 4 * CHUNK, 0);
	assert_int_equal(lstat(staging_area_path(fixture.area), &attributes), 0);
	assert_int_equal(attributes.st_mode, S_IFDIR | 0700);
	assert_int_equal(attributes.st_uid, geteuid());
	snprintf(expected, sizeof(expected), "%s/hfkv-%u-unit_test-%d-", fixture.place, geteuid(), getpid());
	assert_memory_equal(staging_area_path(fixture.area), expected, strlen(expected));
	close_area(&fixture);
}

/* ---- left-overs ---- */

/* A private directory as a process leaves it, with `files` files; returns its lock, held. */
static int make_leftover(const char *place, const char *name, int files)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/hfkv-%u-%s", place, geteuid(), name);
	assert_int_equal(mkdir(path, 0700), 0);
	size_t length = strlen(path);
	strcpy(path + length, "/lock");
	int lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0);
	strcpy(path + length, "/files");
	assert_int_equal(mkdir(path, 0700), 0);
	for (int i = 0; i < files; i++) {
		snprintf(path + length, sizeof(path) - length, "/files/f%d", i);
		close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	}
	return lock;
}

static bool is_there(const char *place, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/hfkv-%u-%s", place, geteuid(), name);
	return access(path, F_OK) == 0;
}

static void only_the_dead_are_cleared_away(void **state)
{
	(void)state;
	struct fixture fixture;
	char place[] = "/dev/shm/hfkv-unit-XXXXXX", target[] = "/dev/shm/hfkv-unit-XXXXXX", path[256], file[256];
	assert_non_null(mkdtemp(place));
	assert_non_null(mkdtemp(target));
	close(make_leftover(place, "mount-1-dead", 5000));
	int alive = make_leftover(place, "mount-2-alive", 3);
	/* What a malicious neighbour may put there: a link to somebody's directory. */
	snprintf(path, sizeof(path), "%s/hfkv-%u-link", place, geteuid());
	assert_int_equal(symlink(target, path), 0);
	close(make_leftover(target, "victim", 1));
	snprintf(file, sizeof(file), "%s/hfkv-%u-fresh", place, geteuid());
	assert_int_equal(mkdir(file, 0700), 0); /* just being made: no lock yet */
	struct staging_area_settings settings = { .directory = place, .label = "unit", .limit_bytes = 4 * CHUNK };
	assert_int_equal(staging_area_new(&settings, &fixture.area, NULL), HFKV_OK);
	staging_area_join_sweep_for_tests(fixture.area);
	assert_false(is_there(place, "mount-1-dead"));
	assert_true(is_there(place, "mount-2-alive"));
	assert_true(is_there(place, "fresh"));
	assert_true(is_there(target, "victim"));
	close(alive);
	staging_area_free(fixture.area);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(file), 0);
	/* The next start finds the one that has died meanwhile. */
	assert_int_equal(staging_area_new(&settings, &fixture.area, NULL), HFKV_OK);
	staging_area_join_sweep_for_tests(fixture.area);
	staging_area_free(fixture.area);
	assert_int_equal(rmdir(place), 0);
	settings.directory = target;
	assert_int_equal(staging_area_new(&settings, &fixture.area, NULL), HFKV_OK);
	staging_area_join_sweep_for_tests(fixture.area);
	staging_area_free(fixture.area);
	assert_int_equal(rmdir(target), 0);
}

/* The place, or NULL when a start failed. */
static void *start_and_end_often(void *place)
{
	struct staging_area_settings settings = { .directory = place, .label = "unit", .limit_bytes = 4 * CHUNK };
	for (int round = 0; round < 200; round++) {
		struct staging_area *area = NULL;
		if (staging_area_new(&settings, &area, NULL) != HFKV_OK)
			return NULL;
		staging_area_free(area);
	}
	return place;
}

static void starts_beside_each_other_are_not_taken_for_dead(void **state)
{
	(void)state;
	char place[64] = "/dev/shm/hfkv-unit-XXXXXX";
	assert_non_null(mkdtemp(place));
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, start_and_end_often, place), 0);
	for (int i = 0; i < 4; i++) {
		void *worked = NULL;
		pthread_join(threads[i], &worked);
		assert_non_null(worked);
	}
	assert_int_equal(rmdir(place), 0);
}

static void a_limit_below_one_chunk_is_refused(void **state)
{
	(void)state;
	struct staging_area *area = NULL;
	struct fault fault = FAULT_NONE;
	struct staging_area_settings settings = { .directory = "/dev/shm",
						  .limit_bytes = CHUNK - 1,
						  .largest_bytes = CHUNK };
	assert_int_equal(staging_area_new(&settings, &area, &fault), HFKV_INVALID);
	settings.directory = "/proc/nowhere";
	assert_int_not_equal(staging_area_new(&settings, &area, &fault), HFKV_OK);
	assert_null(area);
}

static void default_limits_fit_the_place(void **state)
{
	(void)state;
	assert_int_equal(staging_place_default_limit(1ULL << 30, 1000), 1ULL << 29);
	assert_int_equal(staging_place_default_limit(1ULL << 40, 1000), 4ULL << 30);
	assert_int_equal(staging_place_default_limit(1000, 4000), 4000);
	assert_int_equal(staging_place_margin(64 << 20), 4 << 20);
	assert_int_equal(staging_place_margin(1ULL << 40), 64 << 20);
	/* More than any /dev/shm: the disk, with a warning. */
	struct staging_place place;
	assert_int_equal(staging_place_choose(NULL, 1ULL << 60, &place, NULL), HFKV_OK);
	assert_string_equal(place.path, "/var/tmp");
	free(place.path);
}

/* ---- a tmpfs of our own ---- */

static struct staging_area_settings tmpfs_settings(const char *place)
{
	return (struct staging_area_settings){
		.directory = place, .label = "unit", .limit_bytes = 16 * CHUNK, .private_tmpfs = true
	};
}

static void a_private_tmpfs_bounds_what_the_kernel_writes(void **state)
{
	(void)state;
	struct fixture fixture;
	char place[] = "/dev/shm/hfkv-unit-XXXXXX";
	struct staged_file *body = NULL;
	static uint8_t bytes[32 * CHUNK];
	assert_non_null(mkdtemp(place));
	struct staging_area_settings settings = tmpfs_settings(place);
	assert_int_equal(staging_area_new(&settings, &fixture.area, NULL), HFKV_OK);
	bool is_private = staging_area_is_private_tmpfs(fixture.area);
	assert_int_equal(staging_area_new_body(fixture.area, STAGING_FOR_WRITE, CHUNK, &body, NULL), HFKV_OK);
	ssize_t written = pwrite(staged_file_fd(body), bytes, sizeof(bytes), 0);
	assert_int_equal(written, is_private ? 16 * CHUNK : 32 * CHUNK);
	staged_file_unref(body);
	add_clean(&fixture, 1);
	assert_true(has_clean(&fixture, 1));
	staging_area_free(fixture.area);
	assert_int_equal(rmdir(place), 0);
	if (!is_private)
		skip(); /* no right to mount here: staging went on without */
}

/* A daemon dies with its tmpfs mounted; the next start takes it off. */
static void the_tmpfs_of_a_dead_process_is_taken_off(void **state)
{
	(void)state;
	struct fixture fixture;
	char place[] = "/dev/shm/hfkv-unit-XXXXXX";
	int outcome;
	assert_non_null(mkdtemp(place));
	struct staging_area_settings settings = tmpfs_settings(place);
	pid_t child = fork();
	if (child == 0) {
		if (staging_area_new(&settings, &fixture.area, NULL) == HFKV_OK)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &outcome, 0), child);
	assert_true(WIFSIGNALED(outcome));
	settings.private_tmpfs = false;
	assert_int_equal(staging_area_new(&settings, &fixture.area, NULL), HFKV_OK);
	staging_area_join_sweep_for_tests(fixture.area);
	staging_area_free(fixture.area);
	assert_int_equal(rmdir(place), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_unpinned_goes_first),
		cmocka_unit_test(a_body_that_is_dropped_gives_everything_back),
		cmocka_unit_test(content_is_kept_once),
		cmocka_unit_test(writers_leave_room_for_a_reader),
		cmocka_unit_test(a_file_that_others_removed_is_a_miss),
		cmocka_unit_test(the_directory_is_private),
		cmocka_unit_test(only_the_dead_are_cleared_away),
		cmocka_unit_test(starts_beside_each_other_are_not_taken_for_dead),
		cmocka_unit_test(a_limit_below_one_chunk_is_refused),
		cmocka_unit_test(default_limits_fit_the_place),
		cmocka_unit_test(a_private_tmpfs_bounds_what_the_kernel_writes),
		cmocka_unit_test(the_tmpfs_of_a_dead_process_is_taken_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
