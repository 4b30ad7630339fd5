#include "backends/native/links/forwards.h"

#include <fmt/format.h>

#include "backends/native/links/running_task.h"
#include "protocol/control.h"
#include "telemetry/log.h"

namespace dove::backends {
namespace {

constexpr const char* kWhat = kConnection;

}  // namespace

void Forwards::open(const CallPtr& call, JobId job_id, const ForwardRequest& wanted) {
  const core::Job* job = projection_.state().find_job(job_id);
  if (job == nullptr) return call->fail(listener::not_found("job", call->parameters[0]));
  const Result<RunningTask> task = find_running(projection_.state(), *job, wanted.task, "");
  if (!task.ok()) return call->fail(task.error());
  const bool job_is_full = links_.count(job_id, kWhat) >= kMostOfJob;
  if (job_is_full || links_.count(kWhat) >= kMost) {
    const Error full{
        ErrorKind::kUnavailable, "too_many_connections",
        job_is_full ? fmt::format("job {} has {} connections, and may have no more; close some",
                                  job_id.value, kMostOfJob)
                    : "the server carries all the connections that it may; try again later",
        ""};
    return call->responder->send(wire::problem(429, full));
  }
  const TaskLinkPtr link = links_.open(call, job_id, kWhat);
  if (link == nullptr) return;
  protocol::Control control;
  protocol::ForwardOrder& order = control.forward.emplace();
  order.id = link->id;
  order.key = {job_id, task->attempt};
  order.rank = task->rank;
  order.port = wanted.port;
  order.socket = wanted.socket;
  order.looks_only = wanted.looks_only;
  telemetry::log(telemetry::Level::kInfo, "forward_opened",
                 {{"job", job_id.value},
                  {"rank", task->rank},
                  {"port", wanted.port},
                  {"socket", wanted.socket},
                  {"user", call->caller.user}});
  links_.order(link, task->node, protocol::control_line(control));
}

}  // namespace dove::backends
