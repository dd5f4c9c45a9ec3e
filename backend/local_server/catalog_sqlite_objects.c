/* Objects of buckets in the SQLite catalog. */
#include "backend/local_server/catalog_sqlite.h"

#include "common/clock.h"

#include <string.h>

/* False when the row does not hold what this program writes. */
static bool read_object(sqlite3_stmt *row, struct catalog_object *ret_object)
{
	ret_object->path = (const char *)sqlite3_column_text(row, 0);
	ret_object->path_bytes = (size_t)sqlite3_column_bytes(row, 0);
	if (!ret_object->path || !catalog_column_hash(row, 1, &ret_object->hash))
		return false;
	ret_object->size_bytes = (uint64_t)sqlite3_column_int64(row, 2);
	ret_object->modified_at_ms =
	    sqlite3_column_type(row, 3) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, 3);
	ret_object->uploaded_at_ms = sqlite3_column_int64(row, 4);
	ret_object->content_type = (const char *)sqlite3_column_text(row, 5);
	return true;
}

/* Steps OBJECT_FIND for one path. The row stays current until the statement is reset. */
static enum hfkv_status find_object(struct catalog_connection *connection, sqlite3_stmt *statement, int64_t bucket,
				    const char *path, struct catalog_object *ret_object, struct fault *fault)
{
	sqlite3_reset(statement);
	sqlite3_bind_int64(statement, 1, bucket);
	catalog_bind_text(statement, 2, path);
	int code = sqlite3_step(statement);
	if (code == SQLITE_DONE)
		return HFKV_NOT_FOUND;
	if (code != SQLITE_ROW)
		return catalog_sql_fault(connection, fault);
	if (!read_object(statement, ret_object))
		return fault_set(fault, HFKV_CORRUPT, "catalog: the row of '%s' is damaged", path);
	return HFKV_OK;
}

static enum hfkv_status find_each(struct catalog_connection *connection, int64_t bucket,
				  const struct catalog_look_up *look_up, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_OBJECT_FIND);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	enum hfkv_status status = HFKV_OK;
	for (size_t i = 0; i < look_up->count && status == HFKV_OK; i++) {
		struct catalog_object object;
		status = find_object(connection, statement, bucket, look_up->paths[i], &object, fault);
		if (status == HFKV_OK)
			look_up->visit(look_up->context, i, &object);
		else if (status == HFKV_NOT_FOUND)
			status = HFKV_OK;
	}
	sqlite3_reset(statement);
	return status;
}

enum hfkv_status catalog_objects_find(struct catalog *catalog, int64_t bucket,
				      const struct catalog_look_up *look_up, struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_reader(catalog);
	enum hfkv_status status = catalog_begin_read(connection, fault);
	if (status == HFKV_OK)
		status = catalog_end(connection, find_each(connection, bucket, look_up, fault), fault);
	catalog_give(catalog, connection);
	return status;
}

/* ---- scan ---- */

struct scan_bound {
	char bytes[CATALOG_SCAN_BOUND_BYTES];
	size_t length;
};

/* Steps from `bound` on until the visitor stops or skips. *ret_next: SKIP (with a new bound) or STOP. */
static enum hfkv_status scan_run(struct catalog_connection *connection, int64_t bucket,
				 const struct catalog_scan *scan, struct scan_bound *bound,
				 enum catalog_scan_next *ret_next, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_OBJECT_SCAN);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	sqlite3_bind_int64(statement, 1, bucket);
	sqlite3_bind_text(statement, 2, bound->bytes, (int)bound->length, SQLITE_TRANSIENT);
	size_t prefix_bytes = strlen(scan->prefix);
	*ret_next = CATALOG_SCAN_STOP;
	int code;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct catalog_object object;
		if (!read_object(statement, &object))
			return fault_set(fault, HFKV_CORRUPT, "catalog: a row of bucket %lld is damaged",
					 (long long)bucket);
		/* Paths come in byte order from the prefix on: the first that lacks it ends the scan. */
		if (object.path_bytes < prefix_bytes || memcmp(object.path, scan->prefix, prefix_bytes) != 0)
			return HFKV_OK;
		*ret_next = scan->visit(scan->context, &object, bound->bytes, &bound->length);
		if (*ret_next != CATALOG_SCAN_ON)
			return HFKV_OK;
	}
	*ret_next = CATALOG_SCAN_STOP;
	return code == SQLITE_DONE ? HFKV_OK : catalog_sql_fault(connection, fault);
}

static enum hfkv_status scan_all(struct catalog_connection *connection, int64_t bucket,
				 const struct catalog_scan *scan, struct fault *fault)
{
	struct scan_bound bound = { .length = 0 };
	const char *from = scan->from;
	size_t from_bytes = scan->from_bytes, prefix_bytes = strlen(scan->prefix);
	size_t common = from_bytes < prefix_bytes ? from_bytes : prefix_bytes;
	int order = common ? memcmp(from, scan->prefix, common) : 0;
	if (order < 0 || (order == 0 && from_bytes < prefix_bytes)) {
		from = scan->prefix;
		from_bytes = prefix_bytes;
	}
	if (from_bytes > sizeof(bound.bytes))
		return HFKV_OK; /* longer than any path: nothing can follow it that has the prefix */
	memcpy(bound.bytes, from, from_bytes);
	bound.length = from_bytes;
	enum catalog_scan_next next = CATALOG_SCAN_SKIP;
	enum hfkv_status status = HFKV_OK;
	while (next == CATALOG_SCAN_SKIP && status == HFKV_OK)
		status = scan_run(connection, bucket, scan, &bound, &next, fault);
	if (connection->statements[STATEMENT_OBJECT_SCAN])
		sqlite3_reset(connection->statements[STATEMENT_OBJECT_SCAN]);
	return status;
}

enum hfkv_status catalog_objects_scan(struct catalog *catalog, int64_t bucket, const struct catalog_scan *scan,
				      struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_reader(catalog);
	enum hfkv_status status = catalog_begin_read(connection, fault);
	if (status == HFKV_OK)
		status = catalog_end(connection, scan_all(connection, bucket, scan, fault), fault);
	catalog_give(catalog, connection);
	return status;
}

/* ---- changes ---- */

struct change_totals {
	int64_t bytes, files;
};

static enum hfkv_status file_size(struct catalog_connection *connection, const struct content_hash *hash,
				  uint64_t *ret_size, struct fault *fault)
{
	if (content_hash_is_zero(hash)) {
		*ret_size = 0;
		return HFKV_OK;
	}
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_FILE_SIZE);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	catalog_bind_hash(statement, 1, hash);
	int code = sqlite3_step(statement);
	enum hfkv_status status = HFKV_OK;
	if (code == SQLITE_ROW)
		*ret_size = (uint64_t)sqlite3_column_int64(statement, 0);
	else
		status = code == SQLITE_DONE ? HFKV_NOT_FOUND : catalog_sql_fault(connection, fault);
	sqlite3_reset(statement);
	return status;
}

/* Takes what is at `path` now out of the totals; *ret_there says whether there was something. */
static enum hfkv_status count_out(struct catalog_connection *connection, int64_t bucket, const char *path,
				  struct change_totals *totals, bool *ret_there, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_OBJECT_FIND);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	struct catalog_object object;
	enum hfkv_status status = find_object(connection, statement, bucket, path, &object, fault);
	*ret_there = status == HFKV_OK;
	if (status == HFKV_OK) {
		totals->bytes -= (int64_t)object.size_bytes;
		totals->files--;
	}
	sqlite3_reset(statement);
	return status == HFKV_NOT_FOUND ? HFKV_OK : status;
}

static enum hfkv_status put_object(struct catalog_connection *connection, int64_t bucket,
				   const struct catalog_change *change, uint64_t size, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_OBJECT_PUT);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	sqlite3_bind_int64(statement, 1, bucket);
	catalog_bind_text(statement, 2, change->path);
	catalog_bind_hash(statement, 3, &change->hash);
	sqlite3_bind_int64(statement, 4, (sqlite3_int64)size);
	if (change->modified_at_ms >= 0)
		sqlite3_bind_int64(statement, 5, change->modified_at_ms);
	sqlite3_bind_int64(statement, 6, clock_wall_ms());
	catalog_bind_text(statement, 7, change->content_type);
	return catalog_run(connection, statement, fault);
}

static enum hfkv_status apply_change(struct catalog_connection *connection, int64_t bucket,
				     struct catalog_change *change, struct change_totals *totals,
				     struct fault *fault)
{
	uint64_t size = 0;
	enum hfkv_status status;
	if (change->kind == CATALOG_ADD) {
		status = file_size(connection, &change->hash, &size, fault);
		if (status == HFKV_NOT_FOUND) {
			change->status = HFKV_NOT_FOUND;
			return HFKV_OK;
		}
		if (status != HFKV_OK)
			return status;
	}
	bool there = false;
	status = count_out(connection, bucket, change->path, totals, &there, fault);
	if (status != HFKV_OK)
		return status;
	if (change->kind == CATALOG_ADD) {
		totals->bytes += (int64_t)size;
		totals->files++;
		return put_object(connection, bucket, change, size, fault);
	}
	if (!there)
		return HFKV_OK;
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_OBJECT_DELETE);
	if (statement) {
		sqlite3_bind_int64(statement, 1, bucket);
		catalog_bind_text(statement, 2, change->path);
	}
	return catalog_run(connection, statement, fault);
}

static enum hfkv_status apply_all(struct catalog_connection *connection, int64_t bucket,
				  struct catalog_change *changes, size_t count, struct fault *fault)
{
	struct change_totals totals = { 0, 0 };
	for (size_t i = 0; i < count; i++) {
		if (changes[i].status != HFKV_OK)
			continue;
		enum hfkv_status status = apply_change(connection, bucket, &changes[i], &totals, fault);
		if (status != HFKV_OK)
			return status;
	}
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_CHANGED);
	if (statement) {
		sqlite3_bind_int64(statement, 1, bucket);
		sqlite3_bind_int64(statement, 2, clock_wall_ms());
		sqlite3_bind_int64(statement, 3, totals.bytes);
		sqlite3_bind_int64(statement, 4, totals.files);
	}
	enum hfkv_status status = catalog_run(connection, statement, fault);
	/* The bucket may have been deleted since the caller found it: then nothing of this happens. */
	return status == HFKV_OK && sqlite3_changes(connection->db) == 0 ? HFKV_NOT_FOUND : status;
}

enum hfkv_status catalog_objects_change(struct catalog *catalog, int64_t bucket, struct catalog_change *changes,
					size_t count, struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_writer(catalog);
	enum hfkv_status status = catalog_begin_write(connection, fault);
	if (status == HFKV_OK)
		status = catalog_end(connection, apply_all(connection, bucket, changes, count, fault), fault);
	catalog_give(catalog, connection);
	return status;
}
