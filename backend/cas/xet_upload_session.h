/*
 * Uploads a batch of files: they share xorbs and one shard, and chunks that occur more than once go up once.
 *
 * It makes content known to the CAS under file hashes; giving it names is the Hub's (hub_batch). Two passes save
 * memory: the first cuts and hashes a source, the second reads the bytes of unpacked chunks again from the source
 * while their xorb is sent. So a source must not change until return; one that did is found out (CHANGED).
 * Any thread, any number at once; blocks on network and disk until the deadline. Memory: bounded, whatever the
 * sizes, but for about 100 bytes a Xet chunk.
 */
#ifndef BACKEND_CAS_XET_UPLOAD_SESSION_H
#define BACKEND_CAS_XET_UPLOAD_SESSION_H

#include "backend/cas/cas_client.h"
#include "backend/cas/transfer_progress.h"

/* One source. The caller fills the first part; the session fills the rest. */
struct xet_upload_item {
	const char *name;      /* for faults; borrowed until return */
	const uint8_t *memory; /* NULL: fd, read with pread from offset 0 */
	int fd;
	uint64_t size_bytes;

	enum hfkv_status status;  /* OK: the CAS has the content under `hash` */
	struct content_hash hash; /* zero for an empty source */
	struct fault fault;       /* why, when status is not OK */
};

struct xet_upload {
	struct xet_upload_item *items;
	size_t item_count;
	xet_progress progress; /* bytes of sources that are done; NULL: none. May run on the HTTP thread */
	void *progress_context;
	struct cas_call call; /* its cancel, if any, is of this session alone: the session may fire it */
};

/* Sets every item's status. An item that cannot be read (IO) or changed (CHANGED) fails alone; any other failure
 * is that of all items not yet known to the CAS. Returns OK when every item is OK, else the first failure, which
 * also fills `fault`. A repeat is safe: everything is addressed by content. */
MUST_CHECK enum hfkv_status xet_upload_session_run(struct cas_client *client, const struct xet_upload *upload,
						   struct fault *fault);

#endif
