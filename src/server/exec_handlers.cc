// GET /v1/jobs/{id}/exec: a command in the world of a running task.
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"

namespace dove::server {

void open_exec(Context& context, CallPtr call) {
  const Result<const core::Job*> found = find_job(context.state(), call->parameters[0]);
  if (!found.ok()) return call->fail(found.error());
  const core::Job& job = **found;
  const Caller& caller = call->caller;
  const bool is_owner = caller.user == job.spec->user && (!caller.job || caller.job == job.id);
  if (!caller.admin && !is_owner) {
    return call->fail(Error{ErrorKind::kDenied, "not_yours",
                            "only the job's user and administrators run commands in its tasks",
                            ""});
  }
  if (job.phase != JobPhase::kActive) {
    return call->fail(Error{ErrorKind::kConflict, "not_running",
                            "the job is not running, so there is nothing to run a command in", ""});
  }
  context.nodes.work.open_exec(call, job.id);
}

}  // namespace dove::server
