/*
 * hfkv status: the mounts of this user, living and dead.
 */
#include "src/cli/commands.h"
#include "src/cli/control_socket.h"
#include "src/cli/mount_registry.h"
#include "src/cli/mountpoint.h"
#include "src/cli/object_report.h"
#include "src/cli/option_parser.h"
#include "src/cli/progress.h"

#include <stdio.h>
#include <string.h>

#define ANSWER_WAIT_MS 5000

struct status_options {
	bool json;
	const char *mountpoint;
};

enum { KEY_JSON = 0x6000 };

static const struct argp_option status_option_table[] = {
	{ "json", KEY_JSON, NULL, 0, "Print {\"mounts\": [...]}", 0 },
	{ 0 },
};

static error_t status_parse(int key, char *argument, struct argp_state *state)
{
	struct status_options *values = state->input;
	switch (key) {
	case KEY_JSON: values->json = true; return 0;
	case ARGP_KEY_ARG:
		if (values->mountpoint)
			return option_error(state, "one mountpoint at a time, '%s' is too many", argument);
		values->mountpoint = argument;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp status_argp = {
	.options = status_option_table, .parser = status_parse, .args_doc = "[MOUNTPOINT]",
	.doc = "Tell about the mounts of this user, or the one at MOUNTPOINT."
	       "\vA state is running, draining (it stores what is left) or dead (its daemon was killed: mounting again on the same "
	       "place, or 'hfkv umount', clears it). Exit code 3 when MOUNTPOINT is no hfkv mount.",
};

struct collection {
	const char *wanted; /* resolved mountpoint; NULL: all */
	json_t *mounts;
};

static json_t *describe(const struct mount_found *found)
{
	json_t *answer = NULL;
	struct fault fault = FAULT_NONE;
	if (!found->alive)
		return json_pack("{ss ss sI ss}", "mountpoint", found->mountpoint, "source", found->source, "pid",
				 (json_int_t)found->pid, "state", "dead");
	enum hfkv_status status = control_ask(found->socket_path, "status", deadline_after_ms(ANSWER_WAIT_MS), &answer,
					      NULL, &fault);
	if (status == HFKV_OK)
		return answer;
	return json_pack("{ss ss sI ss ss}", "mountpoint", found->mountpoint, "source", found->source, "pid",
			 (json_int_t)found->pid, "state", "running", "error", fault_text(&fault, status));
}

static bool collect(void *context, const struct mount_found *found)
{
	struct collection *collection = context;
	if (collection->wanted && strcmp(collection->wanted, found->mountpoint) != 0)
		return true;
	/* Its daemon is gone and somebody unmounted it: nothing to tell. */
	if (!found->alive && !mountpoint_has_mount(found->mountpoint)) {
		mount_registry_forget(found);
		return true;
	}
	json_array_append_new(collection->mounts, describe(found));
	return true;
}

/* ---- for people ---- */

static uint64_t count_of(const json_t *mount, const char *group, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(json_object_get(mount, group), name));
}

static const char *text_of(const json_t *mount, const char *name)
{
	const char *text = json_string_value(json_object_get(mount, name));
	return text ? text : "?";
}

static void print_work(const json_t *mount)
{
	char bytes[24];
	printf("  stored    %llu chunks (%s) in %llu batches, %llu failed, %llu pending\n",
	       (unsigned long long)count_of(mount, "counters", "commits"),
	       progress_format_bytes(count_of(mount, "counters", "committed_bytes"), bytes, sizeof(bytes)),
	       (unsigned long long)count_of(mount, "counters", "commit_batches"),
	       (unsigned long long)count_of(mount, "counters", "commit_failures"),
	       (unsigned long long)count_of(mount, "counters", "commits_pending"));
	printf("  loaded    %llu downloads (%s), %llu opens served from staging, %llu failed verification\n",
	       (unsigned long long)count_of(mount, "counters", "downloads"),
	       progress_format_bytes(count_of(mount, "counters", "downloaded_bytes"), bytes, sizeof(bytes)),
	       (unsigned long long)count_of(mount, "counters", "staged_hits"),
	       (unsigned long long)count_of(mount, "counters", "verify_failures"));
	printf("  asked     %llu metadata calls, %llu listing calls, %llu answers from cache\n",
	       (unsigned long long)count_of(mount, "counters", "stat_calls"),
	       (unsigned long long)count_of(mount, "counters", "list_calls"),
	       (unsigned long long)count_of(mount, "counters", "stats_from_cache"));
	printf("  refused   %llu partial, %llu oversize; %llu hidden for their size\n",
	       (unsigned long long)count_of(mount, "refusals", "partial"),
	       (unsigned long long)count_of(mount, "refusals", "oversize"),
	       (unsigned long long)count_of(mount, "refusals", "hidden_wrong_size"));
}

static void print_mount(const json_t *mount)
{
	char used[24], limit[24];
	printf("%s  %s  %s  (pid %lld)\n", text_of(mount, "mountpoint"), text_of(mount, "state"), text_of(mount, "source"),
	       (long long)json_integer_value(json_object_get(mount, "pid")));
	if (json_object_get(mount, "error"))
		printf("  %s\n", text_of(mount, "error"));
	if (!json_object_get(mount, "counters"))
		return;
	const json_t *staging = json_object_get(mount, "staging");
	printf("  mode      %s layout, %s commits%s%s, up %lld s\n", text_of(mount, "layout"), text_of(mount, "commit"),
	       json_is_true(json_object_get(mount, "read_only")) ? ", read-only" : "",
	       json_is_true(json_object_get(mount, "passthrough")) ? ", FUSE passthrough" : "",
	       (long long)json_integer_value(json_object_get(mount, "uptime_seconds")));
	printf("  staging   %s of %s in %s\n",
	       progress_format_bytes(count_of(mount, "staging", "used_bytes"), used, sizeof(used)),
	       progress_format_bytes(count_of(mount, "staging", "limit_bytes"), limit, sizeof(limit)),
	       text_of(staging, "dir"));
	print_work(mount);
}

static void print_all(const json_t *mounts, bool json)
{
	if (json) {
		json_print_line(json_pack("{sO}", "mounts", mounts));
		return;
	}
	for (size_t i = 0; i < json_array_size(mounts); i++)
		print_mount(json_array_get(mounts, i));
	if (json_array_size(mounts) == 0)
		puts("no hfkv mounts");
}

int cmd_status(int argc, char **argv)
{
	struct status_options options = { 0 };
	struct fault fault = FAULT_NONE;
	if (options_parse(&status_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	CLEANUP(free_pointer) char *wanted = NULL;
	enum hfkv_status status =
		options.mountpoint ? mountpoint_resolve(options.mountpoint, &wanted, &fault) : HFKV_OK;
	if (status != HFKV_OK)
		return cli_fail(status, &fault);
	struct collection collection = { wanted, json_array() };
	status = mount_registry_visit(collect, &collection, &fault);
	bool found = json_array_size(collection.mounts) > 0;
	if (status == HFKV_OK && (found || !wanted || options.json))
		print_all(collection.mounts, options.json);
	json_decref(collection.mounts);
	if (status == HFKV_OK && wanted && !found)
		status = fault_set(&fault, HFKV_NOT_FOUND, "'%s' is no hfkv mount of this user", wanted);
	return status == HFKV_OK ? stdout_finish(CLI_DONE) : cli_fail(status, &fault);
}
