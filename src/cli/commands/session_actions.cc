// dove stop, start, restart: a session that is put away for a while and taken up again.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/families.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

using nlohmann::json;

Error conflict(const char* code, std::string message) {
  return Error{ErrorKind::kConflict, code, std::move(message), ""};
}

// What the job runs is shown to whoever may act on it; the server refuses the others.
Result<void> check_session(const std::string& id, const json& job) {
  const auto exec = job.find("exec");
  if (exec == job.end() || !exec->is_object() || exec->contains("app")) return {};
  return conflict("no_session",
                  fmt::format("job {0} is not a session: `dove cancel {0}` ends it, `dove requeue "
                              "--hold {0}` has it wait and begin anew when it is released",
                              id));
}

Result<std::string> stop(Api& api, const std::string& id, const json& job) {
  TRY(check_session(id, job));
  if (text_of(job, "phase") == "ended") {
    return conflict("job_ended",
                    fmt::format("job {0} has ended; `dove start {0}` runs it again", id));
  }
  TRY(api.send("POST", job_target(id, "/requeue"), json{{"hold", true}}));
  return fmt::format("job {0} is stopped; `dove start {0}` runs it again", id);
}

Result<std::string> start(Api& api, const std::string& id, const json& job) {
  TRY(check_session(id, job));
  const std::string phase = text_of(job, "phase");
  const bool is_stopping = phase == "active" && flag_of(job, "requeue_requested");
  if (phase == "active" && !is_stopping) {
    return conflict("job_active", fmt::format("job {0} runs; `dove open {0}` leads to it", id));
  }
  if (phase == "ended") TRY(api.send("POST", job_target(id, "/requeue"), json::object()));
  TRY(api.send("POST", job_target(id, "/release"), json::object()));
  return fmt::format("job {0} starts when its turn comes; `dove open {0}` waits for it", id);
}

Result<std::string> restart(Api& api, const std::string& id, const json& job) {
  if (text_of(job, "phase") != "active") return start(api, id, job);
  TRY(check_session(id, job));
  TRY(api.send("POST", job_target(id, "/requeue"), json::object()));
  return fmt::format("job {0} is stopped and starts again; `dove open {0}` waits for it", id);
}

using Deed = std::function<Result<std::string>(Api&, const std::string&, const json&)>;

// To all of them; what failed is told, and the first failure decides the exit code.
Result<int> for_each(const Invocation& invocation, const Deed& deed) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  int code = kExitOk;
  for (const std::string& id : invocation.operands) {
    const Result<json> job = api.get(job_target(id));
    const Result<std::string> done =
        job.ok() ? deed(api, id, *job) : Result<std::string>(job.error());
    if (done.ok()) {
      if (!invocation.has("quiet")) print(*done + "\n");
      continue;
    }
    say(done.error().message);
    if (code == kExitOk) code = exit_code(done.error());
    if (done.error().kind == ErrorKind::kUnavailable) break;
  }
  return code;
}

Command action(const std::string& name, const std::string& summary, const std::string& description,
               Deed deed) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.description = description;
  spec.group = "Sessions";
  spec.operands = "JOB...";
  spec.completes = "job";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.options = {{"quiet", 'q', "", "print nothing on success"}};
  return {spec, guarded(name, [deed = std::move(deed)](const Invocation& invocation) {
            return for_each(invocation, deed);
          })};
}

}  // namespace

std::vector<Command> session_action_commands() {
  return {
      action("stop", "Stop sessions, to start them again later",
             "Gives back what the session holds. The job keeps its id, its log, its origin in the\n"
             "browser and whom it is shared with, and waits, held, until it is started again.",
             stop),
      action("start", "Start sessions that were stopped or have ended", "", start),
      action("restart", "Stop sessions and start them again", "", restart)};
}

}  // namespace dove::cli
