#include "tests/unit/cmocka_prelude.h"

#include "common/clock.h"
#include "fuse/fs_scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void release_nothing(void *context, struct fs_inode *inode)
{
	(void)context;
	(void)inode;
}

/* A session of names and a sweeper only: no mount, no cache. */
static int set_up(void **state)
{
	struct fs_session *session = calloc(1, sizeof(*session));
	assert_non_null(session);
	assert_int_equal(inode_table_new(release_nothing, NULL, &session->inodes), HFKV_OK);
	assert_int_equal(fs_scratch_start(session), HFKV_OK);
	*state = session;
	return 0;
}

static int tear_down(void **state)
{
	struct fs_session *session = *state;
	fs_scratch_stop(session);
	inode_table_free(session->inodes);
	free(session);
	return 0;
}

/* A scratch file that its name keeps, closed a moment ago. Borrowed from the table. */
static struct fs_inode *add_closed(struct fs_session *session, const char *name)
{
	struct fs_inode *inode = inode_table_add(session->inodes, FS_INODE_FILE), *displaced = NULL;
	assert_non_null(inode);
	inode->file.role = FS_ROLE_SCRATCH;
	assert_int_equal(inode_table_bind(session->inodes, inode_table_root(session->inodes), name, inode, true, &displaced),
			 HFKV_OK);
	inode_table_unref(session->inodes, inode);
	fs_scratch_expire_after(session, inode, FS_SCRATCH_LIFE_MS);
	return inode;
}

static bool is_there(struct fs_session *session, const char *name)
{
	struct fs_inode *inode = inode_table_find(session->inodes, inode_table_root(session->inodes), name);
	inode_table_unref(session->inodes, inode);
	return inode != NULL;
}

static void scratch_ends_an_hour_after_its_last_close(void **state)
{
	struct fs_session *session = *state;
	int64_t before = clock_now_ms();
	add_closed(session, "k.tmp");
	int64_t after = clock_now_ms();
	int64_t due = fs_scratch_sweep(session, before + FS_SCRATCH_LIFE_MS - 1);
	assert_true(is_there(session, "k.tmp"));
	assert_in_range(due, before + FS_SCRATCH_LIFE_MS, after + FS_SCRATCH_LIFE_MS);
	assert_true(fs_scratch_sweep(session, due) == INT64_MAX);
	assert_false(is_there(session, "k.tmp"));
	assert_int_equal(fs_scratch_count(session), 0);
	assert_int_equal(inode_table_count(session->inodes), 1);
}

/* An open that came between a close and the note of its time: its own close notes another. */
static void scratch_that_is_open_stays_and_is_not_asked_about_again(void **state)
{
	struct fs_session *session = *state;
	struct fs_inode *inode = add_closed(session, "k.tmp");
	pthread_mutex_lock(&inode->mutex);
	inode->file.opens = 1;
	pthread_mutex_unlock(&inode->mutex);
	assert_true(fs_scratch_sweep(session, clock_now_ms() + FS_SCRATCH_LIFE_MS) == INT64_MAX);
	assert_true(is_there(session, "k.tmp"));
	pthread_mutex_lock(&inode->mutex);
	inode->file.opens = 0;
	pthread_mutex_unlock(&inode->mutex);
	fs_scratch_expire_after(session, inode, FS_SCRATCH_LIFE_MS);
	assert_true(fs_scratch_sweep(session, clock_now_ms() + FS_SCRATCH_LIFE_MS) == INT64_MAX);
	assert_false(is_there(session, "k.tmp"));
}

static void what_was_cancelled_stays(void **state)
{
	struct fs_session *session = *state;
	struct fs_inode *inode = add_closed(session, "k.tmp");
	fs_scratch_cancel_expiry(session, inode);
	assert_int_equal(fs_scratch_count(session), 0);
	assert_true(fs_scratch_sweep(session, clock_now_ms() + FS_SCRATCH_LIFE_MS) == INT64_MAX);
	assert_true(is_there(session, "k.tmp"));
}

/* More than one pass takes. */
static void many_end_together(void **state)
{
	struct fs_session *session = *state;
	char name[16];
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%d.tmp", i);
		add_closed(session, name);
	}
	assert_int_equal(fs_scratch_count(session), 1000);
	assert_true(fs_scratch_sweep(session, clock_now_ms() + FS_SCRATCH_LIFE_MS) == INT64_MAX);
	assert_int_equal(fs_scratch_count(session), 0);
	assert_int_equal(inode_table_count(session->inodes), 1);
}

static void the_thread_ends_what_is_due(void **state)
{
	struct fs_session *session = *state;
	struct fs_inode *inode = add_closed(session, "k.tmp");
	fs_scratch_expire_after(session, inode, 1);
	struct deadline end = deadline_after_ms(30000);
	while (is_there(session, "k.tmp") && !deadline_passed(end))
		usleep(1000);
	assert_false(is_there(session, "k.tmp"));
}

int main(void)
{
#define WITH_SESSION(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_SESSION(scratch_ends_an_hour_after_its_last_close),
		WITH_SESSION(scratch_that_is_open_stays_and_is_not_asked_about_again),
		WITH_SESSION(what_was_cancelled_stays),
		WITH_SESSION(many_end_together),
		WITH_SESSION(the_thread_ends_what_is_due),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
