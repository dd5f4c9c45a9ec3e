#include "src/connector/task_engine.h"

#include "common/work_pool.h"

#include <string.h>

#define TASKS_MAX      4096
#define ASIDE_MAX      64
#define THREAD_IDLE_MS 10000
/* Paths of PATH_MAX bytes live on these stacks, two in a put. */
#define STACK_BYTES (256 * 1024)

struct task_worker {
	struct work_item item;
	struct running_task *task;
};

/* A task with what the engine keeps of it. */
struct running_task {
	struct task task; /* first: task_free and done get this */
	struct task_engine *engine;
	task_done done;
	void *context;
	int64_t timeout_ms;
	size_t step;
	atomic_size_t next_item;
	atomic_size_t at_work; /* workers, and the submitter until it has started them all */
	atomic_bool cancelled;
	atomic_flag failed;                        /* the first failure keeps the fault */
	struct running_task *previous, *following; /* under the engine's mutex: tasks that may be cancelled */
	size_t worker_count;
	struct task_worker workers[];
};

struct task_engine {
	struct kv_backend *backend;
	struct work_pool *pool;
	struct work_pool *aside_pool; /* one thread, so that housekeeping never holds a task up */
	size_t max_threads;
	atomic_bool stopping; /* set under mutex */
	pthread_mutex_t mutex;
	struct running_task *tasks; /* under mutex */
	size_t task_count;          /* under mutex */
};

void task_free(struct task *task)
{
	free(task);
}

static enum hfkv_status make_pool(const char *name, size_t max_threads, size_t max_queued,
				  struct work_pool **ret_pool)
{
	struct work_pool_settings settings = {
		.name = name,
		.max_threads = max_threads,
		.max_queued = max_queued,
		.idle_ms = THREAD_IDLE_MS,
		.stack_bytes = STACK_BYTES,
	};
	return work_pool_new(&settings, ret_pool);
}

enum hfkv_status task_engine_new(struct kv_backend *backend, size_t max_threads, struct task_engine **ret_engine)
{
	CLEANUP(task_engine_freep) struct task_engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return HFKV_NO_MEMORY;
	pthread_mutex_init(&engine->mutex, NULL);
	engine->backend = backend;
	engine->max_threads = max_threads;
	enum hfkv_status status = make_pool("hfkv-kv", max_threads, TASKS_MAX * 2, &engine->pool);
	if (status == HFKV_OK)
		status = make_pool("hfkv-side", 1, ASIDE_MAX, &engine->aside_pool);
	if (status == HFKV_OK)
		*ret_engine = TAKE_PTR(engine);
	return status;
}

void task_engine_free(struct task_engine *engine)
{
	if (!engine)
		return;
	pthread_mutex_lock(&engine->mutex);
	atomic_store(&engine->stopping, true);
	pthread_mutex_unlock(&engine->mutex);
	/* Work aside may still run batches, so its pool goes first; tasks that end now find that we stop. */
	work_pool_free(engine->aside_pool);
	work_pool_free(engine->pool);
	pthread_mutex_destroy(&engine->mutex);
	free(engine);
}

/* ---- the list of tasks that can be cancelled ---- */

static bool enlist(struct task_engine *engine, struct running_task *task)
{
	SCOPED_LOCK(&engine->mutex);
	if (engine->task_count >= TASKS_MAX)
		return false;
	engine->task_count++;
	task->following = engine->tasks;
	if (engine->tasks)
		engine->tasks->previous = task;
	engine->tasks = task;
	return true;
}

static void delist(struct task_engine *engine, struct running_task *task)
{
	SCOPED_LOCK(&engine->mutex);
	engine->task_count--;
	if (task->previous)
		task->previous->following = task->following;
	else
		engine->tasks = task->following;
	if (task->following)
		task->following->previous = task->previous;
}

void task_engine_cancel(struct task_engine *engine, uint64_t id)
{
	SCOPED_LOCK(&engine->mutex);
	for (struct running_task *task = engine->tasks; task; task = task->following)
		if (task->task.id == id)
			atomic_store(&task->cancelled, true);
}

/* ---- working on a task ---- */

static void keep_failure(struct running_task *task, enum hfkv_status status, const struct fault *fault)
{
	if (atomic_flag_test_and_set(&task->failed))
		return;
	task->task.status = status;
	if (fault)
		task->task.fault = *fault;
}

static void give_up_items(struct running_task *task, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++) {
		task->task.items[i].status = HFKV_CANCELLED;
		task->task.items[i].bytes = 0;
		task->task.items[i].is_new = 0;
	}
	keep_failure(task, HFKV_CANCELLED, NULL);
}

static void run_items(struct running_task *task, size_t start, size_t end)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status =
	    kv_backend_run(task->engine->backend, task->task.operation, task->task.items + start, end - start,
			   deadline_after_ms(task->timeout_ms), &fault);
	if (status != HFKV_OK)
		keep_failure(task, status, &fault);
}

/* Takes items until none is left. */
static void work_on(struct running_task *task)
{
	for (;;) {
		size_t start = atomic_fetch_add(&task->next_item, task->step);
		if (start >= task->task.count)
			return;
		size_t left = task->task.count - start;
		size_t end = start + (left < task->step ? left : task->step);
		if (atomic_load(&task->cancelled) || atomic_load(&task->engine->stopping))
			give_up_items(task, start, end);
		else
			run_items(task, start, end);
	}
}

/* The last one out reports. */
static void leave(struct running_task *task)
{
	if (atomic_fetch_sub(&task->at_work, 1) != 1)
		return;
	delist(task->engine, task);
	task->done(&task->task, task->context);
}

static void worker_run(struct work_item *item)
{
	struct running_task *task = ((struct task_worker *)item)->task;
	work_on(task);
	leave(task);
}

/* `with_caller`: the calling thread works too, so one worker fewer is asked for. */
static struct running_task *make_task(struct task_engine *engine, const struct task_request *request,
				      bool with_caller)
{
	size_t step = kv_backend_step(engine->backend, request->operation);
	if (step > request->count)
		step = request->count ? request->count : 1;
	size_t parts = (request->count + step - 1) / step;
	size_t workers = parts < engine->max_threads ? parts : engine->max_threads;
	if (with_caller)
		workers = workers > 0 ? workers - 1 : 0;
	else if (workers == 0)
		workers = 1; /* an empty batch is still reported from a thread */
	struct running_task *task = calloc(1, sizeof(*task) + workers * sizeof(task->workers[0]));
	if (!task)
		return NULL;
	task->task.id = request->id;
	task->task.operation = request->operation;
	task->task.items = request->items;
	task->task.count = request->count;
	task->task.fault = FAULT_NONE;
	task->engine = engine;
	task->done = request->done;
	task->context = request->context;
	task->timeout_ms = request->timeout_ms;
	task->step = step;
	task->worker_count = workers;
	atomic_init(&task->at_work, 1);
	for (size_t i = 0; i < workers; i++)
		task->workers[i] =
		    (struct task_worker){ .item = { .run = worker_run, .cancel = worker_run }, .task = task };
	return task;
}

/* Starts the workers. The status of the first one; fewer than asked for are enough. */
static enum hfkv_status start_workers(struct running_task *task)
{
	enum hfkv_status first = HFKV_OK;
	for (size_t i = 0; i < task->worker_count; i++) {
		atomic_fetch_add(&task->at_work, 1);
		enum hfkv_status status = work_pool_submit(task->engine->pool, &task->workers[i].item);
		if (status == HFKV_OK)
			continue;
		atomic_fetch_sub(&task->at_work, 1);
		if (i == 0)
			first = status;
		break;
	}
	return first;
}

enum hfkv_status task_engine_submit(struct task_engine *engine, const struct task_request *request)
{
	struct running_task *task = make_task(engine, request, false);
	if (!task)
		return HFKV_NO_MEMORY;
	if (!enlist(engine, task)) {
		free(task);
		return HFKV_BUSY;
	}
	enum hfkv_status status = start_workers(task);
	if (status != HFKV_OK) {
		delist(engine, task);
		free(task);
		return status;
	}
	leave(task);
	return HFKV_OK;
}

/* ---- blocking ---- */

struct waiter {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool is_done;
	enum hfkv_status status;
	struct fault fault;
};

static void wake_waiter(struct task *task, void *context)
{
	struct waiter *waiter = context;
	pthread_mutex_lock(&waiter->mutex);
	waiter->status = task->status;
	waiter->fault = task->fault;
	waiter->is_done = true;
	pthread_cond_signal(&waiter->condition);
	pthread_mutex_unlock(&waiter->mutex);
	task_free(task);
}

/* The outcome of a batch that was not taken is its items' too: none of them was touched. */
static enum hfkv_status refuse_batch(const struct task_request *request, enum hfkv_status status)
{
	for (size_t i = 0; i < request->count; i++) {
		request->items[i].status = status;
		request->items[i].bytes = 0;
		request->items[i].is_new = 0;
	}
	return status;
}

static enum hfkv_status run_with_workers(struct task_engine *engine, const struct task_request *request,
					 struct waiter *waiter, struct fault *fault)
{
	struct running_task *task = make_task(engine, request, true);
	if (!task)
		return refuse_batch(request, HFKV_NO_MEMORY);
	if (!enlist(engine, task)) {
		free(task);
		return refuse_batch(request,
				    fault_set(fault, HFKV_BUSY, "more than %d batches wait", TASKS_MAX));
	}
	(void)start_workers(task); /* alone it works too */
	work_on(task);
	leave(task);
	pthread_mutex_lock(&waiter->mutex);
	while (!waiter->is_done)
		pthread_cond_wait(&waiter->condition, &waiter->mutex);
	pthread_mutex_unlock(&waiter->mutex);
	if (waiter->status != HFKV_OK && fault)
		*fault = waiter->fault;
	return waiter->status;
}

enum hfkv_status task_engine_run(struct task_engine *engine, enum hfkv_operation operation,
				 struct hfkv_item *items, size_t count, int64_t timeout_ms, struct fault *fault)
{
	if (count <= kv_backend_step(engine->backend, operation))
		return kv_backend_run(engine->backend, operation, items, count, deadline_after_ms(timeout_ms),
				      fault);
	struct waiter waiter = { .fault = FAULT_NONE };
	pthread_mutex_init(&waiter.mutex, NULL);
	condition_init(&waiter.condition);
	struct task_request request = {
		.operation = operation,
		.items = items,
		.count = count,
		.timeout_ms = timeout_ms,
		.done = wake_waiter,
		.context = &waiter,
	};
	enum hfkv_status status = run_with_workers(engine, &request, &waiter, fault);
	pthread_mutex_destroy(&waiter.mutex);
	pthread_cond_destroy(&waiter.condition);
	return status;
}

/* ---- work beside the tasks ---- */

struct aside {
	struct work_item item;
	void (*function)(void *context);
	void *context;
};

static void aside_run(struct work_item *item)
{
	struct aside *aside = (struct aside *)item;
	aside->function(aside->context);
	free(aside);
}

static void aside_cancel(struct work_item *item)
{
	free(item);
}

bool task_engine_run_aside(struct task_engine *engine, void (*function)(void *context), void *context)
{
	struct aside *aside = calloc(1, sizeof(*aside));
	if (!aside)
		return false;
	*aside = (struct aside){ { aside_run, aside_cancel, NULL }, function, context };
	pthread_mutex_lock(&engine->mutex); /* the pool lives while we do not stop */
	bool taken =
	    !atomic_load(&engine->stopping) && work_pool_submit(engine->aside_pool, &aside->item) == HFKV_OK;
	pthread_mutex_unlock(&engine->mutex);
	if (!taken)
		free(aside);
	return taken;
}

const atomic_bool *task_engine_stopping(const struct task_engine *engine)
{
	return &engine->stopping;
}
