/*
 * hf://buckets/<namespace>/<bucket>[/<path>], taken apart.
 *
 * The path is literal: nothing is percent-decoded, as huggingface_hub has it. Plain value; any thread.
 */
#ifndef BACKEND_STORE_BUCKET_URL_H
#define BACKEND_STORE_BUCKET_URL_H

#include "common/fault.h"

/* Owned strings; release with bucket_url_done. */
struct bucket_url {
	char *bucket; /* "<namespace>/<bucket>" */
	char *path;   /* the rest, without outer slashes, "" when none */
};

/* Outer white space and repeated slashes are tolerated; anything else that is off is INVALID with a fault that
 * says what and how it should look (another scheme, one slash, missing bucket, spaces in namespace or bucket,
 * `..`, a repo id), OVERSIZE when the path is too long. */
MUST_CHECK enum hfkv_status bucket_url_parse(const char *text, struct bucket_url *ret_url, struct fault *fault);
void bucket_url_done(struct bucket_url *url);

#endif
