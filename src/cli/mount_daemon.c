#include "src/cli/mount_daemon.h"

#include "src/cli/commands.h"
#include "src/cli/control_socket.h"
#include "src/cli/mount_registry.h"
#include "src/cli/mount_status.h"
#include "src/cli/service_notify.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <syslog.h>

#define TMPFS_TYPE 0x01021994 /* linux/magic.h */

struct mount_daemon {
	const struct mount_options *options;
	struct daemon_start *start;
	int log_fd;
	int64_t started_at_ms;
	atomic_bool draining;
	struct mount_record *record;
	struct object_store *store;
	struct kv_cache *cache;
	struct control_server *control;
	pthread_t signal_thread;
	bool signal_thread_runs;
	int signal_fd, stop_fd;

	pthread_mutex_t mutex; /* for session: it is closed while control requests still come */
	struct fs_session *session;
};

/* ---- the log of a daemon without a terminal ---- */

static atomic_bool in_background;

/* While it starts, warnings are for the person who waits. */
static void write_log_line(void *context, enum log_level level, const char *line)
{
	static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
	(void)context;
	if (atomic_load(&in_background))
		syslog(priorities[level], "%s", line);
	else
		fprintf(stderr, "hfkv: %s\n", line);
}

static enum hfkv_status prepare_log(struct mount_daemon *daemon, struct fault *fault)
{
	const struct mount_options *options = daemon->options;
	if (options->log_file) {
		daemon->log_fd = open(options->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (daemon->log_fd < 0)
			return fault_set_errno(fault, errno, "cannot write the log '%s'", options->log_file);
		if (options->foreground)
			dup2(daemon->log_fd, STDERR_FILENO);
	} else if (!options->foreground) {
		openlog("hfkv", LOG_PID, LOG_DAEMON);
		log_redirect(write_log_line, NULL);
	}
	return HFKV_OK;
}

/* ---- what others ask of it ---- */

static json_t *status_json(struct mount_daemon *daemon)
{
	SCOPED_LOCK(&daemon->mutex);
	struct mount_view view = { daemon->options, daemon->cache, daemon->session, atomic_load(&daemon->draining),
				   clock_now_ms() - daemon->started_at_ms };
	return mount_status_json(&view);
}

/* For the hidden file in the root. */
static char *status_text(void *context)
{
	json_t *status = status_json(context);
	char *text = status ? json_dumps(status, JSON_INDENT(2)) : NULL;
	json_decref(status);
	return text;
}

static json_t *drain(struct mount_daemon *daemon)
{
	struct fault fault = FAULT_NONE;
	atomic_store(&daemon->draining, true);
	enum hfkv_status status = kv_cache_sync(daemon->cache, NULL,
						deadline_after_ms(daemon->options->drain_timeout_ms), &fault);
	if (status == HFKV_OK)
		return json_pack("{sb}", "drained", 1);
	atomic_store(&daemon->draining, false);
	return json_pack("{ss}", "error", fault_text(&fault, status));
}

static json_t *answer_control(void *context, const char *request)
{
	struct mount_daemon *daemon = context;
	if (strcmp(request, "status") == 0)
		return status_json(daemon);
	if (strcmp(request, "drain") == 0)
		return drain(daemon);
	if (strcmp(request, "resume") == 0) { /* an unmount that was refused */
		atomic_store(&daemon->draining, false);
		return json_object();
	}
	return json_pack("{ss}", "error", "unknown request");
}

/* ---- signals ---- */

static void reload(struct mount_daemon *daemon)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = store_reload_token(daemon->store, &fault);
	if (status != HFKV_OK)
		log_warning("SIGHUP: token not read again: %s, ignoring", fault_text(&fault, status));
	status = mount_options_apply_log(daemon->options, &fault);
	if (status != HFKV_OK)
		log_warning("SIGHUP: log level not read again: %s, ignoring", fault_text(&fault, status));
}

static void stop_session(struct mount_daemon *daemon)
{
	atomic_store(&daemon->draining, true);
	service_notify("STOPPING=1");
	SCOPED_LOCK(&daemon->mutex);
	if (daemon->session)
		fs_session_stop(daemon->session);
}

static void *watch_signals(void *argument)
{
	struct mount_daemon *daemon = argument;
	struct pollfd ready[] = { { .fd = daemon->signal_fd, .events = POLLIN }, { .fd = daemon->stop_fd, .events = POLLIN } };
	pthread_setname_np(pthread_self(), "signals");
	while (poll(ready, ARRAY_LENGTH(ready), -1) > 0 || errno == EINTR) {
		struct signalfd_siginfo info;
		if (ready[1].revents)
			break;
		if (read(daemon->signal_fd, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGHUP)
			reload(daemon);
		else
			stop_session(daemon);
	}
	return NULL;
}

/* Before any other thread: they inherit the mask. */
static enum hfkv_status block_signals(struct mount_daemon *daemon, struct fault *fault)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	daemon->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	daemon->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (daemon->signal_fd < 0 || daemon->stop_fd < 0)
		return fault_set_errno(fault, errno, "cannot watch signals");
	return HFKV_OK;
}

static enum hfkv_status start_signal_thread(struct mount_daemon *daemon, struct fault *fault)
{
	int error = pthread_create(&daemon->signal_thread, NULL, watch_signals, daemon);
	if (error)
		return fault_set_errno(fault, error, "cannot start a thread");
	daemon->signal_thread_runs = true;
	return HFKV_OK;
}

/* ---- start ---- */

static void on_ready(void *context)
{
	struct mount_daemon *daemon = context;
	if (!daemon->options->foreground)
		atomic_store(&in_background, true);
	daemonize_ready(daemon->start, daemon->log_fd);
	service_notify("READY=1");
}

/* A cache holds many staged files open. */
static void allow_open_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static enum hfkv_status open_store(struct mount_daemon *daemon, struct fault *fault)
{
	const struct mount_options *options = daemon->options;
	enum hfkv_status status =
		network_open_store(&options->network, options->url.bucket, "mount", &daemon->store, fault);
	if (status != HFKV_OK)
		return status;
	status = object_store_probe(daemon->store, deadline_after_ms(options->cache.timeout_ms), fault);
	if (status == HFKV_NOT_FOUND && options->network.create_bucket_if_missing && !options->session.read_only)
		return HFKV_OK; /* the first write makes it */
	return status;
}

/* Whether a tmpfs of our own can take the place of the staging directory: as root, on a tmpfs or on the default place. */
static bool wants_private_tmpfs(const struct mount_options *options)
{
	struct statfs about;
	if (geteuid() != 0)
		return false;
	return !options->cache.staging_dir ||
	       (statfs(options->cache.staging_dir, &about) == 0 && about.f_type == TMPFS_TYPE);
}

static enum hfkv_status open_cache(struct mount_daemon *daemon, struct fault *fault)
{
	const struct mount_options *options = daemon->options;
	struct kv_cache_settings settings = options->cache;
	settings.store = daemon->store;
	settings.prefix = options->url.path;
	settings.spec = options->spec;
	settings.staging_label = "mount";
	settings.staging_private_tmpfs = wants_private_tmpfs(options);
	return kv_cache_open(&settings, &daemon->cache, fault);
}

static enum hfkv_status open_session(struct mount_daemon *daemon, struct fault *fault)
{
	const struct mount_options *options = daemon->options;
	struct fs_session_settings settings = options->session;
	settings.mountpoint = options->mountpoint;
	settings.source = options->source;
	settings.cache = daemon->cache;
	settings.spec = options->spec;
	settings.status_json = status_text;
	settings.status_context = daemon;
	settings.ready = on_ready;
	settings.ready_context = daemon;
	return fs_session_open(&settings, &daemon->session, fault);
}

static enum hfkv_status start_all(struct mount_daemon *daemon, struct fault *fault)
{
	allow_open_files();
	umask(077);
	enum hfkv_status status = block_signals(daemon, fault);
	if (status == HFKV_OK)
		status = prepare_log(daemon, fault);
	if (status == HFKV_OK)
		status = mount_registry_claim(daemon->options->mountpoint, daemon->options->source, &daemon->record, fault);
	if (status == HFKV_OK)
		status = open_store(daemon, fault);
	if (status == HFKV_OK)
		status = open_cache(daemon, fault);
	if (status == HFKV_OK)
		status = open_session(daemon, fault);
	if (status == HFKV_OK)
		status = control_server_new(mount_record_socket(daemon->record), answer_control, daemon, &daemon->control,
					    fault);
	if (status == HFKV_OK)
		status = start_signal_thread(daemon, fault);
	return status;
}

/* ---- end ---- */

static void close_session(struct mount_daemon *daemon)
{
	pthread_mutex_lock(&daemon->mutex);
	struct fs_session *session = TAKE_PTR(daemon->session);
	pthread_mutex_unlock(&daemon->mutex);
	fs_session_close(session);
}

/* Unmounts, then drains while `status` still answers. The number of commits left undone. */
static size_t end_all(struct mount_daemon *daemon)
{
	struct deadline deadline = deadline_after_ms(daemon->options->drain_timeout_ms);
	size_t abandoned = 0;
	atomic_store(&daemon->draining, true);
	close_session(daemon);
	if (daemon->cache) {
		struct fault fault = FAULT_NONE;
		enum hfkv_status status = kv_cache_sync(daemon->cache, NULL, deadline, &fault);
		if (status != HFKV_OK)
			log_error("draining: %s", fault_text(&fault, status));
	}
	control_server_free(daemon->control);
	if (daemon->signal_thread_runs) {
		eventfd_write(daemon->stop_fd, 1);
		pthread_join(daemon->signal_thread, NULL);
	}
	if (daemon->cache)
		kv_cache_close(daemon->cache, deadline, &abandoned);
	object_store_free(daemon->store);
	mount_record_release(daemon->record);
	for (size_t i = 0; i < 3; i++)
		close_fd((int *[]){ &daemon->log_fd, &daemon->signal_fd, &daemon->stop_fd }[i]);
	pthread_mutex_destroy(&daemon->mutex);
	return abandoned;
}

int mount_daemon_run(const struct mount_options *options, struct daemon_start *start)
{
	struct mount_daemon daemon = { .options = options, .start = start, .log_fd = -1, .signal_fd = -1, .stop_fd = -1,
				       .started_at_ms = clock_now_ms() };
	struct fault fault = FAULT_NONE;
	pthread_mutex_init(&daemon.mutex, NULL);
	enum hfkv_status status = start_all(&daemon, &fault);
	if (status != HFKV_OK) {
		int code = cli_fail(status, &fault);
		end_all(&daemon);
		return code;
	}
	status = fs_session_run(daemon.session, &fault);
	if (status != HFKV_OK)
		log_error("%s: %s", options->mountpoint, fault_text(&fault, status));
	size_t abandoned = end_all(&daemon);
	return status != HFKV_OK || abandoned ? CLI_FAILED : CLI_DONE;
}
