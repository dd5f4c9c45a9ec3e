#include "backend/xet/shard_reader.h"

#include "backend/xet/little_endian.h"
#include "backend/xet/merkle_hash.h"
#include "backend/xet/shard_layout.h"

/* Entries of the lookup tables: the first hash word, then one or two record indices. */
#define FILE_LOOKUP_BYTES  12
#define XORB_LOOKUP_BYTES  12
#define CHUNK_LOOKUP_BYTES 16

/* Offsets in the footer. */
enum {
	FOOTER_VERSION_AT = 0,
	FOOTER_FILE_AT = 8,
	FOOTER_XORB_AT = 16,
	FOOTER_FILE_LOOKUP_AT = 24,
	FOOTER_XORB_LOOKUP_AT = 40,
	FOOTER_CHUNK_LOOKUP_AT = 56,
	FOOTER_HMAC_KEY_AT = 72,
	FOOTER_CREATED_AT = 104,
	FOOTER_EXPIRES_AT = 112,
	FOOTER_STORED_ON_DISK_AT = 168,
	FOOTER_MATERIALIZED_AT = 176,
	FOOTER_STORED_AT = 184,
	FOOTER_OWN_OFFSET_AT = 192,
};

static enum hfkv_status malformed(struct fault *fault, const char *what)
{
	return fault_set(fault, HFKV_CORRUPT, "shard: %s", what);
}

static bool is_bookend(const uint8_t *record)
{
	for (size_t i = 0; i < SHARD_BOOKEND_FF_BYTES; i++)
		if (record[i] != 0xff)
			return false;
	return true;
}

static void read_hash(const uint8_t *record, struct content_hash *ret_hash)
{
	memcpy(ret_hash->bytes, record, CONTENT_HASH_BYTES);
}

/* Records of a file block after its header. */
static uint64_t file_body_records(uint32_t flags, uint32_t terms)
{
	return (uint64_t)terms * (flags & SHARD_FILE_HAS_VERIFICATION ? 2 : 1) +
	       (flags & SHARD_FILE_HAS_SHA256 ? 1 : 0);
}

/* One section: where its blocks begin and, after the check, how many they are and where it ends. */
struct section {
	bool is_files;
	size_t offset, end; /* end: behind the bookend */
	uint32_t count;
};

/* Walks a section from its offset to behind its bookend, checking that every block ends before `limit`. */
static enum hfkv_status check_section(const uint8_t *bytes, size_t limit, struct section *section,
				      struct fault *fault)
{
	size_t offset = section->offset;
	for (section->count = 0;; section->count++) {
		if (limit - offset < SHARD_RECORD_BYTES)
			return malformed(fault, "a section has no bookend");
		const uint8_t *record = bytes + offset;
		offset += SHARD_RECORD_BYTES;
		if (is_bookend(record)) {
			section->end = offset;
			return HFKV_OK;
		}
		uint32_t flags = le32_read(record + SHARD_FILE_FLAGS_AT);
		uint64_t body = le32_read(record + SHARD_XORB_CHUNKS_AT);
		if (section->is_files && (flags & ~(SHARD_FILE_HAS_VERIFICATION | SHARD_FILE_HAS_SHA256)))
			return malformed(fault, "a file block has unknown flags");
		if (section->is_files)
			body = file_body_records(flags, le32_read(record + SHARD_FILE_TERMS_AT));
		if (body > (limit - offset) / SHARD_RECORD_BYTES)
			return malformed(fault, "a block is longer than the shard");
		offset += body * SHARD_RECORD_BYTES;
	}
}

static void read_footer(const uint8_t *at, struct shard_footer *ret_footer)
{
	*ret_footer = (struct shard_footer){
		.file_offset = le64_read(at + FOOTER_FILE_AT),
		.xorb_offset = le64_read(at + FOOTER_XORB_AT),
		.file_lookup_offset = le64_read(at + FOOTER_FILE_LOOKUP_AT),
		.file_lookup_count = le64_read(at + FOOTER_FILE_LOOKUP_AT + 8),
		.xorb_lookup_offset = le64_read(at + FOOTER_XORB_LOOKUP_AT),
		.xorb_lookup_count = le64_read(at + FOOTER_XORB_LOOKUP_AT + 8),
		.chunk_lookup_offset = le64_read(at + FOOTER_CHUNK_LOOKUP_AT),
		.chunk_lookup_count = le64_read(at + FOOTER_CHUNK_LOOKUP_AT + 8),
		.created_at_s = le64_read(at + FOOTER_CREATED_AT),
		.key_expires_at_s = le64_read(at + FOOTER_EXPIRES_AT),
		.stored_bytes_on_disk = le64_read(at + FOOTER_STORED_ON_DISK_AT),
		.materialized_bytes = le64_read(at + FOOTER_MATERIALIZED_AT),
		.stored_bytes = le64_read(at + FOOTER_STORED_AT),
		.footer_offset = le64_read(at + FOOTER_OWN_OFFSET_AT),
	};
	memcpy(ret_footer->hmac_key, at + FOOTER_HMAC_KEY_AT, sizeof(ret_footer->hmac_key));
}

/* Whether a table lies between the records and the footer. An empty one may say anything. */
static bool table_fits(uint64_t offset, uint64_t count, size_t entry_bytes, size_t records_end, size_t footer_at)
{
	return count == 0 ||
	       (offset >= records_end && offset <= footer_at && count <= (footer_at - offset) / entry_bytes);
}

static enum hfkv_status check_footer(const struct shard_reader *reader, size_t records_end, size_t footer_at,
				     struct fault *fault)
{
	const struct shard_footer *footer = &reader->footer;
	if (le64_read(reader->bytes + footer_at + FOOTER_VERSION_AT) != SHARD_FOOTER_VERSION)
		return malformed(fault, "unknown footer version");
	if (footer->footer_offset != footer_at || footer->file_offset != reader->file_offset ||
	    footer->xorb_offset != reader->xorb_offset)
		return malformed(fault, "its footer names other places for its sections");
	if (!table_fits(footer->file_lookup_offset, footer->file_lookup_count, FILE_LOOKUP_BYTES, records_end,
			footer_at) ||
	    !table_fits(footer->xorb_lookup_offset, footer->xorb_lookup_count, XORB_LOOKUP_BYTES, records_end,
			footer_at) ||
	    !table_fits(footer->chunk_lookup_offset, footer->chunk_lookup_count, CHUNK_LOOKUP_BYTES, records_end,
			footer_at))
		return malformed(fault, "a lookup table lies outside");
	return HFKV_OK;
}

/* Checks the header; *ret_end is where records and tables end (the footer's place, or the length). */
static enum hfkv_status open_frame(struct shard_reader *reader, size_t *ret_end, struct fault *fault)
{
	const uint8_t *bytes = reader->bytes;
	if (reader->length_bytes > SHARD_MAX_BYTES)
		return fault_set(fault, HFKV_OVERSIZE, "shard: %zu bytes, at most %d are allowed",
				 reader->length_bytes, SHARD_MAX_BYTES);
	if (reader->length_bytes < 3 * SHARD_RECORD_BYTES || memcmp(bytes, shard_tag, SHARD_TAG_BYTES) != 0)
		return malformed(fault, "not a shard (its first bytes are others)");
	if (le64_read(bytes + SHARD_HEADER_VERSION_AT) != SHARD_HEADER_VERSION)
		return malformed(fault, "unknown version");
	uint64_t footer_bytes = le64_read(bytes + SHARD_HEADER_FOOTER_BYTES_AT);
	if (footer_bytes != 0 && (footer_bytes != SHARD_FOOTER_BYTES ||
				  reader->length_bytes < 3 * SHARD_RECORD_BYTES + SHARD_FOOTER_BYTES))
		return malformed(fault, "its footer has an impossible size");
	reader->has_footer = footer_bytes != 0;
	*ret_end = reader->length_bytes - footer_bytes;
	return HFKV_OK;
}

enum hfkv_status shard_reader_open(const void *bytes, size_t length, struct shard_reader *ret_reader,
				   struct fault *fault)
{
	struct shard_reader reader = { .bytes = bytes, .length_bytes = length };
	struct section files = { .is_files = true, .offset = SHARD_RECORD_BYTES }, xorbs = { .is_files = false };
	size_t limit = 0;
	enum hfkv_status status = open_frame(&reader, &limit, fault);
	if (status == HFKV_OK)
		status = check_section(reader.bytes, limit, &files, fault);
	xorbs.offset = files.end;
	if (status == HFKV_OK)
		status = check_section(reader.bytes, limit, &xorbs, fault);
	if (status != HFKV_OK)
		return status;
	reader.file_offset = files.offset;
	reader.file_count = files.count;
	reader.xorb_offset = xorbs.offset;
	reader.xorb_count = xorbs.count;
	if (!reader.has_footer && xorbs.end != length)
		return malformed(fault, "bytes after its second bookend");
	if (reader.has_footer) {
		read_footer(reader.bytes + limit, &reader.footer);
		status = check_footer(&reader, xorbs.end, limit, fault);
		if (status != HFKV_OK)
			return status;
	}
	*ret_reader = reader;
	return HFKV_OK;
}

bool shard_reader_next_file(const struct shard_reader *reader, size_t *cursor, struct shard_file *ret_file)
{
	size_t offset = *cursor ? *cursor : reader->file_offset;
	const uint8_t *record = reader->bytes + offset;
	*cursor = offset;
	if (is_bookend(record))
		return false;
	uint32_t flags = le32_read(record + SHARD_FILE_FLAGS_AT);
	uint32_t terms = le32_read(record + SHARD_FILE_TERMS_AT);
	size_t body = file_body_records(flags, terms) * SHARD_RECORD_BYTES;
	bool has_sha256 = flags & SHARD_FILE_HAS_SHA256;
	read_hash(record, &ret_file->hash);
	ret_file->flags = flags;
	ret_file->term_count = terms;
	ret_file->terms = record + SHARD_RECORD_BYTES;
	ret_file->sha256 = has_sha256 ? record + body : NULL; /* the last record of the block */
	*cursor = offset + SHARD_RECORD_BYTES + body;
	return true;
}

bool shard_reader_next_xorb(const struct shard_reader *reader, size_t *cursor, struct shard_xorb *ret_xorb)
{
	size_t offset = *cursor ? *cursor : reader->xorb_offset;
	const uint8_t *record = reader->bytes + offset;
	*cursor = offset;
	if (is_bookend(record))
		return false;
	read_hash(record, &ret_xorb->hash);
	ret_xorb->chunk_count = le32_read(record + SHARD_XORB_CHUNKS_AT);
	ret_xorb->raw_bytes = le32_read(record + SHARD_XORB_RAW_BYTES_AT);
	ret_xorb->serialized_bytes = le32_read(record + SHARD_XORB_SERIALIZED_AT);
	ret_xorb->chunks = record + SHARD_RECORD_BYTES;
	*cursor = offset + SHARD_RECORD_BYTES * (1 + (size_t)ret_xorb->chunk_count);
	return true;
}

void shard_file_term(const struct shard_file *file, uint32_t index, struct shard_term *ret_term)
{
	const uint8_t *record = file->terms + (size_t)index * SHARD_RECORD_BYTES;
	read_hash(record, &ret_term->xorb);
	ret_term->raw_bytes = le32_read(record + SHARD_TERM_RAW_BYTES_AT);
	ret_term->chunk_start = le32_read(record + SHARD_TERM_START_AT);
	ret_term->chunk_end = le32_read(record + SHARD_TERM_END_AT);
	if (file->flags & SHARD_FILE_HAS_VERIFICATION)
		read_hash(record + (size_t)file->term_count * SHARD_RECORD_BYTES, &ret_term->range_hash);
	else
		ret_term->range_hash = (struct content_hash){ 0 };
}

void shard_xorb_chunk(const struct shard_xorb *xorb, uint32_t index, struct shard_chunk *ret_chunk)
{
	const uint8_t *record = xorb->chunks + (size_t)index * SHARD_RECORD_BYTES;
	read_hash(record, &ret_chunk->hash);
	ret_chunk->raw_start = le32_read(record + SHARD_CHUNK_RAW_START_AT);
	ret_chunk->raw_bytes = le32_read(record + SHARD_CHUNK_RAW_BYTES_AT);
	ret_chunk->flags = le32_read(record + SHARD_CHUNK_FLAGS_AT);
}

/* The block whose header is record `index` of the xorb section: a table's word for it is checked by walking. */
static bool find_xorb_at(const struct shard_reader *reader, uint32_t index, struct shard_xorb *ret_xorb)
{
	uint64_t wanted = reader->xorb_offset + (uint64_t)index * SHARD_RECORD_BYTES;
	size_t cursor = 0;
	for (;;) {
		size_t at = cursor ? cursor : reader->xorb_offset;
		if (!shard_reader_next_xorb(reader, &cursor, ret_xorb) || at > wanted)
			return false;
		if (at == wanted)
			return true;
	}
}

static bool chunk_is(const struct shard_xorb *xorb, uint32_t index, const struct content_hash *hash)
{
	struct shard_chunk chunk;
	if (index >= xorb->chunk_count)
		return false;
	shard_xorb_chunk(xorb, index, &chunk);
	return content_hash_equal(&chunk.hash, hash);
}

static bool find_by_table(const struct shard_reader *reader, const struct content_hash *hash,
			  struct shard_xorb *ret_xorb, uint32_t *ret_index)
{
	const uint8_t *table = reader->bytes + reader->footer.chunk_lookup_offset;
	uint64_t word = le64_read(hash->bytes), low = 0, high = reader->footer.chunk_lookup_count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (le64_read(table + middle * CHUNK_LOOKUP_BYTES) < word)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < reader->footer.chunk_lookup_count; low++) {
		const uint8_t *entry = table + low * CHUNK_LOOKUP_BYTES;
		uint32_t index = le32_read(entry + 12);
		if (le64_read(entry) != word)
			return false;
		if (find_xorb_at(reader, le32_read(entry + 8), ret_xorb) && chunk_is(ret_xorb, index, hash)) {
			*ret_index = index;
			return true;
		}
	}
	return false;
}

static bool find_by_walk(const struct shard_reader *reader, const struct content_hash *hash,
			 struct shard_xorb *ret_xorb, uint32_t *ret_index)
{
	size_t cursor = 0;
	while (shard_reader_next_xorb(reader, &cursor, ret_xorb))
		for (uint32_t i = 0; i < ret_xorb->chunk_count; i++)
			if (chunk_is(ret_xorb, i, hash)) {
				*ret_index = i;
				return true;
			}
	return false;
}

bool shard_reader_find_chunk(const struct shard_reader *reader, const struct content_hash *plain_hash,
			     struct shard_xorb *ret_xorb, uint32_t *ret_index)
{
	static const uint8_t no_key[CONTENT_HASH_BYTES];
	struct content_hash hash = *plain_hash;
	if (reader->has_footer && memcmp(reader->footer.hmac_key, no_key, sizeof(no_key)) != 0)
		merkle_hash_keyed(reader->footer.hmac_key, plain_hash, &hash);
	if (reader->has_footer && reader->footer.chunk_lookup_count > 0)
		return find_by_table(reader, &hash, ret_xorb, ret_index);
	return find_by_walk(reader, &hash, ret_xorb, ret_index);
}
