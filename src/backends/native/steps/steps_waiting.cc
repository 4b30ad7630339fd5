// Steps: where a step has room, and those that wait for some.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/native/steps/steps.h"
#include "codec/json.h"
#include "model/job.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

}  // namespace

Result<std::vector<StepNode>> Steps::lay_out(const core::Job& job,
                                             const StepRequest& request) const {
  const core::State& state = projection_.state();
  TRY_ASSIGN(std::vector<StepNode> nodes, lay_out_step(state, job, request, ledger_));
  // What those hold that began before this server did is not known before their clients are back.
  if (request.asks() && !request.overlap && has_orphans(job.id, job.attempts.back().number)) {
    return Error{ErrorKind::kConflict, "step_must_wait",
                 "steps of the job that began before the server was restarted may hold what this "
                 "one asks for",
                 ""};
  }
  for (const StepNode& node : nodes) {
    if (sessions_.find(node.node) != nullptr) continue;
    return Error{ErrorKind::kUnavailable, "node_unreachable",
                 fmt::format("the agent of node {} is not connected now; try again",
                             state.find_node(node.node)->name),
                 ""};
  }
  return nodes;
}

void Steps::run(CallPtr call, const core::Job& job, const StepRequest& request,
                StepProgram program) {
  const Result<std::vector<StepNode>> nodes = lay_out(job, request);
  if (!nodes.ok()) {
    const bool waits = request.waits && nodes.error().code == "step_must_wait";
    if (waits) return wait(*call, job, request, std::move(program));
    return call->fail(nodes.error());
  }
  begin(job, *nodes, program,
        call->responder->stream(200, {{"Content-Type", "application/x-ndjson"}}));
}

void Steps::wait(const listener::Call& call, const core::Job& job, const StepRequest& request,
                 StepProgram program) {
  auto waiting = std::make_shared<WaitingStep>();
  waiting->job = job.id;
  waiting->attempt = job.attempts.back().number;
  waiting->request = request;
  waiting->program = std::move(program);
  waiting->out = call.responder->stream(200, {{"Content-Type", "application/x-ndjson"}});
  waiting->out->on_closed([this, weak = std::weak_ptr<WaitingStep>(waiting)] {
    if (const auto gone = weak.lock()) waiting_.remove(gone.get());
  });
  waiting->out->write(codec::dump_json(Json{{"waiting", {{"job", job.id.value}}}}) + "\n");
  waiting_.add(std::move(waiting));
  if (!look_timer_.pending()) look_timer_ = loop_.after(kLookAgain, [this] { look_again(); });
}

StepWaiting::Outcome Steps::begin_waiting(const std::shared_ptr<WaitingStep>& waiting) {
  using Outcome = StepWaiting::Outcome;
  const core::Job* job = projection_.state().find_job(waiting->job);
  const bool runs = job != nullptr && job->phase == JobPhase::kActive &&
                    job->attempts.back().number == waiting->attempt &&
                    job->attempts.back().stage != Stage::kStopping;
  Error error{ErrorKind::kConflict, "not_running", "the job is not running any more", ""};
  if (runs) {
    const Result<std::vector<StepNode>> nodes = lay_out(*job, waiting->request);
    if (nodes.ok()) {
      begin(*job, *nodes, waiting->program, waiting->out);
      return Outcome::kBegun;
    }
    error = nodes.error();
    if (error.code == "step_must_wait" || error.kind == ErrorKind::kUnavailable) {
      return Outcome::kBusy;
    }
  }
  waiting->out->write(codec::dump_json(Json{{"refused", {{"message", error.message}}}}) + "\n");
  waiting->out->close();
  return Outcome::kOver;
}

void Steps::freed(JobId job, AttemptNumber attempt) {
  waiting_.look(job, attempt, [this](const auto& waiting) { return begin_waiting(waiting); });
}

// Jobs that end take their waiting steps with them; nodes come back.
void Steps::look_again() {
  waiting_.look_at_all([this](const auto& waiting) { return begin_waiting(waiting); });
  if (!waiting_.empty()) look_timer_ = loop_.after(kLookAgain, [this] { look_again(); });
}

bool Steps::has_orphans(JobId job, AttemptNumber attempt) const {
  const auto first = orphans_.lower_bound(Key{job, attempt, 0});
  return first != orphans_.end() && std::get<0>(first->first) == job &&
         std::get<1>(first->first) == attempt;
}

}  // namespace dove::backends
