/*
 * Hands a reply to the HTTP library, in the cheapest form it has: memory that changes hands, sendfile, or a
 * callback. A plan's stall, cut and flipped byte are carried out here.
 */
#ifndef BACKEND_LOCAL_SERVER_REPLY_SENDER_H
#define BACKEND_LOCAL_SERVER_REPLY_SENDER_H

#include "backend/local_server/request.h"
#include "backend/local_server/server_faults.h"

/* Queues the reply, which is empty afterwards. False: the connection cannot be answered and is closed. */
MUST_CHECK bool reply_send(struct request *request, const struct fault_plan *plan, struct reply *reply);

#endif
