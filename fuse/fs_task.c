#include "fuse/fs_task.h"

#include "fuse/fs_reply.h"

#include <errno.h>
#include <string.h>

struct fs_task *fs_task_new(fuse_req_t request, enum fs_operation operation, struct fs_inode *inode, const char *name)
{
	struct fs_session *session = fs_session_of(request);
	struct fs_task *task = calloc(1, sizeof(*task));
	char *name_copy = name ? strdup(name) : NULL;
	if (!task || (name && !name_copy)) {
		free(task);
		free(name_copy);
		inode_table_unref(session->inodes, inode);
		fs_reply_status(request, operation, name, HFKV_NO_MEMORY, NULL);
		return NULL;
	}
	task->session = session;
	task->request = request;
	task->operation = operation;
	task->deadline = deadline_after_ms(session->settings.timeout_ms);
	task->inode = inode;
	task->name = name_copy;
	SCOPED_LOCK(&session->parked_mutex);
	session->parked++;
	return task;
}

void fs_task_free(struct fs_task *task)
{
	struct fs_session *session = task->session;
	inode_table_unref(session->inodes, task->inode);
	inode_table_unref(session->inodes, task->directory);
	free(task->name);
	free(task->new_name);
	free(task->path);
	free(task->new_path);
	free(task);
	SCOPED_LOCK(&session->parked_mutex);
	if (--session->parked == 0)
		pthread_cond_broadcast(&session->parked_none);
}

static struct fs_task *task_of(struct work_item *item)
{
	return (struct fs_task *)((char *)item - offsetof(struct fs_task, item));
}

static void run_task(struct work_item *item)
{
	struct fs_task *task = task_of(item);
	task->run(task);
	fs_task_free(task);
}

static void cancel_task(struct work_item *item)
{
	struct fs_task *task = task_of(item);
	fs_reply_status(task->request, task->operation, task->name, HFKV_CANCELLED, NULL);
	fs_task_free(task);
}

void fs_task_submit(struct fs_task *task, void (*run)(struct fs_task *task))
{
	task->run = run;
	task->item.run = run_task;
	task->item.cancel = cancel_task;
	enum hfkv_status status = work_pool_submit(task->session->pool, &task->item);
	if (status == HFKV_OK)
		return;
	struct fault fault = FAULT_NONE;
	status = fault_set(&fault, status, "too many requests wait for the network");
	fs_reply_status(task->request, task->operation, task->name, status, &fault);
	fs_task_free(task);
}

void fs_task_wait_all(struct fs_session *session)
{
	SCOPED_LOCK(&session->parked_mutex);
	while (session->parked > 0)
		pthread_cond_wait(&session->parked_none, &session->parked_mutex);
}
