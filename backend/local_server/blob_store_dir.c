/*
 * Blobs as files of a directory: xorbs/<2 digits>/<64 digits>, written as incoming/<name> and renamed.
 *
 * A durable commit syncs the file, then renames, then syncs the directory that got the name. While a blob
 * is written its pages are handed to the disk early, so that the sync at the end finds little to do.
 */
#include "backend/local_server/blob_store.h"

#include "common/file_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#define EARLY_WRITE_BYTES (8u << 20)
#define BLOB_NAME_BYTES   (2 + 1 + CONTENT_HASH_TEXT_BYTES)

struct blob_store {
	bool durable;
	int xorbs_fd, incoming_fd;
	_Atomic uint64_t next_incoming;
};

struct blob_writer {
	struct blob_store *store;
	int fd;
	char name[32]; /* in incoming/; "" once it is gone from there */
	uint64_t written_bytes, handed_over_bytes;
};

struct blob_reader {
	int fd;
	uint64_t size_bytes;
};

static void blob_name(const struct content_hash *hash, char name[BLOB_NAME_BYTES])
{
	char text[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(hash, text);
	snprintf(name, BLOB_NAME_BYTES, "%.2s/%s", text, text);
}

static enum hfkv_status open_directory(int parent, const char *name, int *ret_fd, struct fault *fault)
{
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return fault_set_errno(fault, errno, "blob store: cannot make directory '%s'", name);
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fault_set_errno(fault, errno, "blob store: cannot open directory '%s'", name);
	*ret_fd = fd;
	return HFKV_OK;
}

/* What a killed process left in incoming/ was never acknowledged. */
static enum hfkv_status remove_left_overs(int incoming_fd, struct fault *fault)
{
	int fd = openat(incoming_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		int number = errno;
		close_fd(&fd);
		return fault_set_errno(fault, number, "blob store: cannot list what was left half-written");
	}
	struct dirent *entry;
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(incoming_fd, entry->d_name, 0);
	closedir(directory);
	return HFKV_OK;
}

enum hfkv_status blob_store_open(const char *location, bool durable, struct blob_store **ret_store,
				 struct fault *fault)
{
	CLEANUP(blob_store_closep) struct blob_store *store = calloc(1, sizeof(*store));
	if (!store)
		return fault_set(fault, HFKV_NO_MEMORY, "blob store: no memory");
	store->durable = durable;
	store->xorbs_fd = store->incoming_fd = -1;
	CLEANUP(close_fd) int root = open(location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fault_set_errno(fault, errno, "blob store: cannot open '%s'", location);
	enum hfkv_status status = open_directory(root, "xorbs", &store->xorbs_fd, fault);
	if (status == HFKV_OK)
		status = open_directory(root, "incoming", &store->incoming_fd, fault);
	if (status == HFKV_OK)
		status = remove_left_overs(store->incoming_fd, fault);
	if (status == HFKV_OK && durable && fsync(root) < 0)
		status = fault_set_errno(fault, errno, "blob store: cannot sync '%s'", location);
	if (status == HFKV_OK)
		*ret_store = TAKE_PTR(store);
	return status;
}

void blob_store_close(struct blob_store *store)
{
	if (!store)
		return;
	close_fd(&store->xorbs_fd);
	close_fd(&store->incoming_fd);
	free(store);
}

enum hfkv_status blob_writer_new(struct blob_store *store, struct blob_writer **ret_writer, struct fault *fault)
{
	CLEANUP(blob_writer_freep) struct blob_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return fault_set(fault, HFKV_NO_MEMORY, "blob store: no memory");
	writer->store = store;
	unsigned long long number = atomic_fetch_add(&store->next_incoming, 1);
	snprintf(writer->name, sizeof(writer->name), "%llx", number);
	writer->fd = openat(store->incoming_fd, writer->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (writer->fd < 0) {
		writer->name[0] = '\0';
		return fault_set_errno(fault, errno, "blob store: cannot make a file");
	}
	*ret_writer = TAKE_PTR(writer);
	return HFKV_OK;
}

enum hfkv_status blob_writer_append(struct blob_writer *writer, const void *bytes, size_t length,
				    struct fault *fault)
{
	if (!file_io_write(writer->fd, bytes, length))
		return fault_set_errno(fault, errno, "blob store: cannot write");
	writer->written_bytes += length;
	uint64_t waiting = writer->written_bytes - writer->handed_over_bytes;
	if (writer->store->durable && waiting >= EARLY_WRITE_BYTES) {
		/* Only a hint: whatever it does not manage, the sync at commit does. */
		sync_file_range(writer->fd, (off_t)writer->handed_over_bytes, (off_t)waiting,
				SYNC_FILE_RANGE_WRITE);
		writer->handed_over_bytes = writer->written_bytes;
	}
	return HFKV_OK;
}

static enum hfkv_status sync_shelf(struct blob_store *store, const char *name, struct fault *fault)
{
	char shelf[3] = { name[0], name[1], '\0' };
	CLEANUP(close_fd) int fd = openat(store->xorbs_fd, shelf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return fault_set_errno(fault, errno, "blob store: cannot sync directory '%s'", shelf);
	return HFKV_OK;
}

/* Gives the file its final name. A shelf is made when the first blob comes to it. */
static enum hfkv_status put_on_shelf(struct blob_writer *writer, const char *name, struct fault *fault)
{
	struct blob_store *store = writer->store;
	char shelf[3] = { name[0], name[1], '\0' };
	if (renameat(store->incoming_fd, writer->name, store->xorbs_fd, name) == 0)
		return HFKV_OK;
	if (errno != ENOENT)
		return fault_set_errno(fault, errno, "blob store: cannot give a blob its name");
	if (mkdirat(store->xorbs_fd, shelf, 0700) < 0 && errno != EEXIST)
		return fault_set_errno(fault, errno, "blob store: cannot make directory '%s'", shelf);
	if (store->durable && fsync(store->xorbs_fd) < 0)
		return fault_set_errno(fault, errno, "blob store: cannot sync its directory");
	if (renameat(store->incoming_fd, writer->name, store->xorbs_fd, name) < 0)
		return fault_set_errno(fault, errno, "blob store: cannot give a blob its name");
	return HFKV_OK;
}

enum hfkv_status blob_writer_commit(struct blob_writer *writer, const struct content_hash *hash,
				    struct fault *fault)
{
	struct blob_store *store = writer->store;
	char name[BLOB_NAME_BYTES];
	blob_name(hash, name);
	if (store->durable && fdatasync(writer->fd) < 0)
		return fault_set_errno(fault, errno, "blob store: cannot sync");
	enum hfkv_status status = put_on_shelf(writer, name, fault);
	if (status != HFKV_OK)
		return status;
	writer->name[0] = '\0';
	return store->durable ? sync_shelf(store, name, fault) : HFKV_OK;
}

void blob_writer_free(struct blob_writer *writer)
{
	if (!writer)
		return;
	close_fd(&writer->fd);
	if (writer->name[0])
		unlinkat(writer->store->incoming_fd, writer->name, 0);
	free(writer);
}

enum hfkv_status blob_reader_open(struct blob_store *store, const struct content_hash *hash,
				  struct blob_reader **ret_reader, struct fault *fault)
{
	char name[BLOB_NAME_BYTES];
	blob_name(hash, name);
	CLEANUP(close_fd) int fd = openat(store->xorbs_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? HFKV_NOT_FOUND
				       : fault_set_errno(fault, errno, "blob store: cannot open a blob");
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return fault_set_errno(fault, errno, "blob store: cannot open a blob");
	struct blob_reader *reader = malloc(sizeof(*reader));
	if (!reader)
		return fault_set(fault, HFKV_NO_MEMORY, "blob store: no memory");
	reader->size_bytes = (uint64_t)stat.st_size;
	reader->fd = TAKE_FD(fd);
	*ret_reader = reader;
	return HFKV_OK;
}

enum hfkv_status blob_reader_read(struct blob_reader *reader, uint64_t offset, void *bytes, size_t length,
				  struct fault *fault)
{
	int64_t got = file_io_read_at(reader->fd, bytes, length, offset);
	if (got < 0)
		return fault_set_errno(fault, errno, "blob store: cannot read");
	if ((uint64_t)got < length)
		return fault_set(fault, HFKV_CORRUPT, "blob store: a blob is shorter than its catalog entry");
	return HFKV_OK;
}

uint64_t blob_reader_bytes(const struct blob_reader *reader)
{
	return reader->size_bytes;
}

int blob_reader_dup_fd(const struct blob_reader *reader)
{
	return fcntl(reader->fd, F_DUPFD_CLOEXEC, 0);
}

void blob_reader_free(struct blob_reader *reader)
{
	if (!reader)
		return;
	close_fd(&reader->fd);
	free(reader);
}
