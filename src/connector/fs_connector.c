#include "src/connector/fs_connector.h"

#include "cache/key_codec.h"
#include "common/log.h"
#include "src/connector/fs_body.h"
#include "src/connector/fs_mount_type.h"
#include "src/connector/fs_paths.h"
#include "src/connector/fs_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define CHEAP_STEP 8

struct fs_connector {
	struct kv_backend backend;
	struct fs_paths *paths;
	struct size_rule *rule;
	struct fs_body_io io;
	bool on_fuse; /* one of the base paths */
};

static struct fs_connector *of(struct kv_backend *backend)
{
	return (struct fs_connector *)backend;
}

/* ---- one item ---- */

/* The first field of LMCache's header: the bytes of data behind it (a native int32). */
static bool header_fits(const void *header, uint64_t data_bytes)
{
	int32_t length;
	memcpy(&length, header, sizeof(length));
	return length >= 0 && (uint64_t)length == data_bytes;
}

/* Whether a file of `size` at `path` is a whole chunk of `key`. Where sizes are not told, the header tells. */
static enum hfkv_status check_file(struct fs_connector *connector, const char *key, const char *path,
				   uint64_t size)
{
	if (size_rule_check(connector->rule, key, size, false) != HFKV_OK)
		return HFKV_NOT_FOUND;
	uint64_t header_bytes = size_rule_header_bytes(connector->rule);
	if (header_bytes == 0 || size_rule_spec(connector->rule))
		return HFKV_OK;
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int32_t length;
	if (fd < 0 || pread(fd, &length, sizeof(length), 0) != sizeof(length))
		return HFKV_NOT_FOUND;
	return header_fits(&length, size - header_bytes) ? HFKV_OK : HFKV_NOT_FOUND;
}

static enum hfkv_status exists_one(struct fs_connector *connector, struct hfkv_item *item, struct fault *fault)
{
	char path[PATH_MAX];
	enum hfkv_status status = fs_paths_file(connector->paths, item->key, path, fault);
	if (status != HFKV_OK)
		return status;
	struct stat info;
	if (stat(path, &info) < 0) {
		if (errno == ENOENT)
			return HFKV_NOT_FOUND;
		return fault_set_errno(fault, errno, "'%s'", path);
	}
	if (!S_ISREG(info.st_mode))
		return HFKV_NOT_FOUND;
	status = check_file(connector, item->key, path, (uint64_t)info.st_size);
	if (status == HFKV_OK)
		item->bytes = (uint64_t)info.st_size - size_rule_header_bytes(connector->rule);
	return status;
}

/* Header and data as the item has them; a body as stored comes with its header inside data. */
static struct fs_body body_of(const struct hfkv_item *item)
{
	return (struct fs_body){ item->header, item->header ? item->header_length : 0, item->data, item->length };
}

/* Whether the item's buffers are what a body of this connector has. */
static enum hfkv_status check_buffers(struct fs_connector *connector, const struct hfkv_item *item, bool for_store,
				      struct fault *fault)
{
	uint64_t header_bytes = size_rule_header_bytes(connector->rule);
	uint64_t given_header = item->header ? item->header_length : 0;
	if (given_header != 0 && given_header != header_bytes)
		return fault_set(fault, HFKV_INVALID, "key '%.200s': a header of %llu bytes where %llu belong",
				 item->key, (unsigned long long)given_header, (unsigned long long)header_bytes);
	uint64_t total = given_header + item->length;
	enum hfkv_status status = size_rule_check(connector->rule, item->key, total, for_store);
	if (status != HFKV_OK)
		return size_rule_refuse(connector->rule, item->key, total, status, fault);
	if (!for_store || header_bytes == 0)
		return HFKV_OK;
	if (header_fits(given_header ? item->header : item->data, total - header_bytes))
		return HFKV_OK;
	return fault_set(fault, HFKV_INVALID,
			 "key '%.200s': the metadata header does not tell the data's %llu bytes", item->key,
			 (unsigned long long)(total - header_bytes));
}

static bool is_there(const char *path, uint64_t size)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == size;
}

static enum hfkv_status put_one(struct fs_connector *connector, struct hfkv_item *item, struct fault *fault)
{
	char path[PATH_MAX], temporary[PATH_MAX];
	enum hfkv_status status = check_buffers(connector, item, true, fault);
	if (status == HFKV_OK)
		status = fs_paths_file(connector->paths, item->key, path, fault);
	if (status != HFKV_OK)
		return status;
	struct fs_body body = body_of(item);
	uint64_t total = body.header_bytes + body.data_bytes;
	item->bytes = total - size_rule_header_bytes(connector->rule);
	size_rule_learn(connector->rule, item->key, total);
	/* MP keys name their content: a whole file is left alone, one of another size is replaced. */
	if (connector->backend.multi_process && is_there(path, total))
		return HFKV_OK;
	fs_paths_temporary(connector->paths, fs_paths_choose(connector->paths, item->key), temporary);
	status = fs_body_write(&connector->io, temporary, &body, fault);
	if (status != HFKV_OK)
		return status;
	if (rename(temporary, path) == 0)
		return HFKV_OK;
	int failure = errno;
	unlink(temporary);
	return fault_set_errno(fault, failure, "renaming to '%s'", path);
}

/* What was read against what is whole: a body that is not is a miss. */
static enum hfkv_status check_read(struct fs_connector *connector, const struct hfkv_item *item, uint64_t got)
{
	uint64_t header_bytes = size_rule_header_bytes(connector->rule);
	uint64_t wanted = item->length + (item->header ? item->header_length : 0);
	bool any_size = size_rule_any_size(connector->rule);
	if (got <= header_bytes || (got != wanted && !any_size))
		return HFKV_NOT_FOUND;
	if (header_bytes > 0 && !header_fits(item->header ? item->header : item->data, got - header_bytes))
		return HFKV_NOT_FOUND;
	return HFKV_OK;
}

static enum hfkv_status get_one(struct fs_connector *connector, struct hfkv_item *item, struct fault *fault)
{
	char path[PATH_MAX];
	bool any_size = size_rule_any_size(connector->rule);
	enum hfkv_status status =
	    any_size || !size_rule_spec(connector->rule) ? HFKV_OK : check_buffers(connector, item, false, fault);
	if (status == HFKV_OK)
		status = fs_paths_file(connector->paths, item->key, path, fault);
	if (status != HFKV_OK)
		return status;
	struct fs_body body = body_of(item);
	uint64_t got = 0;
	status = fs_body_read(&connector->io, path, &body, &got, fault);
	if (status == HFKV_OVERSIZE && !any_size)
		return HFKV_NOT_FOUND;
	if (status == HFKV_OK)
		status = check_read(connector, item, got);
	if (status != HFKV_OK)
		return status;
	item->bytes = got - size_rule_header_bytes(connector->rule);
	size_rule_learn(connector->rule, item->key, got);
	return HFKV_OK;
}

static enum hfkv_status remove_one(struct fs_connector *connector, struct hfkv_item *item, struct fault *fault)
{
	char path[PATH_MAX];
	enum hfkv_status status = fs_paths_file(connector->paths, item->key, path, fault);
	if (status != HFKV_OK)
		return status;
	if (unlink(path) == 0)
		return HFKV_OK;
	if (errno == ENOENT)
		return HFKV_NOT_FOUND;
	return fault_set_errno(fault, errno, "removing '%s'", path);
}

/* ---- the backend ---- */

static enum hfkv_status run_one(struct fs_connector *connector, enum hfkv_operation operation,
				struct hfkv_item *item, struct fault *fault)
{
	switch (operation) {
	case HFKV_OP_EXISTS: return exists_one(connector, item, fault);
	case HFKV_OP_PUT: return put_one(connector, item, fault);
	case HFKV_OP_GET: return get_one(connector, item, fault);
	case HFKV_OP_REMOVE: return remove_one(connector, item, fault);
	}
	return HFKV_BUG;
}

static enum hfkv_status fs_run(struct kv_backend *backend, enum hfkv_operation operation, struct hfkv_item *items,
			       size_t count, struct deadline deadline, struct fault *fault)
{
	(void)deadline; /* a file system call cannot be given one; on our mount the mount has it */
	enum hfkv_status result = HFKV_OK;
	for (size_t i = 0; i < count; i++) {
		items[i].status = run_one(of(backend), operation, &items[i], result == HFKV_OK ? fault : NULL);
		bool is_miss = items[i].status == HFKV_NOT_FOUND && operation != HFKV_OP_PUT;
		if (items[i].status != HFKV_OK && !is_miss && result == HFKV_OK)
			result = items[i].status;
	}
	return result;
}

/* A directory entry as a listing shows it, when it is a whole chunk of our family in the directory where it
 * belongs. */
static enum hfkv_status visit_entry(struct fs_connector *connector, size_t n, const char *name,
				    kv_backend_visit visit, void *context)
{
	CLEANUP(free_pointer) char *key = NULL;
	if (!is_data_file_name(name) || key_from_file_name(name, &key) != HFKV_OK ||
	    kv_backend_check_key(connector->backend.multi_process, HFKV_OP_EXISTS, key, NULL) != HFKV_OK ||
	    fs_paths_choose(connector->paths, key) != n)
		return HFKV_OK;
	char path[PATH_MAX];
	struct stat info;
	snprintf(path, sizeof(path), "%s/%s", fs_paths_base(connector->paths, n), name);
	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) ||
	    check_file(connector, key, path, (uint64_t)info.st_size) != HFKV_OK)
		return HFKV_OK;
	int64_t modified_at_ms = info.st_mtim.tv_sec * 1000LL + info.st_mtim.tv_nsec / 1000000;
	return visit(context, key, (uint64_t)info.st_size - size_rule_header_bytes(connector->rule),
		     modified_at_ms);
}

static enum hfkv_status list_base(struct fs_connector *connector, size_t n, kv_backend_visit visit, void *context,
				  struct deadline deadline, struct fault *fault)
{
	const char *base = fs_paths_base(connector->paths, n);
	DIR *stream = opendir(base);
	if (!stream)
		return fault_set_errno(fault, errno, "listing '%s'", base);
	enum hfkv_status status = HFKV_OK;
	struct dirent *entry;
	errno = 0;
	while (status == HFKV_OK && (entry = readdir(stream))) {
		if (deadline_passed(deadline))
			status = fault_set(fault, HFKV_TIMEOUT, "listing '%s' took too long", base);
		else
			status = visit_entry(connector, n, entry->d_name, visit, context);
		errno = 0;
	}
	if (status == HFKV_OK && errno != 0)
		status = fault_set_errno(fault, errno, "listing '%s'", base);
	closedir(stream);
	return status;
}

static enum hfkv_status fs_list(struct kv_backend *backend, kv_backend_visit visit, void *context,
				struct deadline deadline, struct fault *fault)
{
	for (size_t n = 0; n < fs_paths_count(of(backend)->paths); n++) {
		enum hfkv_status status = list_base(of(backend), n, visit, context, deadline, fault);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

static enum hfkv_status fs_ping(struct kv_backend *backend, struct deadline deadline, struct fault *fault)
{
	(void)deadline;
	for (size_t n = 0; n < fs_paths_count(of(backend)->paths); n++) {
		const char *base = fs_paths_base(of(backend)->paths, n);
		if (access(base, W_OK | X_OK) < 0)
			return fault_set_errno(fault, errno, "base path '%s'", base);
	}
	return HFKV_OK;
}

/* Questions are cheap on a local file system: a thread for each costs more than it saves, one for 32 loses to
 * two. */
static size_t fs_step(const struct kv_backend *backend, enum hfkv_operation operation)
{
	bool is_cheap = operation == HFKV_OP_EXISTS || operation == HFKV_OP_REMOVE;
	return is_cheap && !fs_connector_is_on_fuse(backend) ? CHEAP_STEP : 1;
}

static void fs_free(struct kv_backend *backend, struct deadline deadline)
{
	(void)deadline;
	fs_paths_free(of(backend)->paths);
	size_rule_free(of(backend)->rule);
	free(backend);
}

static const struct kv_backend_class fs_class = {
	.name = "fs",
	.run = fs_run,
	.list = fs_list,
	.ping = fs_ping,
	.step = fs_step,
	.free = fs_free,
};

/* A mount of ours takes whole chunks only, whatever the connector is told. */
static enum hfkv_status check_mounts(struct fs_connector *connector, const struct connector_config *config,
				     struct fault *fault)
{
	for (size_t n = 0; n < fs_paths_count(connector->paths); n++) {
		const char *base = fs_paths_base(connector->paths, n);
		enum fs_mount_type type = fs_mount_type_of(base);
		connector->on_fuse |= type != FS_MOUNT_ORDINARY;
		if (type == FS_MOUNT_HFKV && !config->full_chunks)
			return fault_set(fault, HFKV_INVALID,
					 "full_chunks: false does not go with base path '%s', an hfkv "
					 "mount, which stores full KV chunks only",
					 base);
	}
	return HFKV_OK;
}

/* The block size that LMCache aligns to: that of the first base path. */
static enum hfkv_status set_up_io(struct fs_connector *connector, const struct connector_config *config,
				  struct fault *fault)
{
	const char *base = fs_paths_base(connector->paths, 0);
	struct statvfs blocks;
	if (statvfs(base, &blocks) < 0)
		return fault_set_errno(fault, errno, "base path '%s'", base);
	connector->io.read_ahead_bytes = config->read_ahead_bytes;
	connector->io.direct_block_bytes = config->use_odirect ? blocks.f_bsize : 0;
	return HFKV_OK;
}

enum hfkv_status fs_connector_new(const struct connector_config *config, struct size_rule *rule,
				  struct kv_backend **ret_backend, struct fault *fault)
{
	CLEANUP(free_pointer) struct fs_connector *connector = calloc(1, sizeof(*connector));
	if (!connector)
		return HFKV_NO_MEMORY;
	connector->backend = (struct kv_backend){ &fs_class, config->multi_process };
	enum hfkv_status status = fs_paths_new(config->base_paths, config->base_path_count,
					       config->relative_tmp_dir, &connector->paths, fault);
	if (status == HFKV_OK)
		status = fs_paths_prepare(connector->paths, fault);
	if (status == HFKV_OK)
		status = check_mounts(connector, config, fault);
	if (status == HFKV_OK)
		status = set_up_io(connector, config, fault);
	if (status != HFKV_OK) {
		fs_paths_free(connector->paths);
		return status;
	}
	connector->rule = rule;
	*ret_backend = &TAKE_PTR(connector)->backend;
	return HFKV_OK;
}

bool fs_connector_is_on_fuse(const struct kv_backend *backend)
{
	return ((const struct fs_connector *)backend)->on_fuse;
}

void fs_connector_sweep(struct kv_backend *backend, const atomic_bool *stop)
{
	struct fs_connector *connector = of(backend);
	if (connector->on_fuse)
		return;
	for (size_t n = 0; n < fs_paths_count(connector->paths); n++)
		fs_sweep_directory(fs_paths_tmp_dir(connector->paths, n), clock_wall_ms(), stop);
}
