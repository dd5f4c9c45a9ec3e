#include "cache/fetch_table.h"

#include "common/file_io.h"

#include <uthash.h>

/* One download under way. Freed by the last of the asker who runs it and those who wait. */
struct flight {
	struct content_hash hash;
	unsigned references;
	bool landed;
	bool wanted_staged; /* somebody waits: the bytes must be left where he can reach them */
	enum hfkv_status status;
	struct fault fault;
	struct staged_file *file; /* one reference, when landed OK and wanted */
	pthread_cond_t has_landed;
	UT_hash_handle hh;
};

struct fetch_table {
	struct object_store *store;
	struct staging_area *staging;
	pthread_mutex_t mutex;
	struct flight *flights; /* uthash by hash: those that have not landed */
	struct fetch_counters counters;
};

enum hfkv_status fetch_table_new(struct object_store *store, struct staging_area *staging,
				 struct fetch_table **ret_table)
{
	struct fetch_table *table = calloc(1, sizeof(*table));
	if (!table)
		return HFKV_NO_MEMORY;
	table->store = store;
	table->staging = staging;
	pthread_mutex_init(&table->mutex, NULL);
	*ret_table = table;
	return HFKV_OK;
}

void fetch_table_free(struct fetch_table *table)
{
	if (!table)
		return;
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

/* ---- flights ---- */

/* The flight for `hash`, with a reference; *ret_leads: the caller has to run it. NULL: no memory. Lock not held. */
static struct flight *board(struct fetch_table *table, const struct content_hash *hash, bool *ret_leads)
{
	struct flight *flight;
	SCOPED_LOCK(&table->mutex);
	HASH_FIND(hh, table->flights, hash, sizeof(*hash), flight);
	*ret_leads = !flight;
	if (flight) {
		flight->references++;
		flight->wanted_staged = true;
		return flight;
	}
	flight = calloc(1, sizeof(*flight));
	if (!flight)
		return NULL;
	flight->hash = *hash;
	flight->references = 1;
	condition_init(&flight->has_landed);
	HASH_ADD(hh, table->flights, hash, sizeof(flight->hash), flight);
	return flight;
}

/* Lock held. The flight takes the reference to `file`. */
static void land(struct fetch_table *table, struct flight *flight, enum hfkv_status status,
		 const struct fault *fault, struct staged_file *file)
{
	flight->landed = true;
	flight->status = status;
	flight->fault = *fault;
	flight->file = file;
	HASH_DEL(table->flights, flight);
	pthread_cond_broadcast(&flight->has_landed);
}

/* Lock not held. */
static void leave(struct fetch_table *table, struct flight *flight)
{
	pthread_mutex_lock(&table->mutex);
	bool last = --flight->references == 0;
	pthread_mutex_unlock(&table->mutex);
	if (!last)
		return;
	staged_file_unref(flight->file);
	pthread_cond_destroy(&flight->has_landed);
	free(flight);
}

/* Waits until the flight lands. True when the caller has his outcome in *ret_status (and a file, when OK); false
 * when he should try himself: the one who ran it had less time, or could not leave the bytes in staging. */
static bool await(struct fetch_table *table, struct flight *flight, struct deadline deadline,
		  struct staged_file **ret_file, enum hfkv_status *ret_status, struct fault *fault)
{
	pthread_mutex_lock(&table->mutex);
	bool in_time = true;
	while (!flight->landed && in_time)
		in_time = deadline_wait(&flight->has_landed, &table->mutex, deadline);
	bool landed = flight->landed;
	pthread_mutex_unlock(&table->mutex);
	/* What a flight holds is fixed once it has landed. */
	if (!landed) {
		*ret_status = fault_set(fault, HFKV_TIMEOUT, "the download that others began did not end in time");
		return true;
	}
	bool gave_up = flight->status == HFKV_TIMEOUT || flight->status == HFKV_CANCELLED;
	bool bytes_gone = flight->status == HFKV_OK && !flight->file;
	if ((gave_up || bytes_gone) && !deadline_passed(deadline))
		return false;
	*ret_status = bytes_gone ? fault_set(fault, HFKV_TIMEOUT, "no time left to download") : flight->status;
	if (*ret_status == HFKV_OK)
		*ret_file = staged_file_ref(flight->file);
	else if (fault && !bytes_gone)
		*fault = flight->fault;
	return true;
}

/* ---- downloading ---- */

static enum hfkv_status download(struct fetch_table *table, const struct object_info *info,
				 const struct object_sink *sink, struct deadline deadline, struct fault *fault)
{
	enum hfkv_status status = object_store_read_whole(table->store, info, sink, NULL, NULL, deadline, fault);
	SCOPED_LOCK(&table->mutex);
	table->counters.downloads++;
	if (status == HFKV_OK)
		table->counters.downloaded_bytes += info->size_bytes;
	if (status == HFKV_CORRUPT)
		table->counters.verify_failures++;
	return status;
}

static enum hfkv_status download_to_staging(struct fetch_table *table, const struct object_info *info,
					    struct deadline deadline, struct staged_file **ret_file,
					    struct fault *fault)
{
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	enum hfkv_status status =
	    staging_area_new_body(table->staging, STAGING_FOR_READ, info->size_bytes, &body, fault);
	if (status != HFKV_OK)
		return status;
	/* By descriptor: decoded pieces go into tmpfs by pwrite twice as fast as into a fresh mapping, which
	 * faults page by page (1.0 against 0.4 to 0.6 GB/s, 64 KiB pieces, kernel 6.18). */
	struct object_sink sink = { .fd = staged_file_fd(body) };
	status = download(table, info, &sink, deadline, fault);
	if (status != HFKV_OK)
		return status;
	staging_area_publish(table->staging, body, &info->hash);
	*ret_file = TAKE_PTR(body);
	return HFKV_OK;
}

/* A staged copy of bytes that were downloaded into memory, for those who came to wait for them. NULL when staging
 * has no room: they then download for themselves. */
static struct staged_file *stage_copy(struct fetch_table *table, const struct object_info *info,
				      const uint8_t *bytes)
{
	CLEANUP(staged_file_unrefp) struct staged_file *body = NULL;
	if (staging_area_new_body(table->staging, STAGING_FOR_READ, info->size_bytes, &body, NULL) != HFKV_OK)
		return NULL;
	if (!file_io_write_at(staged_file_fd(body), bytes, info->size_bytes, 0))
		return NULL;
	staging_area_publish(table->staging, body, &info->hash);
	return TAKE_PTR(body);
}

/* ---- asking ---- */

static struct staged_file *find_staged(struct fetch_table *table, const struct content_hash *hash)
{
	struct staged_file *file = staging_area_find(table->staging, hash);
	if (!file)
		return NULL;
	SCOPED_LOCK(&table->mutex);
	table->counters.staged_hits++;
	return file;
}

static enum hfkv_status lead_to_staging(struct fetch_table *table, struct flight *flight,
					const struct object_info *info, struct deadline deadline,
					struct staged_file **ret_file, struct fault *fault)
{
	struct fault own = FAULT_NONE;
	/* Between the asker's look and his taking the lead another flight may have landed. */
	struct staged_file *file = find_staged(table, &info->hash);
	enum hfkv_status status = file ? HFKV_OK : download_to_staging(table, info, deadline, &file, &own);
	struct staged_file *left = file ? staged_file_ref(file) : NULL;
	pthread_mutex_lock(&table->mutex);
	land(table, flight, status, &own, left);
	pthread_mutex_unlock(&table->mutex);
	if (file)
		*ret_file = file;
	else if (fault)
		*fault = own;
	return status;
}

enum hfkv_status fetch_table_stage(struct fetch_table *table, const struct object_info *info,
				   struct deadline deadline, struct staged_file **ret_file, struct fault *fault)
{
	for (;;) {
		struct staged_file *file = find_staged(table, &info->hash);
		if (file) {
			*ret_file = file;
			return HFKV_OK;
		}
		bool leads;
		struct flight *flight = board(table, &info->hash, &leads);
		if (!flight)
			return fault_set(fault, HFKV_NO_MEMORY, "download: out of memory");
		enum hfkv_status status = HFKV_OK;
		bool settled = true;
		if (leads)
			status = lead_to_staging(table, flight, info, deadline, ret_file, fault);
		else
			settled = await(table, flight, deadline, ret_file, &status, fault);
		leave(table, flight);
		if (settled)
			return status;
	}
}

static enum hfkv_status copy_out(struct staged_file *file, uint8_t *into, uint64_t length, struct fault *fault)
{
	if (file_io_read_at(staged_file_fd(file), into, length, 0) == (int64_t)length)
		return HFKV_OK;
	return fault_set(fault, HFKV_IO, "a staged file of %llu bytes cannot be read", (unsigned long long)length);
}

static enum hfkv_status lead_to_memory(struct fetch_table *table, struct flight *flight,
				       const struct object_info *info, uint8_t *into, struct deadline deadline,
				       struct fault *fault)
{
	struct fault own = FAULT_NONE;
	struct object_sink sink = { .memory = into, .fd = -1 };
	enum hfkv_status status = download(table, info, &sink, deadline, &own);
	pthread_mutex_lock(&table->mutex);
	bool wanted = flight->wanted_staged && status == HFKV_OK;
	if (!wanted)
		land(table, flight, status, &own, NULL);
	pthread_mutex_unlock(&table->mutex);
	if (wanted) {
		struct staged_file *file = stage_copy(table, info, into);
		pthread_mutex_lock(&table->mutex);
		land(table, flight, status, &own, file);
		pthread_mutex_unlock(&table->mutex);
	}
	if (status != HFKV_OK && fault)
		*fault = own;
	return status;
}

enum hfkv_status fetch_table_load(struct fetch_table *table, const struct object_info *info, uint8_t *into,
				  struct deadline deadline, struct fault *fault)
{
	for (;;) {
		CLEANUP(staged_file_unrefp) struct staged_file *file = find_staged(table, &info->hash);
		if (file)
			return copy_out(file, into, info->size_bytes, fault);
		bool leads;
		struct flight *flight = board(table, &info->hash, &leads);
		if (!flight)
			return fault_set(fault, HFKV_NO_MEMORY, "download: out of memory");
		enum hfkv_status status = HFKV_OK;
		bool settled = true;
		if (leads)
			status = lead_to_memory(table, flight, info, into, deadline, fault);
		else
			settled = await(table, flight, deadline, &file, &status, fault);
		leave(table, flight);
		if (settled)
			return file ? copy_out(file, into, info->size_bytes, fault) : status;
	}
}

struct fetch_counters fetch_table_counters(struct fetch_table *table)
{
	SCOPED_LOCK(&table->mutex);
	return table->counters;
}
