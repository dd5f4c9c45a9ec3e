/*
 * hfkv umount: lets a mount finish its uploads, takes it away, and waits until its daemon is gone.
 */
#include "src/cli/commands.h"
#include "src/cli/control_socket.h"
#include "src/cli/mount_registry.h"
#include "src/cli/mountpoint.h"
#include "src/cli/option_parser.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#define ANSWER_WAIT_MS 5000
#define SPARE_MS       10000 /* above the daemon's own limits, for what it does besides */

struct umount_options {
	bool force;
	const char *mountpoint;
};

static const struct argp_option umount_option_table[] = {
	{ "force", 'f', NULL, 0, "Unmount also when in use, or when uploads fail", 0 },
	{ 0 },
};

static error_t umount_parse(int key, char *argument, struct argp_state *state)
{
	struct umount_options *values = state->input;
	switch (key) {
	case 'f': values->force = true; return 0;
	case ARGP_KEY_ARG:
		if (values->mountpoint)
			return option_error(state, "one mountpoint at a time, '%s' is too many", argument);
		values->mountpoint = argument;
		return 0;
	case ARGP_KEY_END: return values->mountpoint ? 0 : option_error(state, "which mountpoint?");
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp umount_argp = {
	.options = umount_option_table, .parser = umount_parse, .args_doc = "MOUNTPOINT",
	.doc = "Store what is left to store, unmount, and return when the mount's daemon is gone."
	       "\vA mount whose daemon was killed is simply taken away. umount(8) does not wait for uploads: use this.",
};

/* ---- finding it ---- */

struct search {
	const char *mountpoint;
	bool found, alive;
	char *socket_path, *record_path;
};

static void search_done(struct search *search)
{
	free(search->socket_path);
	free(search->record_path);
}

static bool match(void *context, const struct mount_found *found)
{
	struct search *search = context;
	if (strcmp(search->mountpoint, found->mountpoint) != 0)
		return true;
	search->found = true;
	search->alive = found->alive;
	search->socket_path = strdup(found->socket_path);
	search->record_path = strdup(found->record_path);
	return false;
}

/* ---- ending it ---- */

/* The daemon's own drain limit; *ret_pid is its process. */
static enum hfkv_status ask_limit(const char *socket_path, int64_t *ret_limit_ms, pid_t *ret_pid, struct fault *fault)
{
	json_t *answer = NULL;
	enum hfkv_status status =
		control_ask(socket_path, "status", deadline_after_ms(ANSWER_WAIT_MS), &answer, ret_pid, fault);
	if (status != HFKV_OK)
		return status;
	*ret_limit_ms = 1000 * json_integer_value(json_object_get(answer, "drain_timeout_seconds"));
	json_decref(answer);
	return HFKV_OK;
}

static enum hfkv_status drain(const char *socket_path, int64_t limit_ms, struct fault *fault)
{
	json_t *answer = NULL;
	enum hfkv_status status =
		control_ask(socket_path, "drain", deadline_after_ms(limit_ms + SPARE_MS), &answer, NULL, fault);
	if (status != HFKV_OK)
		return status;
	const char *error = json_string_value(json_object_get(answer, "error"));
	if (error)
		status = fault_set(fault, HFKV_UNAVAILABLE, "not everything could be stored: %s; still mounted (--force "
							    "unmounts all the same)", error);
	json_decref(answer);
	return status;
}

static void resume(const char *socket_path)
{
	json_t *answer = NULL;
	if (control_ask(socket_path, "resume", deadline_after_ms(ANSWER_WAIT_MS), &answer, NULL, NULL) == HFKV_OK)
		json_decref(answer);
}

static enum hfkv_status wait_for_end(int pidfd, pid_t pid, int64_t limit_ms, struct fault *fault)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	struct deadline deadline = deadline_after_ms(limit_ms + SPARE_MS);
	int answered;
	do
		answered = poll(&ended, 1, (int)deadline_left_ms(deadline));
	while (answered < 0 && errno == EINTR);
	if (answered > 0)
		return HFKV_OK;
	return fault_set(fault, HFKV_TIMEOUT, "unmounted, but its daemon (pid %d) still works after %lld s", (int)pid,
			 (long long)(limit_ms + SPARE_MS) / 1000);
}

static enum hfkv_status end_living(const struct search *search, bool force, struct fault *fault)
{
	int64_t limit_ms = 0;
	pid_t pid = 0;
	enum hfkv_status status = ask_limit(search->socket_path, &limit_ms, &pid, fault);
	if (status != HFKV_OK)
		return force ? mountpoint_unmount(search->mountpoint, true, fault) : status;
	CLEANUP(close_fd) int pidfd = pidfd_open(pid, 0);
	status = drain(search->socket_path, limit_ms, fault);
	if (status != HFKV_OK && !force)
		return status;
	status = mountpoint_unmount(search->mountpoint, force, fault);
	if (status != HFKV_OK) {
		resume(search->socket_path);
		return status;
	}
	return pidfd < 0 ? HFKV_OK : wait_for_end(pidfd, pid, limit_ms, fault);
}

static enum hfkv_status end_dead(const struct search *search, struct fault *fault)
{
	enum hfkv_status status = HFKV_OK;
	if (mountpoint_has_mount(search->mountpoint))
		status = mountpoint_unmount(search->mountpoint, true, fault);
	if (status == HFKV_OK)
		mount_registry_forget(&(struct mount_found){ .socket_path = search->socket_path,
							      .record_path = search->record_path });
	return status;
}

static enum hfkv_status umount_at(const char *mountpoint, bool force, struct fault *fault)
{
	CLEANUP(search_done) struct search search = { .mountpoint = mountpoint };
	enum hfkv_status status = mount_registry_visit(match, &search, fault);
	if (status != HFKV_OK)
		return status;
	if (search.found && (!search.socket_path || !search.record_path))
		return fault_set(fault, HFKV_NO_MEMORY, "no memory");
	if (search.found)
		return search.alive ? end_living(&search, force, fault) : end_dead(&search, fault);
	if (mountpoint_has_mount(mountpoint)) /* no record: another user's, or of an older program */
		return mountpoint_unmount(mountpoint, force || mountpoint_is_dead(mountpoint), fault);
	return fault_set(fault, HFKV_NOT_FOUND, "'%s' is no hfkv mount", mountpoint);
}

int cmd_umount(int argc, char **argv)
{
	struct umount_options options = { 0 };
	struct fault fault = FAULT_NONE;
	if (options_parse(&umount_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	CLEANUP(free_pointer) char *mountpoint = NULL;
	enum hfkv_status status = mountpoint_resolve(options.mountpoint, &mountpoint, &fault);
	if (status == HFKV_OK)
		status = umount_at(mountpoint, options.force, &fault);
	return status == HFKV_OK ? CLI_DONE : cli_fail(status, &fault);
}
