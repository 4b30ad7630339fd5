// Reading a job: how it is, why it waits, and what it prints (the list: lists/job_list.cc).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/words.h"
#include "core/explain/other_sets.h"
#include "core/state/executors/placeholders.h"
#include "server/context.h"
#include "server/executors/executor_jobs.h"
#include "server/handlers.h"
#include "server/idle/idle_sweep.h"
#include "server/job_select.h"
#include "server/lists/job_programs.h"
#include "views/job_view.h"
#include "views/reasons.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

const core::PlacementRecord* placement_of(const core::Job& job, const core::Attempt& attempt,
                                          Rank rank) {
  // A batch script runs once, on the first node, and is rank 0's output.
  if (job.spec->launch == LaunchMode::kBatch) {
    return rank == 0 && !attempt.placements.empty() ? &attempt.placements.front() : nullptr;
  }
  for (const core::PlacementRecord& record : attempt.placements) {
    for (const TaskGrant& task : record.placement->tasks) {
      if (task.rank == rank) return &record;
    }
  }
  return nullptr;
}

// A task that never started printed nothing, and says why instead.
Result<void> check_started(const core::Job& job, const core::Attempt& attempt, Rank rank) {
  constexpr std::string_view kBegin = "start_failed: ";
  for (const TaskExit& exit : attempt.exits) {
    if (exit.rank != rank || !exit.cause.starts_with(kBegin)) continue;
    return Error{ErrorKind::kConflict, "task_never_started",
                 fmt::format("rank {} of job {} never started: {}", rank, job.id.value,
                             exit.cause.substr(kBegin.size())),
                 ""};
  }
  const bool is_over = attempt.stage == Stage::kEnded;
  if (is_over && attempt.stop_reason == StopReason::kLaunchFailed && attempt.started_at.us == 0) {
    return Error{ErrorKind::kConflict, "never_started",
                 fmt::format("job {} never started: a node refused it; `dove show {}` says why",
                             job.id.value, job.id.value),
                 ""};
  }
  return {};
}

Result<backends::LogRequest> read_log_request(const Call& call, const core::Job& job) {
  backends::LogRequest request;
  request.job = job.id;
  if (job.attempts.empty() && job.phase == JobPhase::kEnded) {
    return Error{ErrorKind::kConflict, "never_started",
                 fmt::format("job {} never started: `dove show {}` says how it ended", job.id.value,
                             job.id.value),
                 ""};
  }
  if (job.attempts.empty()) {
    return Error{ErrorKind::kConflict, "job_not_started",
                 fmt::format("job {} has not started; `dove why {}` says what it waits for",
                             job.id.value, job.id.value),
                 ""};
  }
  TRY_ASSIGN(const std::int64_t number,
             call.query_number("attempt", job.attempts.back().number, 1, INT32_MAX));
  TRY_ASSIGN(const std::int64_t rank, call.query_number("rank", 0, 0, INT32_MAX));
  TRY_ASSIGN(request.offset, call.query_number("offset", 0, 0, INT64_MAX / 2));
  TRY_ASSIGN(request.tail_lines, call.query_number("tail", -1, 0, 1'000'000));
  const std::string stream = call.query_text("stream");
  if (!stream.empty() && stream != "stdout" && stream != "stderr") {
    return invalid("bad_parameter", "stream is stdout or stderr", "stream");
  }
  request.is_stderr = stream == "stderr";
  request.follow = call.query_flag("follow");
  request.apart = call.query_flag("apart");
  request.attempt = static_cast<AttemptNumber>(number);
  request.rank = static_cast<Rank>(rank);
  for (const core::Attempt& attempt : job.attempts) {
    if (attempt.number != request.attempt) continue;
    const core::PlacementRecord* record = placement_of(job, attempt, request.rank);
    if (record == nullptr) break;
    TRY(check_started(job, attempt, request.rank));
    request.node = record->placement->node;
    return request;
  }
  return Error{ErrorKind::kNotFound, "no_such_task",
               fmt::format("attempt {} of job {} has no task of rank {}", request.attempt,
                           job.id.value, request.rank),
               "rank"};
}

}  // namespace

Result<const core::Job*> visible_job(const Context& context, const Call& call) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  if (!may_see(context.state(), call.caller, *job)) return not_yours(call.caller, *job);
  return job;
}

void get_job(Context& context, CallPtr call) {
  const Result<const core::Job*> job = visible_job(context, *call);
  if (!job.ok()) return call->fail(job.error());
  Json body = views::job_json(context.state(), **job);
  context.nodes.observed.show_job((*job)->id, /*whole=*/true, body);
  listener::Goodput::show(**job, body);
  if (may_act(context.state(), call->caller, **job)) body["exec"] = exec_json(context, **job);
  show_session(context, *call, **job, body);
  show_framework(context, **job, body);
  call->reply(200, body);
}

// What a job that is prepared waits for; "" when it is nothing of the kind.
static std::string missing_placeholders(const core::State& state, const core::Job& job) {
  if (job.phase != JobPhase::kActive || job.attempts.back().stage != Stage::kBarrier) return "";
  std::string text;
  core::each_placeholder(
      state, job.id, job.attempts.back().number,
      [&](const core::PlaceholderKey& key, const core::Placeholder& placeholder) {
        if (placeholder.stage == PlaceholderStage::kConfirmed ||
            placeholder.stage == PlaceholderStage::kReleased) {
          return;
        }
        text += fmt::format("{}{} is to hold its place on {} ({}{})", text.empty() ? "" : "; ",
                            key.executor, state.find_node(key.node)->name,
                            codec::word(placeholder.stage),
                            placeholder.id.empty() ? "" : " as " + placeholder.id);
      });
  return text.empty() ? "" : "starts when every executor has confirmed: " + text;
}

static std::string other_cause_text(const core::OtherCause& cause) {
  constexpr std::pair<ReasonKind, const char*> kTexts[] = {
      {ReasonKind::kLabels, "the labels of other jobs did not matter"},
      {ReasonKind::kDomain, "it did not have to be in one unit"},
      {ReasonKind::kExcluded, "its choice of nodes did not matter"},
      {ReasonKind::kReservation, "it were not confined to its reservation"},
      {ReasonKind::kReserved, "no nodes were reserved for others"},
      {ReasonKind::kNodesUnavailable, "all nodes were available"},
  };
  for (const auto& [kind, text] : kTexts) {
    if (kind == cause.kind) return text;
  }
  return cause.resource == "nodes" ? "nothing else ran on the nodes"
                                   : "other jobs held no " + cause.resource;
}

// {"sets": [{"text", "causes": [{"kind", "resource"?}]}], "all"}
static Json other_sets_json(const core::OtherSets& others) {
  Json sets = Json::array();
  for (const std::vector<core::OtherCause>& set : others.sets) {
    Json causes = Json::array();
    std::string text;
    for (const core::OtherCause& cause : set) {
      causes.push_back({{"kind", codec::word(cause.kind)}});
      if (!cause.resource.empty()) causes.back()["resource"] = cause.resource;
      text += (text.empty() ? "" : " and ") + other_cause_text(cause);
    }
    sets.push_back({{"text", text}, {"causes", std::move(causes)}});
  }
  return {{"sets", std::move(sets)}, {"all", others.all}};
}

void why_job(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<const core::Job*> job = visible_job(context, *call);
  if (!job.ok()) return call->fail(job.error());
  // What keeps a running job from getting on is heard from its agents.
  const bool is_observed = (*job)->phase == JobPhase::kActive;
  if (is_observed && context.elsewhere) return call->fail(context.elsewhere());
  Json reasons = views::reasons_json(
      state, **job, context.desk.explain(**job),
      [&](const core::Job& other) { return may_see(state, call->caller, other); });
  Json body = views::job_summary_json(state, **job);
  body["reasons"] = std::move(reasons);
  if (call->query_flag("others")) {
    body["others"] = other_sets_json(context.desk.other_sets(**job));
  }
  const std::string trouble = context.nodes.observed.trouble((*job)->id);
  const std::string missing = missing_placeholders(state, **job);
  const std::string idle = idle_text(state, **job);
  for (const std::string* text : {&idle, &trouble, &missing}) {
    if (text->empty()) continue;
    body["text"] = *text;
    break;
  }
  call->reply(200, body);
}

void wait_job(Context& context, CallPtr call) {
  const std::string word = call->query_text("until");
  const std::optional<WaitUntil> until = read_wait_until(word);
  if (!until.has_value()) {
    return call->fail(invalid(
        "bad_parameter",
        fmt::format("until is started, settled or ended, not {}", word.substr(0, 64)), "until"));
  }
  const auto jobs = find_jobs(context.state(), call->parameters[0]);
  if (!jobs.ok()) return call->fail(jobs.error());
  for (const core::Job* job : *jobs) {
    if (!may_see(context.state(), call->caller, *job)) {
      return call->fail(not_yours(call->caller, *job));
    }
  }
  context.waits.add(call->responder->stream(200, {{"Content-Type", "application/x-ndjson"}}),
                    call->parameters[0], *until);
}

void read_job_log(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<const core::Job*> job = visible_job(context, *call);
  if (!job.ok()) return call->fail(job.error());
  if (!may_read(state, call->caller, **job)) return call->fail(not_yours(call->caller, **job));
  // What its users gave to the executor themselves writes where they said.
  const bool is_foreign = !(*job)->spec->foreign_job.empty();
  const Result<void> reachable = check_reachable(**job, "its output");
  if (is_foreign && !reachable.ok()) return call->fail(reachable.error());
  const Result<backends::LogRequest> request = read_log_request(*call, **job);
  if (!request.ok()) return call->fail(request.error());
  if (!(*job)->spec->executor.empty()) return read_executor_output(context, call, *request);
  if (!context.nodes.work.reaches(request->node)) {
    return call->fail(Error{ErrorKind::kUnavailable, "node_unreachable",
                            fmt::format("the output lies on node {}, which is not connected now",
                                        state.find_node(request->node)->name),
                            ""});
  }
  context.nodes.work.read_log(call, *request);
}

}  // namespace dove::server
