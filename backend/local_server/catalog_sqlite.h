/*
 * Inside the SQLite catalog: connections, prepared statements, transactions. Seen by catalog_sqlite*.c only.
 *
 * WAL mode: one writing connection and a few reading ones. A connection is taken for one catalog call and
 * belongs to that thread until it is given back; no mutex is held meanwhile, and never across body I/O.
 */
#ifndef BACKEND_LOCAL_SERVER_CATALOG_SQLITE_H
#define BACKEND_LOCAL_SERVER_CATALOG_SQLITE_H

#include "backend/local_server/catalog.h"

#include <sqlite3.h>

enum catalog_statement {
	STATEMENT_BEGIN,
	STATEMENT_BEGIN_WRITE,
	STATEMENT_COMMIT,
	STATEMENT_ROLLBACK,
	STATEMENT_BUCKET_INSERT,
	STATEMENT_BUCKET_FIND,
	STATEMENT_BUCKET_FIND_ID,
	STATEMENT_BUCKET_LIST,
	STATEMENT_BUCKET_SET_PRIVATE,
	STATEMENT_BUCKET_RENAME,
	STATEMENT_BUCKET_DELETE,
	STATEMENT_BUCKET_DELETE_OBJECTS,
	STATEMENT_BUCKET_CHANGED,
	STATEMENT_OBJECT_FIND,
	STATEMENT_OBJECT_SCAN,
	STATEMENT_OBJECT_PUT,
	STATEMENT_OBJECT_DELETE,
	STATEMENT_XORB_INSERT,
	STATEMENT_XORB_EXISTS,
	STATEMENT_XORB_FIND,
	STATEMENT_FILE_INSERT,
	STATEMENT_FILE_SIZE,
	STATEMENT_FILE_FIND,
	STATEMENT_COUNT
};

struct catalog_connection {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared at first use */
	struct catalog_connection *next;           /* while it is free */
};

#define CATALOG_READERS 6

struct catalog {
	pthread_mutex_t mutex; /* guards the two lists of free connections, held for the list change only */
	pthread_cond_t freed;
	struct catalog_connection *free_readers, *free_writer;
	struct catalog_connection writer, readers[CATALOG_READERS];
};

/* Takes a connection, waiting for one; *_give takes NULL. */
struct catalog_connection *catalog_take_reader(struct catalog *catalog);
struct catalog_connection *catalog_take_writer(struct catalog *catalog);
void catalog_give(struct catalog *catalog, struct catalog_connection *connection);

/* The statement, reset and unbound; NULL when it cannot be prepared (sqlite3_errmsg says why). */
sqlite3_stmt *catalog_prepare(struct catalog_connection *connection, enum catalog_statement which);

/* Runs a statement that gives no rows. */
MUST_CHECK enum hfkv_status catalog_run(struct catalog_connection *connection, sqlite3_stmt *statement,
					struct fault *fault);
MUST_CHECK enum hfkv_status catalog_begin_read(struct catalog_connection *connection, struct fault *fault);
MUST_CHECK enum hfkv_status catalog_begin_write(struct catalog_connection *connection, struct fault *fault);
/* Commits when `status` is OK, else rolls back; returns what the transaction came to. */
MUST_CHECK enum hfkv_status catalog_end(struct catalog_connection *connection, enum hfkv_status status,
					struct fault *fault);

/* The failure that the connection's last call had. */
enum hfkv_status catalog_sql_fault(struct catalog_connection *connection, struct fault *fault);

void catalog_bind_hash(sqlite3_stmt *statement, int index, const struct content_hash *hash);
void catalog_bind_text(sqlite3_stmt *statement, int index, const char *text);
/* False when the column does not hold a hash. */
bool catalog_column_hash(sqlite3_stmt *statement, int column, struct content_hash *ret_hash);

#endif
