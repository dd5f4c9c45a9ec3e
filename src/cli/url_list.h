/*
 * Several hf:// URLs of one command, which must name one bucket: they become full object paths of one store.
 *
 * Main thread only. Owned strings; release with url_list_done.
 */
#ifndef SRC_CLI_URL_LIST_H
#define SRC_CLI_URL_LIST_H

#include "backend/store/store_open.h"
#include "src/cli/option_parser.h"

#include <stdbool.h>
#include <stddef.h>

/* The URLs that a command was given, as its parser collects them. */
struct url_arguments {
	char **urls; /* in argv */
	size_t count;
};

/* For parser functions of a command that takes one URL or more: the keys that are about arguments. */
error_t url_arguments_parse(int key, struct argp_state *state, struct url_arguments *arguments);

struct url_list {
	char *bucket; /* "ns/name" */
	char **paths; /* `count` literal object paths; "" for a bucket itself */
	bool *are_prefixes; /* the URL ended in a slash: it means what lies below */
	size_t count;
};

/* INVALID when a URL cannot be parsed or names another bucket than the first one. count is at least 1. */
MUST_CHECK enum hfkv_status url_list_parse(char *const *texts, size_t count, struct url_list *ret_list,
					   struct fault *fault);
void url_list_done(struct url_list *list);

#endif
