/*
 * Whether the caller may: Hub tokens and CAS tokens against what a route asks, and the bucket it names.
 */
#ifndef BACKEND_LOCAL_SERVER_REQUEST_ACCESS_H
#define BACKEND_LOCAL_SERVER_REQUEST_ACCESS_H

#include "backend/local_server/request.h"

/* Fills `refusal` (401, 403, 404), or leaves it; finds request->bucket where the route names one. */
void request_check_access(struct request *request, struct reply *refusal);

/* The one user's own name for a namespace: "me" is "local". */
const char *request_owner_name(const char *name);

#endif
