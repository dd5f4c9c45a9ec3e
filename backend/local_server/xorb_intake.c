#include "backend/local_server/xorb_intake.h"

#include "backend/xet/xorb_validator.h"

struct xorb_intake {
	struct xorb_validator *validator;
	struct blob_writer *writer; /* NULL: the xorb is there already */
	enum hfkv_status status;    /* the first failure */
	struct fault fault;
};

enum hfkv_status xorb_intake_new(struct blob_store *blobs, bool keep, struct xorb_intake **ret_intake,
				 struct fault *fault)
{
	CLEANUP(xorb_intake_freep) struct xorb_intake *intake = calloc(1, sizeof(*intake));
	if (!intake)
		return fault_set(fault, HFKV_NO_MEMORY, "no memory for an upload");
	intake->fault = FAULT_NONE;
	enum hfkv_status status = xorb_validator_new(&intake->validator, fault);
	if (status == HFKV_OK && keep)
		status = blob_writer_new(blobs, &intake->writer, fault);
	if (status == HFKV_OK)
		*ret_intake = TAKE_PTR(intake);
	return status;
}

void xorb_intake_free(struct xorb_intake *intake)
{
	if (!intake)
		return;
	xorb_validator_free(intake->validator);
	blob_writer_free(intake->writer);
	free(intake);
}

void xorb_intake_feed(struct xorb_intake *intake, const void *bytes, size_t length)
{
	if (intake->status == HFKV_OK)
		intake->status = xorb_validator_feed(intake->validator, bytes, length, &intake->fault);
	if (intake->status == HFKV_OK && intake->writer)
		intake->status = blob_writer_append(intake->writer, bytes, length, &intake->fault);
}

enum hfkv_status xorb_intake_commit(struct xorb_intake *intake, struct catalog *catalog,
				    const struct content_hash *hash, bool *ret_inserted, struct fault *fault)
{
	if (intake->status != HFKV_OK) {
		if (fault)
			*fault = intake->fault;
		return intake->status;
	}
	CLEANUP(xorb_listing_done) struct xorb_listing listing = { 0 };
	enum hfkv_status status = xorb_validator_finish(intake->validator, &listing, fault);
	if (status != HFKV_OK)
		return status;
	if (!content_hash_equal(&listing.hash, hash))
		return fault_set(fault, HFKV_CORRUPT, "the body hashes to another xorb than the path names");
	*ret_inserted = false;
	if (!intake->writer)
		return HFKV_OK;
	/* A footer behind the records stays in the blob; the catalog's offsets never reach it. */
	status = blob_writer_commit(intake->writer, hash, fault);
	return status == HFKV_OK ? catalog_xorb_add(catalog, &listing, ret_inserted, fault) : status;
}
