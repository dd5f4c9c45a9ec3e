#include "backend/xet/xet_chunker.h"

#include "backend/xet/xet_gear.h"
#include "backend/xet/xet_limits.h"

/* A byte after which the top 16 bits of the gear hash are zero is a trigger. */
#define TRIGGER_BELOW (UINT64_C(1) << 48)

/* The hash forgets a byte after 64 shifts: hashing may start 65 bytes before the first legal cut, or 64 bytes
 * before any place from which it is wanted. */
#define GEAR_WINDOW_BYTES 64
#define SKIP_BYTES        (XET_CHUNK_MIN_BYTES - GEAR_WINDOW_BYTES - 1)

/* Half of the piece that scan_pair looks at. Small against a chunk, large against the window it hashes twice. */
#define HALF_BYTES 2048

#define STEP(gear, byte) ((gear) = ((gear) << 1) + xet_gear_table[(byte)])

/* Hashes bytes[0..length) and stops after the first trigger. Returns the bytes hashed; *ret_trigger tells why. */
static size_t scan(uint64_t *gear, const uint8_t *bytes, size_t length, bool *ret_trigger)
{
	uint64_t h = *gear;
	size_t i = 0;
	*ret_trigger = false;
	while (i < length) {
		STEP(h, bytes[i]);
		i++;
		if (h < TRIGGER_BELOW) {
			*ret_trigger = true;
			break;
		}
	}
	*gear = h;
	return i;
}

/* Whether scan would find a trigger in the 2 * HALF_BYTES at bytes, which follow the bytes that made *gear. False:
 * none, and *gear has moved past them. One chain of shifts and additions waits for itself at every byte; two
 * independent ones, the second warmed up on the window before its half, keep the processor busy. */
static bool scan_pair(uint64_t *gear, const uint8_t *bytes)
{
	const uint8_t *upper = bytes + HALF_BYTES;
	uint64_t a = *gear, b = 0;
	for (size_t i = 0; i < GEAR_WINDOW_BYTES; i++)
		STEP(b, upper[(ptrdiff_t)i - GEAR_WINDOW_BYTES]);
	for (size_t i = 0; i < HALF_BYTES; i++) {
		STEP(a, bytes[i]);
		STEP(b, upper[i]);
		if (a < TRIGGER_BELOW || b < TRIGGER_BELOW)
			return true;
	}
	*gear = b;
	return false;
}

/* As scan, at the speed of scan_pair wherever there is no trigger. */
static size_t scan_fast(uint64_t *gear, const uint8_t *bytes, size_t length, bool *ret_trigger)
{
	size_t done = 0;
	*ret_trigger = false;
	while (length - done >= 2 * HALF_BYTES) {
		if (scan_pair(gear, bytes + done))
			return done + scan(gear, bytes + done, 2 * HALF_BYTES, ret_trigger);
		done += 2 * HALF_BYTES;
	}
	return done + scan(gear, bytes + done, length - done, ret_trigger);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t xet_chunker_next(struct xet_chunker *chunker, const uint8_t *span, size_t length, bool *ret_cut)
{
	size_t start = chunker->length_bytes;
	size_t end =
	    smaller(length, XET_CHUNK_MAX_BYTES - start); /* of the span, that may still be in this chunk */
	size_t done = 0;
	bool trigger = false;
	*ret_cut = false;

	if (start < SKIP_BYTES)
		done = smaller(end, SKIP_BYTES - start);
	/* Before the minimum a trigger means nothing: hash one byte less than it, so that the next may cut. */
	while (done < end && start + done < XET_CHUNK_MIN_BYTES - 1) {
		STEP(chunker->gear, span[done]);
		done++;
	}
	if (done < end)
		done += scan_fast(&chunker->gear, span + done, end - done, &trigger);

	chunker->length_bytes = start + done;
	if (trigger || chunker->length_bytes == XET_CHUNK_MAX_BYTES) {
		*chunker = XET_CHUNKER_INIT;
		*ret_cut = true;
	}
	return done;
}
