/*
 * Sizes that the Xet formats and the CAS fix, in bytes unless said otherwise (Xet protocol,
 * chunking, xorb and shard).
 */
#ifndef BACKEND_XET_XET_LIMITS_H
#define BACKEND_XET_XET_LIMITS_H

/* A Xet chunk: only the last one of a file may be shorter than the minimum. */
#define XET_CHUNK_MIN_BYTES    8192
#define XET_CHUNK_TARGET_BYTES 65536
#define XET_CHUNK_MAX_BYTES    131072

/* A chunk record in a xorb: header, then payload. A record of ours is never longer than header and chunk. */
#define XORB_RECORD_HEADER_BYTES 8
#define XORB_PAYLOAD_MAX_BYTES   262144

/* What hfkv itself puts into one xorb: the whole body, record headers included, and the number of chunks. */
#define XORB_BODY_MAX_BYTES 67108864
#define XORB_MAX_CHUNKS     8192

/* What is taken from others. hf_xet 1.8.0 counts raw bytes only, so its bodies may pass 64 MiB by their headers;
 * the service does not enforce the number of chunks, ours is only there to bound memory. */
#define XORB_ACCEPTED_RAW_BYTES  67108864
#define XORB_ACCEPTED_BODY_BYTES (67108864 + XORB_RECORD_HEADER_BYTES * XORB_MAX_CHUNKS)
#define XORB_ACCEPTED_CHUNKS     65536

/* A shard, as uploaded. */
#define SHARD_MAX_BYTES    67108864
#define SHARD_RECORD_BYTES 48

#endif
