/*
 * The server's calls: which target leads to which handler, and the handlers, by file.
 */
#ifndef BACKEND_LOCAL_SERVER_ROUTES_H
#define BACKEND_LOCAL_SERVER_ROUTES_H

#include "backend/local_server/request.h"

/* Never NULL: what no route serves leads to one that answers 404. Fills the request's captures; a target that
 * cannot be decoded fills `refusal` with a 400. */
const struct route *route_find(struct request *request, const char *method, struct reply *refusal);

/* hub_bucket_routes.c */
void hub_create_bucket(struct request *request, struct reply *reply);
void hub_bucket_info(struct request *request, struct reply *reply);
void hub_list_buckets(struct request *request, struct reply *reply);
void hub_delete_bucket(struct request *request, struct reply *reply);
void hub_bucket_settings(struct request *request, struct reply *reply);
void hub_move_bucket(struct request *request, struct reply *reply);

/* hub_account_routes.c */
void hub_whoami(struct request *request, struct reply *reply);
void hub_xet_read_token(struct request *request, struct reply *reply);
void hub_xet_write_token(struct request *request, struct reply *reply);
void hub_events(struct request *request, struct reply *reply);

/* hub_object_routes.c */
void hub_tree(struct request *request, struct reply *reply);
void hub_paths_info(struct request *request, struct reply *reply);

/* hub_batch_route.c */
void hub_batch(struct request *request, struct reply *reply);

/* hub_resolve_route.c */
void hub_resolve(struct request *request, struct reply *reply);

/* cas_upload_routes.c */
void cas_put_xorb(struct request *request, struct reply *reply);
void cas_take_xorb_body(struct request *request, const char *bytes, size_t length);
void cas_shard_v1(struct request *request, struct reply *reply);
void cas_shard_v2(struct request *request, struct reply *reply);
void cas_xorb_grant(struct request *request, struct reply *reply);
void cas_dedup_chunk(struct request *request, struct reply *reply);
void cas_telemetry(struct request *request, struct reply *reply);

/* cas_reconstruction_routes.c */
void cas_reconstruction_v1(struct request *request, struct reply *reply);
void cas_reconstruction_v2(struct request *request, struct reply *reply);

/* cas_data_route.c */
void cas_xorb_data(struct request *request, struct reply *reply);

/* control_routes.c; only with test controls */
void control_requests(struct request *request, struct reply *reply);
void control_reset_requests(struct request *request, struct reply *reply);
void control_log(struct request *request, struct reply *reply);
void control_put_faults(struct request *request, struct reply *reply);
void control_clear_faults(struct request *request, struct reply *reply);

#endif
