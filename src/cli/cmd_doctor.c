/*
 * hfkv doctor: what this machine offers, and what is missing, in lines a person can act on.
 */
#include "src/cli/commands.h"
#include "src/cli/network_options.h"
#include "src/cli/object_report.h"
#include "src/cli/progress.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define PROBE_MS            10000
#define SHM_SMALL_BYTES     ((uint64_t)1 << 30)
#define PASSTHROUGH_KERNEL  "6.9"
/* A name that nobody's bucket has: the answer tells whether the Hub is reached and takes the token. */
#define NO_SUCH_BUCKET      "hfkv-doctor/no-such-bucket"

enum finding { FINDING_OK, FINDING_NOTE, FINDING_BAD };

struct doctor_options {
	struct network_options network;
	const char *url;
};

struct report {
	bool json;
	json_t *findings;
	int bad;
};

static error_t doctor_parse(int key, char *argument, struct argp_state *state)
{
	struct doctor_options *values = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &values->network; return 0;
	case ARGP_KEY_ARG:
		if (values->url)
			return option_error(state, "one URL at a time, '%s' is too many", argument);
		values->url = argument;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child doctor_children[] = { { &network_argp, 0, NULL, 0 }, { 0 } };
static const struct argp doctor_argp = {
	.parser = doctor_parse, .children = doctor_children, .args_doc = "[URL]",
	.doc = "Check what hfkv needs on this machine, and with URL whether that bucket can be used."
	       "\vOne line a finding: 'ok', 'note' (works, but could be better) or 'BAD'. Exit code 1 when one is BAD.",
};

static void PRINTF_LIKE(4, 5)
	add_finding(struct report *report, enum finding finding, const char *subject, const char *format, ...)
{
	static const char *const words[] = { "ok", "note", "BAD" };
	char text[FAULT_TEXT_BYTES];
	va_list values;
	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	report->bad += finding == FINDING_BAD;
	if (report->json)
		json_array_append_new(report->findings, json_pack("{ss ss ss}", "subject", subject, "finding",
								  words[finding], "text", text));
	else
		printf("%-5s %-12s %s\n", words[finding], subject, text);
}

/* ---- the machine ---- */

static void check_fuse(struct report *report)
{
	CLEANUP(close_fd) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		add_finding(report, FINDING_OK, "/dev/fuse", "can be opened");
	else if (errno == ENOENT)
		add_finding(report, FINDING_BAD, "/dev/fuse", "missing: modprobe fuse, or give the container --device /dev/fuse");
	else
		add_finding(report, FINDING_BAD, "/dev/fuse",
			    "cannot be opened: %s; users need mode 0666 on it, a container --device /dev/fuse --cap-add SYS_ADMIN",
			    strerrordesc_np(errno));
}

static bool program_in_path(const char *name)
{
	const char *path = getenv("PATH");
	CLEANUP(free_pointer) char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *rest = copy, *directory, file[4096];
	while (rest && (directory = strsep(&rest, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", directory, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static void check_fusermount(struct report *report)
{
	if (program_in_path("fusermount3"))
		add_finding(report, FINDING_OK, "fusermount3", "found: users can mount");
	else if (geteuid() == 0)
		add_finding(report, FINDING_NOTE, "fusermount3", "missing: root mounts without it, users need Debian's fuse3");
	else
		add_finding(report, FINDING_BAD, "fusermount3", "missing: install Debian's fuse3");
}

static bool kernel_is_at_least(const char *release, int major, int minor)
{
	int found_major = 0, found_minor = 0;
	if (sscanf(release, "%d.%d", &found_major, &found_minor) != 2)
		return false;
	return found_major > major || (found_major == major && found_minor >= minor);
}

/* Whether it is granted shows at a mount ('hfkv status'): the kernel may be built without it. */
static void check_passthrough(struct report *report)
{
	struct utsname kernel;
	uname(&kernel);
	if (!HFKV_HAS_PASSTHROUGH)
		add_finding(report, FINDING_NOTE, "passthrough", "built with libfuse < 3.17: staged chunks are read through the "
								 "page cache");
	else if (!kernel_is_at_least(kernel.release, 6, 9))
		add_finding(report, FINDING_NOTE, "passthrough", "kernel %s is older than " PASSTHROUGH_KERNEL ": staged chunks are "
								 "read through the page cache", kernel.release);
	else if (geteuid() != 0)
		add_finding(report, FINDING_NOTE, "passthrough", "the kernel grants it to root only: staged chunks are read through "
								 "the page cache");
	else
		add_finding(report, FINDING_OK, "passthrough", "kernel %s and libfuse can do it", kernel.release);
}

static void check_shm(struct report *report)
{
	struct statvfs about;
	char text[24], free_text[24];
	if (statvfs("/dev/shm", &about) != 0) {
		add_finding(report, FINDING_NOTE, "/dev/shm", "missing: staging goes to /var/tmp, slower");
		return;
	}
	uint64_t total = (uint64_t)about.f_blocks * about.f_frsize, left = (uint64_t)about.f_bavail * about.f_frsize;
	progress_format_bytes(total, text, sizeof(text));
	progress_format_bytes(left, free_text, sizeof(free_text));
	if (left < SHM_SMALL_BYTES)
		add_finding(report, FINDING_NOTE, "/dev/shm", "%s, %s free: small for staging (containers: --shm-size), or choose "
							      "--staging-dir", text, free_text);
	else
		add_finding(report, FINDING_OK, "/dev/shm", "%s, %s free", text, free_text);
}

/* ---- the Hub ---- */

static enum hfkv_status probe(const struct doctor_options *options, const char *bucket, struct fault *fault)
{
	CLEANUP(object_store_freep) struct object_store *store = NULL;
	enum hfkv_status status = network_open_store(&options->network, bucket, "cli", &store, fault);
	return status == HFKV_OK ? object_store_probe(store, deadline_after_ms(PROBE_MS), fault) : status;
}

static void check_hub(struct report *report, const struct doctor_options *options)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = probe(options, NO_SUCH_BUCKET, &fault);
	if (status == HFKV_OK || status == HFKV_NOT_FOUND || status == HFKV_FORBIDDEN)
		add_finding(report, FINDING_OK, "Hub", "answers, and takes the token");
	else if (status == HFKV_AUTH)
		add_finding(report, FINDING_BAD, "Hub", "%s", fault_text(&fault, status));
	else
		add_finding(report, FINDING_BAD, "Hub", "not reached: %s", fault_text(&fault, status));
}

static void check_bucket(struct report *report, const struct doctor_options *options)
{
	CLEANUP(bucket_url_done) struct bucket_url url = { 0 };
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = bucket_url_parse(options->url, &url, &fault);
	if (status == HFKV_OK)
		status = probe(options, url.bucket, &fault);
	if (status == HFKV_OK)
		add_finding(report, FINDING_OK, "bucket", "%s can be used", url.bucket);
	else
		add_finding(report, FINDING_BAD, "bucket", "%s", fault_text(&fault, status));
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options options = { 0 };
	if (options_parse(&doctor_argp, argc, argv, &options) != 0)
		return CLI_USAGE;
	struct report report = { .json = options.network.json, .findings = json_array() };
	check_fuse(&report);
	check_fusermount(&report);
	check_passthrough(&report);
	check_shm(&report);
	if (options.url)
		check_bucket(&report, &options);
	else
		check_hub(&report, &options);
	if (report.json)
		json_print_line(json_pack("{sO}", "findings", report.findings));
	json_decref(report.findings);
	return stdout_finish(report.bad ? CLI_FAILED : CLI_DONE);
}
