/*
 * Takes in one xorb: its body is checked and hashed while it streams into the blob store, and becomes a xorb
 * only when everything fits. Belongs to one request.
 */
#ifndef BACKEND_LOCAL_SERVER_XORB_INTAKE_H
#define BACKEND_LOCAL_SERVER_XORB_INTAKE_H

#include "backend/local_server/blob_store.h"
#include "backend/local_server/catalog.h"

struct xorb_intake;

/* `keep`: false when the xorb is stored already, so that the body is checked only. */
MUST_CHECK enum hfkv_status xorb_intake_new(struct blob_store *blobs, bool keep, struct xorb_intake **ret_intake,
					    struct fault *fault);
void xorb_intake_free(struct xorb_intake *intake);
DEFINE_CLEANUP(xorb_intake_free, struct xorb_intake *);

/* The next bytes. The first failure is kept for xorb_intake_commit; what comes after it is dropped. */
void xorb_intake_feed(struct xorb_intake *intake, const void *bytes, size_t length);

/* The body has ended. CORRUPT, OVERSIZE: it is no xorb of that hash. On OK the xorb is stored and in the catalog.
 */
MUST_CHECK enum hfkv_status xorb_intake_commit(struct xorb_intake *intake, struct catalog *catalog,
					       const struct content_hash *hash, bool *ret_inserted,
					       struct fault *fault);

#endif
