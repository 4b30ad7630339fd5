// The output of jobs that executors run: those who read it, and the adapters that send it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "listener/route.h"
#include "server/context.h"
#include "server/executors/executor_jobs.h"
#include "server/handlers.h"

namespace dove::server {
namespace {

constexpr std::chrono::seconds kProgramWait{5};
constexpr std::int64_t kWaitMax_s = 60;

// Where the wanted task runs; null: its attempt is gone by now.
const Placement* placement_on(const core::Job& job, const backends::LogRequest& request) {
  for (const core::Attempt& attempt : job.attempts) {
    if (attempt.number != request.attempt) continue;
    for (const core::PlacementRecord& record : attempt.placements) {
      if (record.placement->node == request.node) return &*record.placement;
    }
  }
  return nullptr;
}

void read_file(Context& context, const CallPtr& call, const backends::LogRequest& request,
               const listener::Blobs::Found& blobs) {
  const core::Job* job = context.state().find_job(request.job);
  const Placement* placement = job == nullptr ? nullptr : placement_on(*job, request);
  if (placement == nullptr) {
    return call->fail(not_found("job", std::to_string(request.job.value)));
  }
  const auto blob = blobs.find(job->spec->exec_digest);
  const nlohmann::json parsed =
      blob == blobs.end()
          ? nlohmann::json()
          : nlohmann::json::parse(*blob->second, nullptr, /*allow_exceptions=*/false);
  const Result<ExecSpec> exec = codec::decode_exec(parsed);
  if (!exec.ok()) return call->fail(exec.error());
  const bool is_own = request.is_stderr && !exec->output.stderr_path.empty();
  if (request.is_stderr && request.apart && !is_own) {
    return call->responder->send({200, {{"Content-Type", "text/plain; charset=utf-8"}}, ""});
  }
  OutputFile file = output_file(context.state(), *job, *exec, *placement, request.rank, is_own);
  context.outputs.read(call, std::move(file), request);
}

}  // namespace

void read_executor_output(Context& context, CallPtr call, const backends::LogRequest& request) {
  const core::Job& job = *context.state().find_job(request.job);
  const AttemptNumber last = job.attempts.back().number;
  if (request.attempt != last) {
    return call->fail(Error{
        ErrorKind::kConflict, "earlier_attempt",
        fmt::format("all attempts of job {} write to the same file where executor {} runs it, so "
                    "what attempt {} wrote cannot be told from what attempt {} did: leave "
                    "`attempt` out",
                    job.id.value, job.spec->executor, request.attempt, last),
        "attempt"});
  }
  context.desk.blobs.fetch(
      {job.spec->exec_digest}, kProgramWait,
      [&context, call, request](const Result<listener::Blobs::Found>& found) {
        if (!found.ok()) return call->fail(found.error());
        listener::run_guarded(call, [&](CallPtr own) { read_file(context, own, request, *found); });
      });
}

void send_executor_output(Context& context, CallPtr call) {
  const Result<const Executor*> executor = executor_of(context.state(), *call);
  if (!executor.ok()) return call->fail(executor.error());
  const Result<std::int64_t> wait_s = call->query_number("wait_s", 0, 0, kWaitMax_s);
  if (!wait_s.ok()) return call->fail(wait_s.error());
  context.outputs.exchange((*executor)->name, std::move(call), std::chrono::seconds(*wait_s));
}

}  // namespace dove::server
