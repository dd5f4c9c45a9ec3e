/*
 * The bytes of a file, decoded from its xorbs piece by piece: what resolve answers to clients that do not speak
 * Xet. One thread at a time; reads the blob store.
 */
#ifndef BACKEND_LOCAL_SERVER_FILE_CONTENT_H
#define BACKEND_LOCAL_SERVER_FILE_CONTENT_H

#include "backend/local_server/blob_store.h"
#include "backend/local_server/reconstruction_plan.h"

struct file_content;

/* Takes the plan over (also on failure); `range_bytes`: the length of the range it was made for. */
MUST_CHECK enum hfkv_status file_content_new(struct blob_store *blobs, struct reconstruction_plan *plan,
					     uint64_t range_bytes, struct file_content **ret_content,
					     struct fault *fault);
void file_content_free(struct file_content *content);

/* The next bytes, at least one and at most `max`; 0 at the end of the range, -1 on failure. */
ssize_t file_content_read(struct file_content *content, char *bytes, size_t max);

#endif
