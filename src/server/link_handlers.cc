// Ways into running tasks: GET /v1/jobs/{id}/exec, a command in a task's world, and GET
// /v1/jobs/{id}/forward, a connection to one of its ports or sockets.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_reasons.h"
#include "codec/words.h"
#include "core/explain/explain.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"

namespace dove::server {
namespace {

constexpr std::size_t kSocketPathMax = 512;

// Why nothing of it runs, in words; "" when nobody knows more than the state says.
std::string why_not(const Context& context, const core::Job& job) {
  if (job.phase == JobPhase::kEnded) return "";
  const core::State& state = context.state();
  const nlohmann::json reasons = codec::reasons_json(
      state, job, core::explain(state, context.desk.controller.policies(), job.id));
  return reasons.empty() ? "" : reasons.front().value("text", "");
}

Error not_running(const Context& context, const core::Job& job, const char* remedy) {
  const std::string why = why_not(context, job);
  return Error{ErrorKind::kConflict, "not_running",
               fmt::format("job {} is not running, it is {}{}{}; {}", job.id.value,
                           codec::state_word(job), why.empty() ? "" : ": ", why, remedy),
               ""};
}

// The job that the call names, when its caller may enter its tasks.
Result<const core::Job*> job_to_enter(const Context& context, const Call& call,
                                      const char* what_they_do) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  const Caller& caller = call.caller;
  if (caller.ssh.job && caller.ssh.job != job->id) return not_found("job", call.parameters[0]);
  const bool is_owner = caller.user == job->spec->user && (!caller.job || caller.job == job->id);
  if (caller.admin || is_owner) return job;
  return Error{ErrorKind::kDenied, "not_yours",
               fmt::format("only the job's user and administrators {} its tasks", what_they_do),
               ""};
}

Result<backends::ForwardRequest> read_forward(const Call& call) {
  backends::ForwardRequest wanted;
  wanted.task = call.query_text("task");
  wanted.socket = call.query_text("socket");
  wanted.looks_only = call.query_flag("look");
  TRY_ASSIGN(const std::int64_t port, call.query_number("port", 0, 1, 65535));
  wanted.port = static_cast<std::int32_t>(port);
  if ((wanted.port == 0) == wanted.socket.empty()) {
    return invalid("bad_parameter", "give a port, or the path of a socket", "port");
  }
  if (wanted.socket.size() > kSocketPathMax) {
    return invalid("bad_parameter", "the path of a socket has at most 512 bytes", "socket");
  }
  return wanted;
}

}  // namespace

void open_exec(Context& context, CallPtr call) {
  const auto job = job_to_enter(context, *call, "run commands in");
  if (!job.ok()) return call->fail(job.error());
  if ((*job)->phase != JobPhase::kActive) {
    return call->fail(not_running(context, **job, "there is nothing to run a command in"));
  }
  context.nodes.work.open_link(call, (*job)->id, std::nullopt);
}

void open_forward(Context& context, CallPtr call) {
  const auto job = job_to_enter(context, *call, "connect to");
  if (!job.ok()) return call->fail(job.error());
  const Result<backends::ForwardRequest> wanted = read_forward(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  if ((*job)->phase != JobPhase::kActive) {
    return call->fail(not_running(context, **job, "there is nothing to connect to"));
  }
  context.nodes.work.open_link(call, (*job)->id, *wanted);
}

}  // namespace dove::server
