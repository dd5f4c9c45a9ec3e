#include "backend/hub/hub_tree.h"

#include "backend/http/http_retry.h"
#include "common/json_text.h"

#include <string.h>

#define PAGE_ENTRIES   5000 /* a wish; the Hub may give fewer */
#define PAGE_MAX_BYTES (64 * 1024 * 1024)
#define URL_MAX_BYTES  (16 * 1024)
#define PAGES_MAX      1000000

struct listing {
	struct hub_client *client;
	const char *directory;
	bool recursive;
	hub_tree_visit visit;
	void *context;
	struct deadline deadline;
	struct byte_buf url, page;
	struct http_response header;
};

static bool first_url(struct listing *listing)
{
	struct byte_buf rest = BYTE_BUF_INIT(URL_MAX_BYTES);
	bool fits = byte_buf_append_text(&rest, "/tree");
	if (*listing->directory)
		fits = fits && byte_buf_append_text(&rest, "/") && hub_quote(&rest, listing->directory);
	fits = fits &&
	       byte_buf_printf(&rest, "?recursive=%s&limit=%d", listing->recursive ? "true" : "false",
			       PAGE_ENTRIES) &&
	       hub_client_url(listing->client, &listing->url, byte_buf_text(&rest));
	byte_buf_done(&rest);
	return fits;
}

/* One page, parsed; a page that is no JSON list is asked for again. */
static enum hfkv_status get_page(struct listing *listing, json_t **ret_page, struct fault *fault)
{
	struct hub_call call = {
		.what = "tree", .method = "GET", .url = byte_buf_text(&listing->url), .deadline = listing->deadline
	};
	struct http_retry retry = http_retry_begin(hub_client_http(listing->client), listing->deadline, NULL);
	struct fault own;
	enum hfkv_status status;
	json_t *page = NULL;
	do {
		own = FAULT_NONE;
		status = hub_client_perform_once(listing->client, &call, &listing->header, &listing->page, &own);
		if (status != HFKV_OK)
			continue;
		page = json_text_load(byte_buf_text(&listing->page), listing->page.length, NULL);
		if (!hub_entry_is_list(page)) {
			json_decref(page);
			status =
			    fault_set(&own, HFKV_UNAVAILABLE, "tree of bucket '%s': the answer is not a JSON list of entries",
				      hub_client_bucket(listing->client));
		}
	} while (http_retry_again(&retry, status, &own));
	byte_buf_done(&listing->page); /* the parsed page is enough memory */
	if (status == HFKV_OK)
		*ret_page = page;
	else if (fault)
		*fault = own;
	return status;
}

/* Whether the path lies under the directory, and directly where only that is wanted. */
static bool belongs(const struct listing *listing, const struct hub_entry *entry)
{
	size_t length = strlen(listing->directory);
	const char *relative = entry->path;
	if (length > 0) {
		if (strncmp(entry->path, listing->directory, length) != 0 || entry->path[length] != '/')
			return false;
		relative += length + 1;
	}
	if (listing->recursive)
		return !entry->is_directory && *relative;
	return *relative && !strchr(relative, '/');
}

static enum hfkv_status visit_page(struct listing *listing, const json_t *page)
{
	size_t i;
	const json_t *json;
	json_array_foreach(page, i, json)
	{
		struct hub_entry entry;
		if (!hub_entry_parse(json, &entry) || !belongs(listing, &entry))
			continue;
		enum hfkv_status status = listing->visit(listing->context, &entry);
		if (status != HFKV_OK)
			return status;
	}
	return HFKV_OK;
}

/* Puts the next page's address into listing->url; *ret_more false when this was the last. */
static enum hfkv_status next_url(struct listing *listing, bool *ret_more, struct fault *fault)
{
	struct byte_buf next = BYTE_BUF_INIT(URL_MAX_BYTES);
	enum hfkv_status status = HFKV_OK;
	*ret_more = http_response_link(&listing->header, "next", &next);
	if (*ret_more && (!hub_client_is_same_origin(listing->client, byte_buf_text(&next)) ||
			  strcmp(byte_buf_text(&next), byte_buf_text(&listing->url)) == 0))
		status = fault_set(fault, HFKV_CORRUPT,
				   "tree of bucket '%s': the link to the next page leads elsewhere or in a circle",
				   hub_client_bucket(listing->client));
	if (*ret_more && status == HFKV_OK) {
		byte_buf_done(&listing->url);
		listing->url = next;
		next = BYTE_BUF_INIT(0);
	}
	byte_buf_done(&next);
	return status;
}

static enum hfkv_status list_pages(struct listing *listing, struct fault *fault)
{
	bool more = true;
	for (size_t n_pages = 0; more && n_pages < PAGES_MAX; n_pages++) {
		json_auto_t *page = NULL;
		enum hfkv_status status = get_page(listing, &page, fault);
		if (status == HFKV_OK)
			status = visit_page(listing, page);
		if (status == HFKV_OK)
			status = next_url(listing, &more, fault);
		if (status != HFKV_OK)
			return status;
	}
	return more ? fault_set(fault, HFKV_CORRUPT, "tree of bucket '%s': the listing has no end",
				hub_client_bucket(listing->client))
		    : HFKV_OK;
}

enum hfkv_status hub_tree_list(struct hub_client *client, const char *directory, bool recursive,
			       hub_tree_visit visit, void *context, struct deadline deadline, struct fault *fault)
{
	struct listing listing = { .client = client,
				   .directory = directory,
				   .recursive = recursive,
				   .visit = visit,
				   .context = context,
				   .deadline = deadline,
				   .url = BYTE_BUF_INIT(URL_MAX_BYTES),
				   .page = BYTE_BUF_INIT(PAGE_MAX_BYTES),
				   .header = HTTP_RESPONSE_INIT };
	enum hfkv_status status = first_url(&listing)
				      ? list_pages(&listing, fault)
				      : fault_set(fault, HFKV_NO_MEMORY, "no memory for a listing");
	byte_buf_done(&listing.url);
	byte_buf_done(&listing.page);
	http_response_done(&listing.header);
	return status;
}
