#include "fuse/fs_reply.h"

#include "common/clock.h"
#include "common/log.h"
#include "fuse/fs_attributes.h"

#include <errno.h>
#include <string.h>

int64_t fs_time_left_ms(int64_t until_ms)
{
	int64_t left = until_ms - clock_now_ms();
	return left > 0 ? left : 0;
}

void fs_reply_done(fuse_req_t request)
{
	fuse_reply_err(request, 0);
}

/* A miss is an outcome; a refusal by rule deserves a look; the rest is trouble. */
static bool deserves_warning(enum hfkv_status status, const struct fault *fault)
{
	switch (status) {
	case HFKV_OK:
	case HFKV_NOT_FOUND:
	case HFKV_EXISTS:
	case HFKV_CANCELLED:
		return false;
	case HFKV_INVALID: return fault && fault->http_status; /* a rule of ours, or a refusal by the server */
	case HFKV_PARTIAL_KV_CHUNK:
	case HFKV_OVERSIZE:
	case HFKV_AUTH:
	case HFKV_FORBIDDEN:
	case HFKV_RATE_LIMITED:
	case HFKV_QUOTA:
	case HFKV_NO_SPACE:
	case HFKV_CHANGED:
	case HFKV_CORRUPT:
	case HFKV_UNAVAILABLE:
	case HFKV_TIMEOUT:
	case HFKV_BUSY:
	case HFKV_NO_MEMORY:
	case HFKV_IO:
	case HFKV_BUG:
	case HFKV_STATUS_COUNT:
		break;
	}
	return true;
}

static void log_failure(enum fs_operation operation, const char *name, enum hfkv_status status,
			const struct fault *fault)
{
	if (!deserves_warning(status, fault)) {
		log_debug("%s \"%s\": %s", fs_operation_name(operation), name ? name : "",
			  fault_text(fault, status));
		return;
	}
	const char *separator = fault && fault->request_id[0] ? ", request " : "";
	const char *request_id = fault ? fault->request_id : "";
	if (fault && fault->http_status)
		log_warning("%s \"%s\": %s (HTTP %d%s%s)", fs_operation_name(operation), name ? name : "",
			    fault_text(fault, status), fault->http_status, separator, request_id);
	else
		log_warning("%s \"%s\": %s", fs_operation_name(operation), name ? name : "",
			    fault_text(fault, status));
}

void fs_reply_status(fuse_req_t request, enum fs_operation operation, const char *name, enum hfkv_status status,
		     const struct fault *fault)
{
	if (status == HFKV_OK) {
		fs_reply_done(request);
		return;
	}
	struct fs_session *session = fs_session_of(request);
	if (status != HFKV_NOT_FOUND)
		atomic_fetch_add_explicit(&session->errors, 1, memory_order_relaxed);
	log_failure(operation, name, status, fault);
	fuse_reply_err(request, status_to_errno(status));
}

void fs_reply_errno(fuse_req_t request, enum fs_operation operation, const char *name, int error_number)
{
	if (log_enabled(LOG_LEVEL_DEBUG))
		log_debug("%s \"%s\": answered %s", fs_operation_name(operation), name ? name : "",
			  strerrorname_np(error_number));
	fuse_reply_err(request, error_number);
}

void fs_reply_entry(fuse_req_t request, struct fs_inode *inode, int64_t entry_ms)
{
	struct fs_session *session = fs_session_of(request);
	struct fuse_entry_param entry = { .ino = fs_node_of(session, inode) };
	int64_t attributes_ms = 0;
	fs_attributes_fill(session, inode, &entry.attr, &attributes_ms);
	entry.entry_timeout = (double)entry_ms / 1000;
	entry.attr_timeout = (double)attributes_ms / 1000;
	inode_table_looked_up(session->inodes, inode);
	if (fuse_reply_entry(request, &entry) != 0)
		inode_table_forget(session->inodes, inode, 1);
}

void fs_reply_absent(fuse_req_t request, int64_t holds_ms)
{
	if (holds_ms <= 0) {
		fuse_reply_err(request, ENOENT);
		return;
	}
	struct fuse_entry_param entry = { .entry_timeout = (double)holds_ms / 1000 };
	fuse_reply_entry(request, &entry);
}

void fs_reply_attributes(fuse_req_t request, struct fs_inode *inode)
{
	struct stat attributes;
	int64_t holds_ms = 0;
	fs_attributes_fill(fs_session_of(request), inode, &attributes, &holds_ms);
	fuse_reply_attr(request, &attributes, (double)holds_ms / 1000);
}
