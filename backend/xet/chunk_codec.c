#include "backend/xet/chunk_codec.h"

#include "backend/xet/bg4.h"

#include <assert.h>
#include <lz4frame.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A sample decides for a run of chunks, as the reference does; ours is a small piece that is really packed. */
#define RUN_CHUNKS   32
#define SAMPLE_BYTES (16 * 1024)

/* Packing must save at least this share of the sample to be worth the time of both sides. */
#define WORTH_SAVING(sample_bytes) ((sample_bytes) / 16)

struct chunk_packer {
	enum xorb_scheme scheme; /* of the current run */
	unsigned run_left;       /* chunks until the next sample */
	size_t out_capacity;
	uint8_t *out;                         /* the packed payload */
	uint8_t grouped[XET_CHUNK_MAX_BYTES]; /* byte-grouped input of LZ4 */
};

struct chunk_unpacker {
	LZ4F_dctx *context;
	uint8_t *grouped; /* XET_CHUNK_MAX_BYTES; NULL until a byte-grouped chunk comes */
};

/* The frames that the reference writes: independent blocks, 64 KiB blocks for chunks up to that, no checksums. */
static LZ4F_preferences_t frame_preferences(uint32_t raw_bytes)
{
	LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
	preferences.frameInfo.blockSizeID = raw_bytes <= 65536 ? LZ4F_max64KB : LZ4F_max256KB;
	preferences.frameInfo.blockMode = LZ4F_blockIndependent;
	return preferences;
}

enum hfkv_status chunk_packer_new(struct chunk_packer **ret_packer, struct fault *fault)
{
	CLEANUP(chunk_packer_freep) struct chunk_packer *packer = malloc(sizeof(*packer));
	if (!packer)
		return fault_set(fault, HFKV_NO_MEMORY, "chunk packer: out of memory");
	LZ4F_preferences_t preferences = frame_preferences(XET_CHUNK_MAX_BYTES);
	packer->out_capacity = LZ4F_compressFrameBound(XET_CHUNK_MAX_BYTES, &preferences);
	packer->out = malloc(packer->out_capacity);
	packer->scheme = XORB_SCHEME_NONE;
	packer->run_left = 0;
	if (!packer->out)
		return fault_set(fault, HFKV_NO_MEMORY, "chunk packer: out of memory");
	*ret_packer = TAKE_PTR(packer);
	return HFKV_OK;
}

void chunk_packer_free(struct chunk_packer *packer)
{
	if (!packer)
		return;
	free(packer->out);
	free(packer);
}

void chunk_packer_start_source(struct chunk_packer *packer)
{
	packer->run_left = 0;
}

/* Bytes of the packed form in packer->out; raw_bytes when it is not smaller. */
static uint32_t pack(struct chunk_packer *packer, enum xorb_scheme scheme, const uint8_t *raw, uint32_t raw_bytes)
{
	if (scheme == XORB_SCHEME_NONE)
		return raw_bytes;
	if (scheme == XORB_SCHEME_BG4_LZ4) {
		bg4_split(raw, raw_bytes, packer->grouped);
		raw = packer->grouped;
	}
	LZ4F_preferences_t preferences = frame_preferences(raw_bytes);
	size_t packed = LZ4F_compressFrame(packer->out, packer->out_capacity, raw, raw_bytes, &preferences);
	if (LZ4F_isError(packed) || packed >= raw_bytes)
		return raw_bytes;
	return (uint32_t)packed;
}

/* The scheme for a run, from a piece in the middle of its first chunk. */
static enum xorb_scheme choose_scheme(struct chunk_packer *packer, const uint8_t *chunk, uint32_t raw_bytes)
{
	uint32_t sample_bytes = raw_bytes < SAMPLE_BYTES ? raw_bytes : SAMPLE_BYTES;
	const uint8_t *sample = chunk + (raw_bytes - sample_bytes) / 2;
	uint32_t lz4 = pack(packer, XORB_SCHEME_LZ4, sample, sample_bytes);
	uint32_t bg4 = pack(packer, XORB_SCHEME_BG4_LZ4, sample, sample_bytes);
	uint32_t best = bg4 < lz4 ? bg4 : lz4;
	if (sample_bytes - best <= WORTH_SAVING(sample_bytes))
		return XORB_SCHEME_NONE;
	return bg4 < lz4 ? XORB_SCHEME_BG4_LZ4 : XORB_SCHEME_LZ4;
}

void chunk_packer_pack(struct chunk_packer *packer, const uint8_t *chunk, uint32_t raw_bytes,
		       struct xorb_record *ret_record, const uint8_t **ret_payload)
{
	if (packer->run_left == 0) {
		packer->scheme = choose_scheme(packer, chunk, raw_bytes);
		packer->run_left = RUN_CHUNKS;
	}
	packer->run_left--;
	chunk_packer_pack_as(packer, packer->scheme, chunk, raw_bytes, ret_record, ret_payload);
}

void chunk_packer_pack_as(struct chunk_packer *packer, enum xorb_scheme scheme, const uint8_t *chunk,
			  uint32_t raw_bytes, struct xorb_record *ret_record, const uint8_t **ret_payload)
{
	assert(raw_bytes <= XET_CHUNK_MAX_BYTES);
	uint32_t packed = pack(packer, scheme, chunk, raw_bytes);
	bool smaller = packed < raw_bytes;
	*ret_record = (struct xorb_record){ smaller ? scheme : XORB_SCHEME_NONE, packed, raw_bytes };
	*ret_payload = smaller ? packer->out : NULL;
}

enum hfkv_status chunk_unpacker_new(struct chunk_unpacker **ret_unpacker, struct fault *fault)
{
	CLEANUP(chunk_unpacker_freep) struct chunk_unpacker *unpacker = calloc(1, sizeof(*unpacker));
	if (!unpacker || LZ4F_isError(LZ4F_createDecompressionContext(&unpacker->context, LZ4F_VERSION)))
		return fault_set(fault, HFKV_NO_MEMORY, "chunk unpacker: out of memory");
	*ret_unpacker = TAKE_PTR(unpacker);
	return HFKV_OK;
}

void chunk_unpacker_free(struct chunk_unpacker *unpacker)
{
	if (!unpacker)
		return;
	LZ4F_freeDecompressionContext(unpacker->context);
	free(unpacker->grouped);
	free(unpacker);
}

/* Exactly one whole frame, giving exactly out_bytes. */
static enum hfkv_status unpack_frame(LZ4F_dctx *context, const uint8_t *payload, size_t payload_bytes,
				     uint8_t *out, size_t out_bytes, struct fault *fault)
{
	const LZ4F_decompressOptions_t options = { .stableDst = 1 };
	size_t in_done = 0, out_done = 0, hint;
	LZ4F_resetDecompressionContext(context);
	do {
		size_t in = payload_bytes - in_done, made = out_bytes - out_done;
		uint8_t spare;
		/* At the end of `out` a frame may still have its end mark to read: give it room for nothing. */
		hint = LZ4F_decompress(context, made ? out + out_done : &spare, &made, payload + in_done, &in,
				       &options);
		if (LZ4F_isError(hint))
			return fault_set(fault, HFKV_CORRUPT, "xorb record: LZ4 frame: %s",
					 LZ4F_getErrorName(hint));
		in_done += in;
		out_done += made;
		if (in == 0 && made == 0)
			break;
	} while (hint != 0);
	if (hint != 0 || in_done != payload_bytes || out_done != out_bytes)
		return fault_set(
		    fault, HFKV_CORRUPT,
		    "xorb record: LZ4 frame of %zu bytes does not hold exactly the %zu bytes announced",
		    payload_bytes, out_bytes);
	return HFKV_OK;
}

enum hfkv_status chunk_unpacker_unpack(struct chunk_unpacker *unpacker, const struct xorb_record *record,
				       const uint8_t *payload, uint8_t *out, struct fault *fault)
{
	if (record->scheme == XORB_SCHEME_NONE) {
		memcpy(out, payload, record->raw_bytes);
		return HFKV_OK;
	}
	if (record->scheme == XORB_SCHEME_LZ4)
		return unpack_frame(unpacker->context, payload, record->payload_bytes, out, record->raw_bytes,
				    fault);

	if (!unpacker->grouped)
		unpacker->grouped = malloc(XET_CHUNK_MAX_BYTES);
	if (!unpacker->grouped)
		return fault_set(fault, HFKV_NO_MEMORY, "chunk unpacker: out of memory");
	enum hfkv_status status = unpack_frame(unpacker->context, payload, record->payload_bytes,
					       unpacker->grouped, record->raw_bytes, fault);
	if (status == HFKV_OK)
		bg4_join(unpacker->grouped, record->raw_bytes, out);
	return status;
}
