// POST /v1/jobs/{id}/steps: a program inside a job's allocation.
#include <charconv>
#include <nlohmann/json.hpp>

#include "server/context.h"
#include "server/executors/executor_jobs.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/step_body.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

Result<std::int32_t> step_number(const Call& call) {
  const std::string& text = call.parameters[1];
  std::int32_t step = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error == std::errc() && at == text.data() + text.size() && step >= 0) return step;
  return not_found("step", text);
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
  const Result<void> reachable = check_reachable(job, "its nodes");
  if (!reachable.ok()) return call->fail(reachable.error());
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
  const Result<std::int32_t> step = step_number(*call);
  if (!step.ok()) return call->fail(step.error());
  const Result<backends::StepAttach> attach = read_step_attach(*body, *step);
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
