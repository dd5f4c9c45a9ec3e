#include "backend/local_server/catalog_sqlite.h"

#include "common/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Bumped when the tables change; a file of another version is refused, never guessed at. */
#define CATALOG_VERSION 1
#define BUSY_WAIT_MS    30000

static const char schema[] =
    "CREATE TABLE bucket("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, name TEXT NOT NULL, private INTEGER NOT NULL,"
    " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,"
    " size_bytes INTEGER NOT NULL DEFAULT 0, file_count INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE(owner, name));"
    "CREATE TABLE object("
    " bucket INTEGER NOT NULL, path TEXT NOT NULL, hash BLOB NOT NULL, size_bytes INTEGER NOT NULL,"
    " modified_at INTEGER, uploaded_at INTEGER NOT NULL, content_type TEXT,"
    " PRIMARY KEY(bucket, path)) WITHOUT ROWID;"
    /* chunks: per chunk 32 bytes of hash, then the two ends as little-endian u32. */
    "CREATE TABLE xorb(hash BLOB NOT NULL UNIQUE, chunks BLOB NOT NULL);"
    /* terms: per term 32 bytes of xorb hash, then first chunk, end chunk, raw bytes as little-endian u32. */
    "CREATE TABLE file(hash BLOB NOT NULL UNIQUE, size_bytes INTEGER NOT NULL, terms BLOB NOT NULL);";

#define BUCKET_COLUMNS "id, owner, name, private, created_at, updated_at, size_bytes, file_count"
#define OBJECT_COLUMNS "path, hash, size_bytes, modified_at, uploaded_at, content_type"

static const char *const statement_text[STATEMENT_COUNT] = {
	[STATEMENT_BEGIN] = "BEGIN",
	[STATEMENT_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_BUCKET_INSERT] = "INSERT INTO bucket(owner, name, private, created_at, updated_at)"
				    " VALUES(?1, ?2, ?3, ?4, ?4) ON CONFLICT DO NOTHING",
	[STATEMENT_BUCKET_FIND] = "SELECT " BUCKET_COLUMNS " FROM bucket WHERE owner = ?1 AND name = ?2",
	[STATEMENT_BUCKET_FIND_ID] = "SELECT " BUCKET_COLUMNS " FROM bucket WHERE id = ?1",
	[STATEMENT_BUCKET_LIST] = "SELECT " BUCKET_COLUMNS " FROM bucket WHERE owner = ?1 AND name > ?2"
				  " AND (?3 = '' OR instr(name, ?3) > 0) ORDER BY name LIMIT ?4",
	[STATEMENT_BUCKET_SET_PRIVATE] = "UPDATE bucket SET private = ?2, updated_at = max(?3, updated_at + 1)"
					 " WHERE id = ?1",
	[STATEMENT_BUCKET_RENAME] = "UPDATE OR IGNORE bucket SET owner = ?2, name = ?3,"
				    " updated_at = max(?4, updated_at + 1) WHERE id = ?1",
	[STATEMENT_BUCKET_DELETE] = "DELETE FROM bucket WHERE id = ?1",
	[STATEMENT_BUCKET_DELETE_OBJECTS] = "DELETE FROM object WHERE bucket = ?1",
	[STATEMENT_BUCKET_CHANGED] = "UPDATE bucket SET updated_at = max(?2, updated_at + 1),"
				     " size_bytes = size_bytes + ?3, file_count = file_count + ?4 WHERE id = ?1",
	[STATEMENT_OBJECT_FIND] = "SELECT " OBJECT_COLUMNS " FROM object WHERE bucket = ?1 AND path = ?2",
	[STATEMENT_OBJECT_SCAN] = "SELECT " OBJECT_COLUMNS " FROM object WHERE bucket = ?1 AND path >= ?2"
				  " ORDER BY path",
	[STATEMENT_OBJECT_PUT] =
	    "INSERT OR REPLACE INTO object(bucket, path, hash, size_bytes, modified_at, uploaded_at,"
	    " content_type) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[STATEMENT_OBJECT_DELETE] = "DELETE FROM object WHERE bucket = ?1 AND path = ?2",
	[STATEMENT_XORB_INSERT] = "INSERT INTO xorb(hash, chunks) VALUES(?1, ?2) ON CONFLICT DO NOTHING",
	[STATEMENT_XORB_EXISTS] = "SELECT 1 FROM xorb WHERE hash = ?1",
	[STATEMENT_XORB_FIND] = "SELECT chunks FROM xorb WHERE hash = ?1",
	[STATEMENT_FILE_INSERT] =
	    "INSERT INTO file(hash, size_bytes, terms) VALUES(?1, ?2, ?3) ON CONFLICT DO NOTHING",
	[STATEMENT_FILE_SIZE] = "SELECT size_bytes FROM file WHERE hash = ?1",
	[STATEMENT_FILE_FIND] = "SELECT size_bytes, terms FROM file WHERE hash = ?1",
};

enum hfkv_status catalog_sql_fault(struct catalog_connection *connection, struct fault *fault)
{
	int code = connection->db ? sqlite3_errcode(connection->db) & 0xff : SQLITE_NOMEM;
	enum hfkv_status status = code == SQLITE_FULL                                  ? HFKV_NO_SPACE
				  : code == SQLITE_NOMEM                               ? HFKV_NO_MEMORY
				  : code == SQLITE_CORRUPT || code == SQLITE_NOTADB    ? HFKV_CORRUPT
				  : code == SQLITE_READONLY || code == SQLITE_CANTOPEN ? HFKV_FORBIDDEN
				  : code == SQLITE_BUSY || code == SQLITE_LOCKED       ? HFKV_BUSY
										       : HFKV_IO;
	return fault_set(fault, status, "catalog: %s",
			 connection->db ? sqlite3_errmsg(connection->db) : "no memory");
}

sqlite3_stmt *catalog_prepare(struct catalog_connection *connection, enum catalog_statement which)
{
	sqlite3_stmt **statement = &connection->statements[which];
	if (*statement) {
		sqlite3_reset(*statement);
		sqlite3_clear_bindings(*statement);
		return *statement;
	}
	if (sqlite3_prepare_v3(connection->db, statement_text[which], -1, SQLITE_PREPARE_PERSISTENT, statement,
			       NULL))
		return NULL;
	return *statement;
}

enum hfkv_status catalog_run(struct catalog_connection *connection, sqlite3_stmt *statement, struct fault *fault)
{
	int code = statement ? sqlite3_step(statement) : SQLITE_ERROR;
	enum hfkv_status status =
	    code == SQLITE_DONE || code == SQLITE_ROW ? HFKV_OK : catalog_sql_fault(connection, fault);
	if (statement)
		sqlite3_reset(statement);
	return status;
}

enum hfkv_status catalog_begin_read(struct catalog_connection *connection, struct fault *fault)
{
	return catalog_run(connection, catalog_prepare(connection, STATEMENT_BEGIN), fault);
}

enum hfkv_status catalog_begin_write(struct catalog_connection *connection, struct fault *fault)
{
	return catalog_run(connection, catalog_prepare(connection, STATEMENT_BEGIN_WRITE), fault);
}

enum hfkv_status catalog_end(struct catalog_connection *connection, enum hfkv_status status, struct fault *fault)
{
	if (status == HFKV_OK)
		status = catalog_run(connection, catalog_prepare(connection, STATEMENT_COMMIT), fault);
	if (status != HFKV_OK && !sqlite3_get_autocommit(connection->db)) {
		enum hfkv_status undone =
		    catalog_run(connection, catalog_prepare(connection, STATEMENT_ROLLBACK), NULL);
		(void)undone; /* nothing more can be done, and the first failure is the one to tell */
	}
	return status;
}

void catalog_bind_hash(sqlite3_stmt *statement, int index, const struct content_hash *hash)
{
	sqlite3_bind_blob(statement, index, hash->bytes, CONTENT_HASH_BYTES, SQLITE_STATIC);
}

void catalog_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	if (text)
		sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(statement, index);
}

bool catalog_column_hash(sqlite3_stmt *statement, int column, struct content_hash *ret_hash)
{
	const void *bytes = sqlite3_column_blob(statement, column);
	if (!bytes || sqlite3_column_bytes(statement, column) != CONTENT_HASH_BYTES)
		return false;
	memcpy(ret_hash->bytes, bytes, CONTENT_HASH_BYTES);
	return true;
}

/* ---- connections ---- */

static struct catalog_connection *take(struct catalog *catalog, struct catalog_connection **list)
{
	SCOPED_LOCK(&catalog->mutex);
	while (!*list)
		pthread_cond_wait(&catalog->freed, &catalog->mutex);
	struct catalog_connection *connection = *list;
	*list = connection->next;
	return connection;
}

struct catalog_connection *catalog_take_reader(struct catalog *catalog)
{
	return take(catalog, &catalog->free_readers);
}

struct catalog_connection *catalog_take_writer(struct catalog *catalog)
{
	return take(catalog, &catalog->free_writer);
}

void catalog_give(struct catalog *catalog, struct catalog_connection *connection)
{
	if (!connection)
		return;
	SCOPED_LOCK(&catalog->mutex);
	struct catalog_connection **list =
	    connection == &catalog->writer ? &catalog->free_writer : &catalog->free_readers;
	connection->next = *list;
	*list = connection;
	pthread_cond_broadcast(&catalog->freed);
}

static void connection_close(struct catalog_connection *connection)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(connection->statements[i]);
	sqlite3_close(connection->db);
}

static enum hfkv_status execute(struct catalog_connection *connection, const char *sql, struct fault *fault)
{
	if (sqlite3_exec(connection->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return catalog_sql_fault(connection, fault);
	return HFKV_OK;
}

static enum hfkv_status connection_open(struct catalog_connection *connection, const char *file, bool durable,
					struct fault *fault)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	if (sqlite3_open_v2(file, &connection->db, flags, NULL) != SQLITE_OK)
		return catalog_sql_fault(connection, fault);
	sqlite3_extended_result_codes(connection->db, 1);
	sqlite3_busy_timeout(connection->db, BUSY_WAIT_MS);
	enum hfkv_status status = execute(connection, "PRAGMA journal_mode=WAL; PRAGMA cache_size=-4096;", fault);
	if (status != HFKV_OK)
		return status;
	return execute(connection, durable ? "PRAGMA synchronous=FULL;" : "PRAGMA synchronous=OFF;", fault);
}

static enum hfkv_status read_version(struct catalog_connection *connection, int *ret_version, struct fault *fault)
{
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(connection->db, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK)
		return catalog_sql_fault(connection, fault);
	enum hfkv_status status = HFKV_OK;
	if (sqlite3_step(statement) == SQLITE_ROW)
		*ret_version = sqlite3_column_int(statement, 0);
	else
		status = catalog_sql_fault(connection, fault);
	sqlite3_finalize(statement);
	return status;
}

static enum hfkv_status prepare_schema(struct catalog_connection *connection, struct fault *fault)
{
	int version = 0;
	enum hfkv_status status = read_version(connection, &version, fault);
	if (status != HFKV_OK || version == CATALOG_VERSION)
		return status;
	if (version != 0)
		return fault_set(fault, HFKV_INVALID,
				 "catalog: its version is %d, this program knows %d: use the hfkv that made it",
				 version, CATALOG_VERSION);
	status = catalog_begin_write(connection, fault);
	if (status != HFKV_OK)
		return status;
	char stamp[64];
	snprintf(stamp, sizeof(stamp), "PRAGMA user_version=%d;", CATALOG_VERSION);
	status = execute(connection, schema, fault);
	if (status == HFKV_OK)
		status = execute(connection, stamp, fault);
	return catalog_end(connection, status, fault);
}

/* SQLite gives a new file the umask's mode, and its companions that of the file: nobody else reads names here. */
static enum hfkv_status make_private(const char *file, struct fault *fault)
{
	CLEANUP(close_fd) int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? fault_set_errno(fault, errno, "cannot open 'catalog.sqlite'") : HFKV_OK;
}

enum hfkv_status catalog_open(const char *location, bool durable, struct catalog **ret_catalog,
			      struct fault *fault)
{
	CLEANUP(free_pointer) char *file = NULL;
	if (asprintf(&file, "%s/catalog.sqlite", location) < 0)
		return fault_set(fault, HFKV_NO_MEMORY, "catalog: no memory");
	CLEANUP(catalog_closep) struct catalog *catalog = calloc(1, sizeof(*catalog));
	if (!catalog)
		return fault_set(fault, HFKV_NO_MEMORY, "catalog: no memory");
	pthread_mutex_init(&catalog->mutex, NULL);
	condition_init(&catalog->freed);
	enum hfkv_status status = make_private(file, fault);
	if (status == HFKV_OK)
		status = connection_open(&catalog->writer, file, durable, fault);
	if (status == HFKV_OK)
		status = prepare_schema(&catalog->writer, fault);
	for (size_t i = 0; i < CATALOG_READERS && status == HFKV_OK; i++) {
		status = connection_open(&catalog->readers[i], file, durable, fault);
		catalog_give(catalog, &catalog->readers[i]);
	}
	if (status != HFKV_OK) {
		fault_add_context(fault, "'%s'", location);
		return status;
	}
	catalog_give(catalog, &catalog->writer);
	*ret_catalog = TAKE_PTR(catalog);
	return HFKV_OK;
}

void catalog_close(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < CATALOG_READERS; i++)
		connection_close(&catalog->readers[i]);
	connection_close(&catalog->writer);
	pthread_cond_destroy(&catalog->freed);
	pthread_mutex_destroy(&catalog->mutex);
	free(catalog);
}
