// POST /v1/jobs/{id}/steps: a program inside a job's allocation.
#include <charconv>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int32_t kTasksMax = 100'000;
constexpr std::size_t kNameMax = 1024;

struct StepBody {
  backends::StepRequest request;
  backends::StepProgram program;
};

Result<std::int32_t> count(const Json& body, const char* name) {
  const Json given = body.value(name, Json(0));
  if (given.is_number_integer() && given >= 0 && given <= kTasksMax) {
    return given.get<std::int32_t>();
  }
  return invalid("bad_value", std::string(name) + " is a whole number from 0 to 100000", name);
}

Result<StepBody> read_step(const Json& body) {
  StepBody step;
  TRY_ASSIGN(step.request.tasks, count(body, "tasks"));
  TRY_ASSIGN(step.request.nodes, count(body, "nodes"));
  TRY_ASSIGN(step.request.tasks_per_node, count(body, "tasks_per_node"));
  TRY_ASSIGN(step.request.cores_per_task, count(body, "cores_per_task"));
  try {
    step.request.nodelist = body.value("nodelist", std::vector<std::string>{});
    step.request.overcommit = body.value("overcommit", false);
    step.program.command = body.at("command").get<std::vector<std::string>>();
    step.program.name = body.value("name", "");
    step.program.environment = body.value("environment", std::map<std::string, std::string>{});
    step.program.workdir = body.value("workdir", "");
    step.program.stdout_path = body.value("stdout_path", "");
    step.program.stderr_path = body.value("stderr_path", "");
    step.program.stdin_text = body.value("stdin", "none");
    step.program.stdin_rank = body.value("stdin_rank", -1);
    step.program.label = body.value("label", false);
    step.program.kill_on_bad_exit = body.value("kill_on_bad_exit", false);
  } catch (const Json::exception& e) {
    return invalid("bad_value", std::string("the step cannot be read: ") + e.what(), "");
  }
  if (step.program.command.empty() || step.program.command.front().empty()) {
    return invalid("bad_value", "command is a list of words, the program first", "command");
  }
  if (step.program.name.size() > kNameMax) {
    return invalid("bad_value", "name has at most 1024 bytes", "name");
  }
  if (step.program.stdin_rank < -1 || step.program.stdin_rank > kTasksMax) {
    return invalid("bad_value", "stdin_rank is the number of a task", "stdin_rank");
  }
  return step;
}

Result<std::int32_t> step_number(const Call& call) {
  const std::string& text = call.parameters[1];
  std::int32_t step = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error == std::errc() && at == text.data() + text.size() && step >= 0) return step;
  return not_found("step", text);
}

Result<backends::StepAttach> read_attach(const Json& body, const Call& call) {
  backends::StepAttach attach;
  TRY_ASSIGN(attach.step, step_number(call));
  try {
    attach.attempt = body.at("attempt").get<AttemptNumber>();
    for (const Json& node : body.at("nodes")) {
      attach.ranks[node.at("node").get<std::string>()] = node.at("ranks").get<std::vector<Rank>>();
    }
    attach.input = body.value("input", false);
    attach.stdin_rank = body.value("stdin_rank", -1);
    attach.kill_on_bad_exit = body.value("kill_on_bad_exit", false);
    Json seen = Json::array();
    for (const Json& each : body.value("seen", Json::array())) {
      seen.push_back(Json{{"rank", each.at("rank").get<Rank>()},
                          {"stream", each.value("stream", "stdout")},
                          {"bytes", each.at("bytes").get<std::int64_t>()}});
    }
    attach.agent_part = codec::dump_json(Json{{"stdout_path", body.value("stdout_path", "")},
                                              {"stderr_path", body.value("stderr_path", "")},
                                              {"seen", std::move(seen)}});
  } catch (const Json::exception& e) {
    return invalid("bad_value", std::string("what is attached to cannot be read: ") + e.what(), "");
  }
  return attach;
}

// The job named by the path, if the caller may run steps in it.
Result<const core::Job*> job_of_caller(const Context& context, const Call& call) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  const Caller& caller = call.caller;
  const bool of_this_job = !caller.job || caller.job == job->id;
  if (caller.admin || (caller.user == job->spec->user && of_this_job)) return job;
  return Error{ErrorKind::kDenied, "not_yours", "steps are run with the token of their own job",
               ""};
}

}  // namespace

void run_step(Context& context, CallPtr call) {
  const Result<const core::Job*> found = job_of_caller(context, *call);
  if (!found.ok()) return call->fail(found.error());
  const core::Job& job = **found;
  const Caller& caller = call->caller;
  // Only a running task knows the job's token; it may be faster than the report that it runs.
  const bool is_active = job.phase == JobPhase::kActive;
  const bool proven =
      is_active && caller.job == job.id && job.attempts.back().stage != Stage::kStopping;
  if (!proven && (!is_active || job.attempts.back().stage != Stage::kRunning)) {
    return call->fail(Error{ErrorKind::kConflict, "not_running",
                            "the job is not running, so it holds nothing to run a step on", ""});
  }
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  Result<StepBody> step = read_step(*body);
  if (!step.ok()) return call->fail(step.error());
  context.nodes.steps.run(std::move(call), job, step->request, std::move(step->program));
}

void attach_step(Context& context, CallPtr call) {
  const Result<const core::Job*> found = job_of_caller(context, *call);
  if (!found.ok()) return call->fail(found.error());
  const core::Job& job = **found;
  if (job.phase != JobPhase::kActive) {
    return call->fail(Error{ErrorKind::kConflict, "step_over", "the job is over", ""});
  }
  const Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  const Result<backends::StepAttach> attach = read_attach(*body, *call);
  if (!attach.ok()) return call->fail(attach.error());
  context.nodes.steps.attach(std::move(call), job, *attach);
}

void write_step_input(Context& context, CallPtr call) {
  const Result<const core::Job*> found = job_of_caller(context, *call);
  if (!found.ok()) return call->fail(found.error());
  const core::Job& job = **found;
  const Result<std::int32_t> step = step_number(*call);
  if (!step.ok()) return call->fail(step.error());
  if (job.attempts.empty()) return call->fail(not_found("step", call->parameters[1]));
  const AttemptNumber attempt = job.attempts.back().number;
  context.nodes.steps.write_input(std::move(call), job.id, attempt, *step);
}

}  // namespace dove::server
