#include "backend/xet/xorb_record.h"

#include "backend/xet/little_endian.h"

#define RECORD_VERSION 0

/* Offsets in the header. */
enum { AT_VERSION = 0, AT_PAYLOAD_BYTES = 1, AT_SCHEME = 4, AT_RAW_BYTES = 5 };

void xorb_record_write(const struct xorb_record *record, uint8_t ret_header[XORB_RECORD_HEADER_BYTES])
{
	ret_header[AT_VERSION] = RECORD_VERSION;
	le24_write(ret_header + AT_PAYLOAD_BYTES, record->payload_bytes);
	ret_header[AT_SCHEME] = (uint8_t)record->scheme;
	le24_write(ret_header + AT_RAW_BYTES, record->raw_bytes);
}

enum hfkv_status xorb_record_read(const uint8_t header[XORB_RECORD_HEADER_BYTES], struct xorb_record *ret_record,
				  struct fault *fault)
{
	uint8_t scheme = header[AT_SCHEME];
	uint32_t payload_bytes = le24_read(header + AT_PAYLOAD_BYTES);
	uint32_t raw_bytes = le24_read(header + AT_RAW_BYTES);

	if (header[AT_VERSION] != RECORD_VERSION)
		return fault_set(fault, HFKV_CORRUPT, "xorb record: unknown version %u", header[AT_VERSION]);
	if (scheme > XORB_SCHEME_BG4_LZ4)
		return fault_set(fault, HFKV_CORRUPT, "xorb record: unknown compression scheme %u", scheme);
	if (payload_bytes > XORB_PAYLOAD_MAX_BYTES || raw_bytes > XET_CHUNK_MAX_BYTES)
		return fault_set(
		    fault, HFKV_CORRUPT,
		    "xorb record: lengths %u (stored) and %u (decoded) are beyond the limits of a chunk",
		    payload_bytes, raw_bytes);
	if (scheme == XORB_SCHEME_NONE && payload_bytes != raw_bytes)
		return fault_set(fault, HFKV_CORRUPT, "xorb record: stored raw, but its lengths %u and %u differ",
				 payload_bytes, raw_bytes);
	*ret_record = (struct xorb_record){ scheme, payload_bytes, raw_bytes };
	return HFKV_OK;
}
