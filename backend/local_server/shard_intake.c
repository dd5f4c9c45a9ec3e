#include "backend/local_server/shard_intake.h"

#include "backend/xet/merkle_hash.h"
#include "backend/xet/shard_reader.h"

#include <uthash.h>

/* A file of more terms than this (petabytes) is refused: it bounds what one upload can make us allocate. */
#define TERMS_MAX (1u << 20)

struct known_xorb {
	struct xorb_listing listing;
	UT_hash_handle hh;
};

struct intake {
	struct catalog *catalog;
	struct known_xorb *xorbs; /* by hash: each is read once a shard */
	struct catalog_file *files;
	size_t file_count;
};

static void intake_done(struct intake *intake)
{
	struct known_xorb *xorb, *next;
	HASH_ITER(hh, intake->xorbs, xorb, next)
	{
		HASH_DEL(intake->xorbs, xorb);
		xorb_listing_done(&xorb->listing);
		free(xorb);
	}
	for (size_t i = 0; i < intake->file_count; i++)
		catalog_file_done(&intake->files[i]);
	free(intake->files);
}

/* `what` is refused because of the named hash. */
static enum hfkv_status refuse(struct fault *fault, const struct content_hash *hash, const char *what)
{
	char text[CONTENT_HASH_TEXT_BYTES];
	content_hash_format(hash, text);
	return fault_set(fault, HFKV_INVALID, "shard: %s %s", what, text);
}

static enum hfkv_status find_xorb(struct intake *intake, const struct content_hash *hash,
				  const struct xorb_listing **ret_listing, struct fault *fault)
{
	struct known_xorb *xorb;
	HASH_FIND(hh, intake->xorbs, hash, sizeof(*hash), xorb);
	if (xorb) {
		*ret_listing = &xorb->listing;
		return HFKV_OK;
	}
	xorb = calloc(1, sizeof(*xorb));
	if (!xorb)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a shard");
	enum hfkv_status status = catalog_xorb_find(intake->catalog, hash, &xorb->listing, fault);
	if (status != HFKV_OK) {
		free(xorb);
		return status == HFKV_NOT_FOUND ? refuse(fault, hash, "it names a xorb that was not uploaded:")
						: status;
	}
	HASH_ADD(hh, intake->xorbs, listing.hash, sizeof(xorb->listing.hash), xorb);
	*ret_listing = &xorb->listing;
	return HFKV_OK;
}

/* Checks one term and adds its chunks to the file's root. */
static enum hfkv_status check_term(struct intake *intake, const struct shard_term *term, struct merkle_root *root,
				   struct fault *fault)
{
	const struct xorb_listing *xorb;
	enum hfkv_status status = find_xorb(intake, &term->xorb, &xorb, fault);
	if (status != HFKV_OK)
		return status;
	if (term->chunk_start >= term->chunk_end || term->chunk_end > xorb->chunk_count)
		return refuse(fault, &term->xorb, "a term lies outside its xorb");
	struct range_hash range;
	range_hash_init(&range);
	uint64_t raw_bytes = 0;
	for (uint32_t i = term->chunk_start; i < term->chunk_end; i++) {
		uint32_t chunk_bytes = xorb_listing_raw_bytes(xorb, i);
		range_hash_add(&range, &xorb->chunks[i].hash);
		merkle_root_add(root, &xorb->chunks[i].hash, chunk_bytes);
		raw_bytes += chunk_bytes;
	}
	struct content_hash hash;
	range_hash_finish(&range, &hash);
	if (raw_bytes != term->raw_bytes)
		return refuse(fault, &term->xorb, "a term's length is not that of its chunks in xorb");
	if (!content_hash_equal(&hash, &term->range_hash))
		return refuse(fault, &term->xorb, "the verification hash of a term does not fit xorb");
	return HFKV_OK;
}

static enum hfkv_status check_terms(struct intake *intake, const struct shard_file *source,
				    struct catalog_file *file, struct fault *fault)
{
	struct merkle_root root;
	merkle_root_init(&root);
	for (uint32_t i = 0; i < source->term_count; i++) {
		struct shard_term term;
		shard_file_term(source, i, &term);
		enum hfkv_status status = check_term(intake, &term, &root, fault);
		if (status != HFKV_OK)
			return status;
		file->terms[i] = (struct catalog_term){ .xorb = term.xorb,
							.first_xet_chunk = term.chunk_start,
							.end_xet_chunk = term.chunk_end,
							.raw_bytes = term.raw_bytes };
		file->size_bytes += term.raw_bytes;
	}
	struct content_hash whole, hash;
	merkle_root_finish(&root, &whole);
	merkle_hash_file(&whole, &hash);
	if (!content_hash_equal(&hash, &source->hash))
		return refuse(fault, &source->hash, "the chunks of a file do not give its hash");
	return HFKV_OK;
}

static enum hfkv_status take_file(struct intake *intake, const struct shard_file *source, struct fault *fault)
{
	if (!(source->flags & SHARD_FILE_HAS_VERIFICATION))
		return refuse(fault, &source->hash, "a file has no verification records:");
	if (source->term_count == 0)
		return content_hash_is_zero(&source->hash) ? HFKV_OK
							   : refuse(fault, &source->hash, "a file has no terms:");
	if (source->term_count > TERMS_MAX)
		return refuse(fault, &source->hash, "a file has too many terms:");
	struct catalog_file *file = &intake->files[intake->file_count];
	file->hash = source->hash;
	file->term_count = source->term_count;
	file->terms = calloc(source->term_count, sizeof(*file->terms));
	if (!file->terms)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a shard");
	intake->file_count++;
	return check_terms(intake, source, file, fault);
}

static enum hfkv_status check_xorb_block(struct intake *intake, const struct shard_xorb *block,
					 struct fault *fault)
{
	const struct xorb_listing *xorb;
	enum hfkv_status status = find_xorb(intake, &block->hash, &xorb, fault);
	if (status != HFKV_OK)
		return status;
	if (block->chunk_count != xorb->chunk_count || block->raw_bytes != xorb->raw_bytes)
		return refuse(fault, &block->hash, "a xorb block does not fit xorb");
	for (uint32_t i = 0; i < block->chunk_count; i++) {
		struct shard_chunk chunk;
		shard_xorb_chunk(block, i, &chunk);
		if (!content_hash_equal(&chunk.hash, &xorb->chunks[i].hash) ||
		    chunk.raw_start != xorb_listing_raw_start(xorb, i) ||
		    chunk.raw_bytes != xorb_listing_raw_bytes(xorb, i))
			return refuse(fault, &block->hash, "a chunk of a xorb block does not fit xorb");
	}
	return HFKV_OK;
}

static enum hfkv_status check_all(struct intake *intake, const struct shard_reader *shard, struct fault *fault)
{
	enum hfkv_status status = HFKV_OK;
	struct shard_xorb xorb;
	struct shard_file file;
	for (size_t at = 0; status == HFKV_OK && shard_reader_next_xorb(shard, &at, &xorb);)
		status = check_xorb_block(intake, &xorb, fault);
	for (size_t at = 0; status == HFKV_OK && shard_reader_next_file(shard, &at, &file);)
		status = take_file(intake, &file, fault);
	return status;
}

enum hfkv_status shard_intake(struct catalog *catalog, const void *bytes, size_t length, size_t *ret_inserted,
			      size_t *ret_files, struct fault *fault)
{
	struct shard_reader shard;
	enum hfkv_status status = shard_reader_open(bytes, length, &shard, fault);
	if (status == HFKV_CORRUPT || status == HFKV_OVERSIZE)
		return HFKV_INVALID;
	if (status != HFKV_OK)
		return status;
	CLEANUP(intake_done) struct intake intake = { .catalog = catalog };
	intake.files = calloc(shard.file_count ? shard.file_count : 1, sizeof(*intake.files));
	if (!intake.files)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for a shard");
	status = check_all(&intake, &shard, fault);
	if (status != HFKV_OK)
		return status;
	*ret_inserted = 0;
	*ret_files = shard.file_count;
	return intake.file_count == 0
		   ? HFKV_OK
		   : catalog_files_add(catalog, intake.files, intake.file_count, ret_inserted, fault);
}
