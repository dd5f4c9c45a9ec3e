#include "backend/http/http_origin.h"

#include "common/cleanup.h"

#include <curl/curl.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

DEFINE_CLEANUP(curl_url_cleanup, CURLU *);
DEFINE_CLEANUP(curl_free, char *);

static bool is_loopback(const char *host)
{
	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	unsigned a, b, c, d;
	char rest;
	return sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 && a == 127;
}

static bool origin_from_parts(CURLU *url, struct http_origin *ret_origin)
{
	CLEANUP(curl_freep) char *scheme = NULL;
	CLEANUP(curl_freep) char *host = NULL;
	CLEANUP(curl_freep) char *port = NULL;
	if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
		return false;
	struct http_origin origin = { .https = strcasecmp(scheme, "https") == 0, .loopback = is_loopback(host) };
	if (!origin.https && strcasecmp(scheme, "http") != 0)
		return false;
	int length = snprintf(origin.text, sizeof(origin.text), "%s://%s:%s", scheme, host, port);
	if (length < 0 || (size_t)length >= sizeof(origin.text))
		return false;
	for (char *c = origin.text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	*ret_origin = origin;
	return true;
}

enum hfkv_status http_origin_parse(const char *text, const char *label, struct http_origin *ret_origin,
				   struct fault *fault)
{
	CLEANUP(curl_url_cleanupp) CURLU *url = curl_url();
	if (!url)
		return fault_set(fault, HFKV_NO_MEMORY, "%s: no memory", label);
	if (curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) != CURLUE_OK ||
	    !origin_from_parts(url, ret_origin))
		return fault_set(
		    fault, HFKV_INVALID,
		    "%s: its address is not an http:// or https:// URL with a host and without user name", label);
	return HFKV_OK;
}

bool http_origin_equal(const struct http_origin *a, const struct http_origin *b)
{
	return strcmp(a->text, b->text) == 0;
}

enum hfkv_status http_origin_check_token(const struct http_origin *origin, const char *label, struct fault *fault)
{
	if (origin->https || origin->loopback)
		return HFKV_OK;
	return fault_set(fault, HFKV_INVALID,
			 "%s: a token is not sent over plain HTTP to %s; use https:// or a loopback address",
			 label, origin->text);
}

char *http_url_resolve(const char *base, const char *location)
{
	CLEANUP(curl_url_cleanupp) CURLU *url = curl_url();
	CLEANUP(curl_freep) char *absolute = NULL;
	if (!url || curl_url_set(url, CURLUPART_URL, base, CURLU_PATH_AS_IS) != CURLUE_OK ||
	    curl_url_set(url, CURLUPART_URL, location, CURLU_PATH_AS_IS) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_URL, &absolute, 0) != CURLUE_OK)
		return NULL;
	return strdup(absolute);
}
