/* Buckets in the SQLite catalog. */
#include "backend/local_server/catalog_sqlite.h"

#include "common/clock.h"

#include <stdio.h>
#include <string.h>

static void copy_name(char target[CATALOG_NAME_BYTES], sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	snprintf(target, CATALOG_NAME_BYTES, "%s", text ? text : "");
}

static void read_bucket(sqlite3_stmt *row, struct catalog_bucket *ret_bucket)
{
	ret_bucket->id = sqlite3_column_int64(row, 0);
	copy_name(ret_bucket->owner, row, 1);
	copy_name(ret_bucket->name, row, 2);
	ret_bucket->is_private = sqlite3_column_int(row, 3) != 0;
	ret_bucket->created_at_ms = sqlite3_column_int64(row, 4);
	ret_bucket->updated_at_ms = sqlite3_column_int64(row, 5);
	ret_bucket->size_bytes = (uint64_t)sqlite3_column_int64(row, 6);
	ret_bucket->file_count = (uint64_t)sqlite3_column_int64(row, 7);
}

/* Steps a statement that gives one bucket or none. */
static enum hfkv_status find_one(struct catalog_connection *connection, sqlite3_stmt *statement,
				 struct catalog_bucket *ret_bucket, struct fault *fault)
{
	enum hfkv_status status = HFKV_OK;
	int code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		read_bucket(statement, ret_bucket);
	else if (code == SQLITE_DONE)
		status = HFKV_NOT_FOUND;
	else
		status = catalog_sql_fault(connection, fault);
	sqlite3_reset(statement);
	return status;
}

static enum hfkv_status find_named(struct catalog_connection *connection, const char *owner, const char *name,
				   struct catalog_bucket *ret_bucket, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_FIND);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	catalog_bind_text(statement, 1, owner);
	catalog_bind_text(statement, 2, name);
	return find_one(connection, statement, ret_bucket, fault);
}

static enum hfkv_status insert_bucket(struct catalog_connection *connection, const char *owner, const char *name,
				      bool is_private, bool *ret_inserted, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_INSERT);
	if (!statement)
		return catalog_sql_fault(connection, fault);
	catalog_bind_text(statement, 1, owner);
	catalog_bind_text(statement, 2, name);
	sqlite3_bind_int(statement, 3, is_private);
	sqlite3_bind_int64(statement, 4, clock_wall_ms());
	enum hfkv_status status = catalog_run(connection, statement, fault);
	*ret_inserted = sqlite3_changes(connection->db) > 0;
	return status;
}

enum hfkv_status catalog_bucket_create(struct catalog *catalog, const char *owner, const char *name,
				       bool is_private, struct catalog_bucket *ret_bucket, struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_writer(catalog);
	bool inserted = false;
	enum hfkv_status status = catalog_begin_write(connection, fault);
	if (status == HFKV_OK) {
		status = insert_bucket(connection, owner, name, is_private, &inserted, fault);
		if (status == HFKV_OK)
			status = find_named(connection, owner, name, ret_bucket, fault);
		status = catalog_end(connection, status, fault);
	}
	catalog_give(catalog, connection);
	return status == HFKV_OK && !inserted ? HFKV_EXISTS : status;
}

enum hfkv_status catalog_bucket_find(struct catalog *catalog, const char *owner, const char *name,
				     struct catalog_bucket *ret_bucket, struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_reader(catalog);
	enum hfkv_status status = find_named(connection, owner, name, ret_bucket, fault);
	catalog_give(catalog, connection);
	return status;
}

enum hfkv_status catalog_bucket_find_id(struct catalog *catalog, int64_t id, struct catalog_bucket *ret_bucket,
					struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_reader(catalog);
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_FIND_ID);
	enum hfkv_status status;
	if (statement) {
		sqlite3_bind_int64(statement, 1, id);
		status = find_one(connection, statement, ret_bucket, fault);
	} else {
		status = catalog_sql_fault(connection, fault);
	}
	catalog_give(catalog, connection);
	return status;
}

static enum hfkv_status visit_buckets(struct catalog_connection *connection, sqlite3_stmt *statement,
				      const struct catalog_bucket_query *query, struct fault *fault)
{
	catalog_bind_text(statement, 1, query->owner);
	catalog_bind_text(statement, 2, query->after);
	catalog_bind_text(statement, 3, query->search);
	sqlite3_bind_int64(statement, 4, query->limit);
	int code;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct catalog_bucket bucket;
		read_bucket(statement, &bucket);
		query->visit(query->context, &bucket);
	}
	enum hfkv_status status = code == SQLITE_DONE ? HFKV_OK : catalog_sql_fault(connection, fault);
	sqlite3_reset(statement);
	return status;
}

enum hfkv_status catalog_bucket_list(struct catalog *catalog, const struct catalog_bucket_query *query,
				     struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_reader(catalog);
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_LIST);
	enum hfkv_status status =
	    statement ? visit_buckets(connection, statement, query, fault) : catalog_sql_fault(connection, fault);
	catalog_give(catalog, connection);
	return status;
}

enum hfkv_status catalog_bucket_set_private(struct catalog *catalog, int64_t id, bool is_private,
					    struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_writer(catalog);
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_SET_PRIVATE);
	if (statement) {
		sqlite3_bind_int64(statement, 1, id);
		sqlite3_bind_int(statement, 2, is_private);
		sqlite3_bind_int64(statement, 3, clock_wall_ms());
	}
	enum hfkv_status status = catalog_run(connection, statement, fault);
	if (status == HFKV_OK && sqlite3_changes(connection->db) == 0)
		status = HFKV_NOT_FOUND;
	catalog_give(catalog, connection);
	return status;
}

enum hfkv_status catalog_bucket_rename(struct catalog *catalog, int64_t id, const char *owner, const char *name,
				       struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_writer(catalog);
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_BUCKET_RENAME);
	if (statement) {
		sqlite3_bind_int64(statement, 1, id);
		catalog_bind_text(statement, 2, owner);
		catalog_bind_text(statement, 3, name);
		sqlite3_bind_int64(statement, 4, clock_wall_ms());
	}
	enum hfkv_status status = catalog_run(connection, statement, fault);
	if (status == HFKV_OK && sqlite3_changes(connection->db) == 0)
		status = HFKV_EXISTS;
	catalog_give(catalog, connection);
	return status;
}

static enum hfkv_status run_for_bucket(struct catalog_connection *connection, enum catalog_statement which,
				       int64_t id, struct fault *fault)
{
	sqlite3_stmt *statement = catalog_prepare(connection, which);
	if (statement)
		sqlite3_bind_int64(statement, 1, id);
	return catalog_run(connection, statement, fault);
}

enum hfkv_status catalog_bucket_delete(struct catalog *catalog, int64_t id, struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_writer(catalog);
	enum hfkv_status status = catalog_begin_write(connection, fault);
	if (status == HFKV_OK) {
		status = run_for_bucket(connection, STATEMENT_BUCKET_DELETE, id, fault);
		if (status == HFKV_OK && sqlite3_changes(connection->db) == 0)
			status = HFKV_NOT_FOUND;
		if (status == HFKV_OK)
			status = run_for_bucket(connection, STATEMENT_BUCKET_DELETE_OBJECTS, id, fault);
		status = catalog_end(connection, status, fault);
	}
	catalog_give(catalog, connection);
	return status;
}
