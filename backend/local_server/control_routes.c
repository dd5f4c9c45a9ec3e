/* Test controls over HTTP (server_faults.h). Reached only when the server was started with them. */
#include "backend/local_server/request_journal.h"
#include "backend/local_server/routes.h"
#include "backend/local_server/server_faults.h"

void control_requests(struct request *request, struct reply *reply)
{
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	request_journal_write_counts(request->shared->journal, &json);
	reply_json_body(reply, 200, json_writer_ok(&json));
}

void control_reset_requests(struct request *request, struct reply *reply)
{
	request_journal_reset_counts(request->shared->journal);
	reply_json_text(reply, 200, "{}");
}

void control_log(struct request *request, struct reply *reply)
{
	struct json_writer json = JSON_WRITER_INIT(&reply->body);
	request_journal_write_log(request->shared->journal, &json);
	reply_json_body(reply, 200, json_writer_ok(&json));
}

void control_put_faults(struct request *request, struct reply *reply)
{
	struct fault fault = FAULT_NONE;
	enum hfkv_status status = server_faults_set(request->shared->faults, byte_buf_text(&request->body),
						    request->body.length, &fault);
	if (status == HFKV_OK)
		reply_json_text(reply, 200, "{}");
	else
		reply_error(reply, 400, NULL, "%s", fault_text(&fault, status));
}

void control_clear_faults(struct request *request, struct reply *reply)
{
	server_faults_clear(request->shared->faults);
	reply_json_text(reply, 200, "{}");
}
