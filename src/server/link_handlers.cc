// Ways into running tasks: GET /v1/jobs/{id}/exec, a command in a task's world, and GET
// /v1/jobs/{id}/forward, a connection to one of its ports or sockets.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/words.h"
#include "server/context.h"
#include "server/executors/executor_jobs.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/sessions/session_app.h"
#include "views/reasons.h"
#include "views/state_words.h"

namespace dove::server {
namespace {

constexpr std::size_t kSocketPathMax = 512;

// Why nothing of it runs, in words; "" when nobody knows more than the state says.
std::string why_not(const Context& context, const core::Job& job) {
  if (job.phase == JobPhase::kEnded) return "";
  const core::State& state = context.state();
  const nlohmann::json reasons =
      views::reasons_json(state, job, context.desk.explain(job), views::names_of_own(job));
  return reasons.empty() ? "" : reasons.front().value("text", "");
}

Error not_running(const Context& context, const core::Job& job, const char* remedy) {
  const std::string why = why_not(context, job);
  return Error{ErrorKind::kConflict, "not_running",
               fmt::format("job {} is not running, it is {}{}{}; {}", job.id.value,
                           views::state_word(job), why.empty() ? "" : ": ", why, remedy),
               ""};
}

Error not_yours(const char* what_they_do) {
  return Error{ErrorKind::kDenied, "not_yours",
               fmt::format("only the job's user and administrators {} its tasks", what_they_do),
               ""};
}

// The job that the call names, when its caller may enter its tasks.
Result<const core::Job*> job_to_enter(const Context& context, const Call& call,
                                      const char* what_they_do) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  const core::State& state = context.state();
  if (may_enter(state, call.caller, *job) && !is_guest(state, call.caller, *job)) return job;
  return not_yours(what_they_do);
}

// Where the job's app serves.
backends::ForwardRequest to_app(const AppSpec& app) {
  backends::ForwardRequest wanted;
  wanted.port = app.port;
  if (app.port == 0) wanted.socket = app.socket;
  return wanted;
}

// Whoever is let in to the app alone, be it because the job is shared with them or by an entry's
// token, is connected to that and to nothing else.
Result<void> check_app(const AppSpec& app, const backends::ForwardRequest& wanted) {
  const backends::ForwardRequest own = to_app(app);
  const bool is_rank_0 = wanted.task.empty() || wanted.task == "0";
  if (is_rank_0 && wanted.port == own.port && wanted.socket == own.socket) return {};
  return Error{ErrorKind::kDenied, "not_yours",
               fmt::format("you may use the job's {}, and no other port or socket of it", app.name),
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

// What is to be connected to, if the caller may. REQUIRES: they may enter the job's app.
Result<backends::ForwardRequest> read_link(Context& context, Call& call, const core::Job& job) {
  const bool is_guest = accounts::is_guest(context.state(), call.caller, job);
  const bool to_the_app = call.query_flag("app");
  if (!is_guest && !call.caller.entry && !to_the_app) return read_forward(call);
  TRY_ASSIGN(const AppSpec app, required_app(context, job));
  backends::ForwardRequest wanted = to_app(app);
  wanted.looks_only = call.query_flag("look");
  if (!to_the_app) {
    TRY_ASSIGN(wanted, read_forward(call));
    TRY(check_app(app, wanted));
  }
  // So that a share which is taken back ends what is open (listener/open_access.h).
  if (is_guest) call.caller.entry = job.id;
  return wanted;
}

}  // namespace

void open_exec(Context& context, CallPtr call) {
  const auto job = job_to_enter(context, *call, "run commands in");
  if (!job.ok()) return call->fail(job.error());
  if ((*job)->phase != JobPhase::kActive) {
    return call->fail(not_running(context, **job, "there is nothing to run a command in"));
  }
  const Result<void> reachable = check_reachable(**job, "its processes");
  if (!reachable.ok()) return call->fail(reachable.error());
  context.nodes.work.open_link(call, (*job)->id, std::nullopt);
}

void open_forward(Context& context, CallPtr call) {
  const auto job = find_job(context.state(), call->parameters[0]);
  if (!job.ok()) return call->fail(job.error());
  if (!may_enter(context.state(), call->caller, **job)) {
    return call->fail(not_yours("connect to"));
  }
  const Result<backends::ForwardRequest> wanted = read_link(context, *call, **job);
  if (!wanted.ok()) return call->fail(wanted.error());
  if ((*job)->phase != JobPhase::kActive) {
    return call->fail(not_running(context, **job, "there is nothing to connect to"));
  }
  const Result<void> reachable = check_reachable(**job, "its ports");
  if (!reachable.ok()) return call->fail(reachable.error());
  context.nodes.work.open_link(call, (*job)->id, *wanted);
}

}  // namespace dove::server
