#include "backend/cas/xet_download.h"

#include "backend/cas/plan_crew.h"
#include "backend/xet/merkle_hash.h"

#include <inttypes.h>
#include <stdlib.h>

/* Plans are asked for in blocks of this many file bytes, as the reference client does. */
#define BLOCK_BYTES (UINT64_C(256) * 1024 * 1024)

/* Times that a file's data may be found elsewhere during one read. */
#define MOVES_MAX 3

/* Chunks of all fetches of one plan: a block has 32768 at the smallest ordinary chunk size; more is nonsense. */
#define BLOCK_MAX_CHUNKS (UINT64_C(1024) * 1024)

/* A read under way. */
struct reading {
	struct cas_client *client;
	const struct xet_download *download;
	struct cas_call call;
	struct http_cancel own_cancel;
	struct transfer_progress progress;
	uint64_t length_bytes;    /* of the asked range, cut at the file's end */
	struct merkle_root *root; /* over the file's chunks so far; NULL: not the whole file, nothing to verify */
	uint64_t root_bytes;      /* length of those chunks */
};

static void reading_done(struct reading *reading)
{
	transfer_progress_done(&reading->progress);
	free(reading->root);
}

static enum hfkv_status fault_short(struct fault *fault, const struct reading *reading)
{
	return fault_set(fault, HFKV_CORRUPT, "the CAS knows fewer bytes of the file than its size of %" PRIu64,
			 reading->download->size_bytes);
}

/* One proof for each chunk of each fetch, or none when nothing is to be verified. */
static enum hfkv_status new_proofs(const struct reading *reading, const struct reconstruction *plan,
				   struct chunk_proof **ret_proofs, struct fault *fault)
{
	uint64_t count = 0;
	*ret_proofs = NULL;
	if (!reading->root)
		return HFKV_OK;
	for (size_t i = 0; i < plan->fetch_count; i++)
		count += plan->fetches[i].chunk_end - plan->fetches[i].chunk_start;
	if (count > BLOCK_MAX_CHUNKS)
		return fault_set(fault, HFKV_OVERSIZE, "reconstruction: more than %" PRIu64 " chunks",
				 BLOCK_MAX_CHUNKS);
	*ret_proofs = calloc(count, sizeof(**ret_proofs));
	return *ret_proofs ? HFKV_OK : fault_set(fault, HFKV_NO_MEMORY, "download: no memory");
}

/* Adds the block's chunks to the file's root, in file order. */
static enum hfkv_status add_block(struct reading *reading, const struct reconstruction *plan,
				  const struct chunk_proof *proofs, struct fault *fault)
{
	CLEANUP(free_pointer) size_t *starts = calloc(plan->fetch_count, sizeof(*starts));
	uint64_t at = 0;
	if (!starts)
		return fault_set(fault, HFKV_NO_MEMORY, "download: no memory");
	for (size_t i = 1; i < plan->fetch_count; i++)
		starts[i] = starts[i - 1] + (plan->fetches[i - 1].chunk_end - plan->fetches[i - 1].chunk_start);
	for (size_t i = 0; i < plan->term_count; i++) {
		const struct reconstruction_term *term = &plan->terms[i];
		const struct chunk_proof *proof =
		    proofs + starts[term->fetch] - plan->fetches[term->fetch].chunk_start;
		for (uint32_t chunk = term->chunk_start; chunk < term->chunk_end; chunk++) {
			/* The server may not have trimmed chunks that end before the block. */
			if (at >= plan->skip_bytes) {
				merkle_root_add(reading->root, &proof[chunk].hash, proof[chunk].raw_bytes);
				reading->root_bytes += proof[chunk].raw_bytes;
			} else if (at + proof[chunk].raw_bytes > plan->skip_bytes) {
				return fault_set(fault, HFKV_CORRUPT,
						 "reconstruction: a block begins inside a chunk");
			}
			at += proof[chunk].raw_bytes;
		}
	}
	return HFKV_OK;
}

/* Reads what one plan covers from `position` of the range on; *ret_bytes is how much of the range that was. */
static enum hfkv_status read_block(struct reading *reading, uint64_t position, uint64_t *ret_bytes,
				   struct fault *fault)
{
	const struct xet_download *download = reading->download;
	CLEANUP(reconstruction_freep) struct reconstruction *plan = NULL;
	CLEANUP(free_pointer) struct chunk_proof *proofs = NULL;
	uint64_t left = reading->length_bytes - position, asked = left < BLOCK_BYTES ? left : BLOCK_BYTES;
	uint64_t first = download->offset + position;
	const struct cas_file_range range = { download->file, first, first + asked - 1 };
	struct fault own = FAULT_NONE;

	enum hfkv_status status = cas_get_reconstruction(reading->client, &range, &reading->call, &plan, &own);
	if (status != HFKV_OK && own.http_status == 416)
		return fault_short(fault, reading);
	if (fault && status != HFKV_OK)
		*fault = own;
	if (status != HFKV_OK)
		return status;
	if (plan->total_bytes - plan->skip_bytes < asked)
		return fault_short(fault, reading);
	status = new_proofs(reading, plan, &proofs, fault);
	if (status != HFKV_OK)
		return status;
	const struct fetch_target target = { download->memory, download->fd, download->fd_offset,
					     reading->length_bytes };
	const struct plan_job job = {
		.client = reading->client,
		.call = reading->call,
		.range = range,
		.plan = plan,
		.target = &target,
		.plan_start = (int64_t)position - (int64_t)plan->skip_bytes,
		.proofs = proofs,
		.progress = &reading->progress,
	};
	status = plan_crew_run(&job, fault);
	if (status == HFKV_OK && proofs)
		status = add_block(reading, plan, proofs, fault);
	if (status != HFKV_OK)
		return status;
	uint64_t covered = plan->total_bytes - plan->skip_bytes;
	*ret_bytes = covered < left ? covered : left;
	return HFKV_OK;
}

static enum hfkv_status verify_file(struct reading *reading, struct fault *fault)
{
	struct content_hash root, hash;
	char text[CONTENT_HASH_TEXT_BYTES];
	merkle_root_finish(reading->root, &root);
	merkle_hash_file(&root, &hash);
	content_hash_format(reading->download->file, text);
	if (reading->root_bytes != reading->download->size_bytes)
		return fault_set(fault, HFKV_CORRUPT,
				 "file %.16s has %" PRIu64 " bytes, not the %" PRIu64 " expected", text,
				 reading->root_bytes, reading->download->size_bytes);
	if (content_hash_equal(&hash, reading->download->file))
		return HFKV_OK;
	return fault_set(fault, HFKV_CORRUPT,
			 "the bytes of file %.16s do not have its hash: a store or the way here is bad", text);
}

static enum hfkv_status reading_init(struct reading *reading, struct cas_client *client,
				     const struct xet_download *download, struct fault *fault)
{
	uint64_t left = download->size_bytes - download->offset;
	*reading = (struct reading){ .client = client, .download = download, .call = download->call };
	reading->length_bytes = download->length_bytes < left ? download->length_bytes : left;
	if (!reading->call.cancel)
		reading->call.cancel = &reading->own_cancel;
	transfer_progress_init(&reading->progress, download->progress, download->progress_context);
	if (download->offset > 0 || reading->length_bytes < download->size_bytes)
		return HFKV_OK;
	reading->root = malloc(sizeof(*reading->root));
	if (!reading->root)
		return fault_set(fault, HFKV_NO_MEMORY, "download: no memory");
	merkle_root_init(reading->root);
	return HFKV_OK;
}

enum hfkv_status xet_download_run(struct cas_client *client, const struct xet_download *download,
				  uint64_t *ret_bytes, struct fault *fault)
{
	*ret_bytes = 0;
	if (download->offset >= download->size_bytes || download->length_bytes == 0)
		return HFKV_OK;
	CLEANUP(reading_done) struct reading reading;
	enum hfkv_status status = reading_init(&reading, client, download, fault);
	unsigned moves = 0;
	for (uint64_t position = 0; status == HFKV_OK && position < reading.length_bytes;) {
		uint64_t bytes = 0;
		status = read_block(&reading, position, &bytes, fault);
		if (status == HFKV_CHANGED && ++moves <= MOVES_MAX)
			status = HFKV_OK;
		position += bytes;
	}
	if (status == HFKV_OK && reading.root)
		status = verify_file(&reading, fault);
	if (status == HFKV_OK)
		*ret_bytes = reading.length_bytes;
	return status;
}
