/* Xorbs and files in the SQLite catalog. */
#include "backend/local_server/catalog_sqlite.h"

#include <endian.h>
#include <string.h>

#define CHUNK_ROW_BYTES (CONTENT_HASH_BYTES + 2 * sizeof(uint32_t))
#define TERM_ROW_BYTES  (CONTENT_HASH_BYTES + 3 * sizeof(uint32_t))

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static const uint8_t *get_u32(const uint8_t *at, uint32_t *ret_value)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	*ret_value = le32toh(value);
	return at + sizeof(value);
}

static uint8_t *put_hash(uint8_t *at, const struct content_hash *hash)
{
	memcpy(at, hash->bytes, CONTENT_HASH_BYTES);
	return at + CONTENT_HASH_BYTES;
}

static const uint8_t *get_hash(const uint8_t *at, struct content_hash *ret_hash)
{
	memcpy(ret_hash->bytes, at, CONTENT_HASH_BYTES);
	return at + CONTENT_HASH_BYTES;
}

/* Takes the answer out of the row. */
typedef enum hfkv_status (*row_reader)(sqlite3_stmt *row, void *ret_answer, struct fault *fault);

/* Finds the one row of `hash`; read NULL: only whether there is one. */
static enum hfkv_status find_row(struct catalog *catalog, enum catalog_statement which, const struct content_hash *hash,
				 row_reader read, void *ret_answer, struct fault *fault)
{
	struct catalog_connection *connection = catalog_take_reader(catalog);
	sqlite3_stmt *statement = catalog_prepare(connection, which);
	if (statement)
		catalog_bind_hash(statement, 1, hash);
	int code = statement ? sqlite3_step(statement) : SQLITE_ERROR;
	enum hfkv_status status = HFKV_OK;
	if (code != SQLITE_ROW)
		status = code == SQLITE_DONE ? HFKV_NOT_FOUND : catalog_sql_fault(connection, fault);
	else if (read)
		status = read(statement, ret_answer, fault);
	if (statement)
		sqlite3_reset(statement);
	catalog_give(catalog, connection);
	return status;
}

void catalog_file_done(struct catalog_file *file)
{
	free(file->terms);
	file->terms = NULL;
	file->term_count = 0;
}

/* ---- xorbs ---- */

enum hfkv_status catalog_xorb_add(struct catalog *catalog, const struct xorb_listing *xorb, bool *ret_inserted,
				  struct fault *fault)
{
	size_t length = xorb->chunk_count * CHUNK_ROW_BYTES;
	CLEANUP(free_pointer) uint8_t *rows = malloc(length ? length : 1);
	if (!rows)
		return fault_set(fault, HFKV_NO_MEMORY, "catalog: no memory for a xorb's chunk list");
	uint8_t *at = rows;
	for (uint32_t i = 0; i < xorb->chunk_count; i++) {
		at = put_hash(at, &xorb->chunks[i].hash);
		at = put_u32(at, xorb->chunks[i].record_end);
		at = put_u32(at, xorb->chunks[i].raw_end);
	}
	struct catalog_connection *connection = catalog_take_writer(catalog);
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_XORB_INSERT);
	if (statement) {
		catalog_bind_hash(statement, 1, &xorb->hash);
		sqlite3_bind_blob64(statement, 2, rows, length, SQLITE_STATIC);
	}
	enum hfkv_status status = catalog_run(connection, statement, fault);
	if (status == HFKV_OK)
		*ret_inserted = sqlite3_changes(connection->db) > 0;
	if (statement)
		sqlite3_clear_bindings(statement);
	catalog_give(catalog, connection);
	return status;
}

enum hfkv_status catalog_xorb_exists(struct catalog *catalog, const struct content_hash *hash, struct fault *fault)
{
	return find_row(catalog, STATEMENT_XORB_EXISTS, hash, NULL, NULL, fault);
}

static enum hfkv_status read_chunk_list(sqlite3_stmt *row, void *ret_answer, struct fault *fault)
{
	struct xorb_listing *ret_xorb = ret_answer;
	const uint8_t *at = sqlite3_column_blob(row, 0);
	size_t length = (size_t)sqlite3_column_bytes(row, 0);
	if (!at || length % CHUNK_ROW_BYTES)
		return fault_set(fault, HFKV_CORRUPT, "catalog: the chunk list of a xorb is damaged");
	size_t count = length / CHUNK_ROW_BYTES;
	struct xorb_listing_chunk *chunks = malloc(count * sizeof(*chunks));
	if (!chunks)
		return fault_set(fault, HFKV_NO_MEMORY, "catalog: no memory for a xorb's chunk list");
	for (size_t i = 0; i < count; i++) {
		at = get_hash(at, &chunks[i].hash);
		at = get_u32(at, &chunks[i].record_end);
		at = get_u32(at, &chunks[i].raw_end);
	}
	ret_xorb->chunks = chunks;
	ret_xorb->chunk_count = (uint32_t)count;
	ret_xorb->raw_bytes = count ? chunks[count - 1].raw_end : 0;
	ret_xorb->records_bytes = count ? chunks[count - 1].record_end : 0;
	return HFKV_OK;
}

enum hfkv_status catalog_xorb_find(struct catalog *catalog, const struct content_hash *hash,
				   struct xorb_listing *ret_xorb, struct fault *fault)
{
	enum hfkv_status status = find_row(catalog, STATEMENT_XORB_FIND, hash, read_chunk_list, ret_xorb, fault);
	if (status == HFKV_OK)
		ret_xorb->hash = *hash;
	return status;
}

/* ---- files ---- */

static enum hfkv_status insert_file(struct catalog_connection *connection, const struct catalog_file *file,
				    size_t *inserted, struct fault *fault)
{
	size_t length = file->term_count * TERM_ROW_BYTES;
	CLEANUP(free_pointer) uint8_t *rows = malloc(length ? length : 1);
	if (!rows)
		return fault_set(fault, HFKV_NO_MEMORY, "catalog: no memory for a file's terms");
	uint8_t *at = rows;
	for (uint32_t i = 0; i < file->term_count; i++) {
		at = put_hash(at, &file->terms[i].xorb);
		at = put_u32(at, file->terms[i].first_xet_chunk);
		at = put_u32(at, file->terms[i].end_xet_chunk);
		at = put_u32(at, file->terms[i].raw_bytes);
	}
	sqlite3_stmt *statement = catalog_prepare(connection, STATEMENT_FILE_INSERT);
	if (statement) {
		catalog_bind_hash(statement, 1, &file->hash);
		sqlite3_bind_int64(statement, 2, (sqlite3_int64)file->size_bytes);
		sqlite3_bind_blob64(statement, 3, rows, length, SQLITE_STATIC);
	}
	enum hfkv_status status = catalog_run(connection, statement, fault);
	if (status == HFKV_OK && sqlite3_changes(connection->db) > 0)
		(*inserted)++;
	if (statement)
		sqlite3_clear_bindings(statement);
	return status;
}

enum hfkv_status catalog_files_add(struct catalog *catalog, const struct catalog_file *files, size_t count,
				   size_t *ret_inserted, struct fault *fault)
{
	size_t inserted = 0;
	struct catalog_connection *connection = catalog_take_writer(catalog);
	enum hfkv_status status = catalog_begin_write(connection, fault);
	if (status == HFKV_OK) {
		for (size_t i = 0; i < count && status == HFKV_OK; i++)
			status = insert_file(connection, &files[i], &inserted, fault);
		status = catalog_end(connection, status, fault);
	}
	catalog_give(catalog, connection);
	if (status == HFKV_OK)
		*ret_inserted = inserted;
	return status;
}

static enum hfkv_status read_terms(sqlite3_stmt *row, void *ret_answer, struct fault *fault)
{
	struct catalog_file *ret_file = ret_answer;
	const uint8_t *at = sqlite3_column_blob(row, 1);
	size_t length = (size_t)sqlite3_column_bytes(row, 1);
	if (!at || length % TERM_ROW_BYTES)
		return fault_set(fault, HFKV_CORRUPT, "catalog: the terms of a file are damaged");
	size_t count = length / TERM_ROW_BYTES;
	struct catalog_term *terms = malloc(count * sizeof(*terms));
	if (!terms)
		return fault_set(fault, HFKV_NO_MEMORY, "catalog: no memory for a file's terms");
	for (size_t i = 0; i < count; i++) {
		at = get_hash(at, &terms[i].xorb);
		at = get_u32(at, &terms[i].first_xet_chunk);
		at = get_u32(at, &terms[i].end_xet_chunk);
		at = get_u32(at, &terms[i].raw_bytes);
	}
	ret_file->size_bytes = (uint64_t)sqlite3_column_int64(row, 0);
	ret_file->terms = terms;
	ret_file->term_count = (uint32_t)count;
	return HFKV_OK;
}

enum hfkv_status catalog_file_find(struct catalog *catalog, const struct content_hash *hash,
				   struct catalog_file *ret_file, struct fault *fault)
{
	enum hfkv_status status = find_row(catalog, STATEMENT_FILE_FIND, hash, read_terms, ret_file, fault);
	if (status == HFKV_OK)
		ret_file->hash = *hash;
	return status;
}
