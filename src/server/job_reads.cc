// Reading jobs: one, many, why one waits, and what it prints.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/words.h"
#include "core/explain/other_sets.h"
#include "core/state/executors/placeholders.h"
#include "server/context.h"
#include "server/executors/executor_jobs.h"
#include "server/handlers.h"
#include "server/idle/idle_sweep.h"
#include "server/job_select.h"
#include "server/lists/list_text.h"
#include "server/sessions/session_app.h"
#include "views/framework.h"
#include "views/job_view.h"
#include "views/reasons.h"

namespace dove::server {
namespace {

// The most jobs whose programs are read for one page of sessions.
constexpr std::size_t kLookedAtForSessions = 1000;
constexpr std::chrono::seconds kProgramsWait{5};
// A list's piece takes a turn of the loop for some 2 ms. A request passes several turns, and waits
// for a piece in each.
constexpr int kLookedAtInPiece = 20'000;
constexpr std::int64_t kSummariesInPiece = 60;
constexpr std::int64_t kWholeInPiece = 15;

using Json = nlohmann::json;

Result<JobQuery> read_query(const Call& call, const core::State& state) {
  JobQuery query;
  for (std::string& word : split_list(call.query_text("state"))) {
    if (!is_known_state(word)) {
      return invalid(
          "bad_parameter",
          fmt::format("there is no job state {}; states are waiting, held, active, "
                      "preparing, running, stopping, ended, and how jobs end: completed, "
                      "failed, cancelled, timed_out, stopped_idle, node_lost, dependency_never_met",
                      word.substr(0, 64)),
          "state");
    }
    query.states.insert(std::move(word));
  }
  query.user = call.query_text("user");
  query.queue = call.query_text("queue");
  query.project = call.query_text("project");
  query.pool = call.query_text("pool");
  query.name = call.query_text("name");
  query.label = call.query_text("label");
  query.text = call.query_text("text");
  TRY_ASSIGN(query.submitted_from.us, call.query_number("submitted_from", 0, 0, INT64_MAX));
  TRY_ASSIGN(query.submitted_before.us,
             call.query_number("submitted_before", kNever.us, 0, INT64_MAX));
  if (call.request.find_query("ids") == nullptr) return query;
  query.ids.emplace();
  for (const std::string& text : split_list(call.query_text("ids"))) {
    Result<std::vector<const core::Job*>> found = find_jobs(state, text);
    if (!found.ok()) continue;  // one that was forgotten is not in the list
    for (const core::Job* job : *found) query.ids->push_back(job->id);
  }
  std::sort(query.ids->begin(), query.ids->end());
  query.ids->erase(std::unique(query.ids->begin(), query.ids->end()), query.ids->end());
  return query;
}

Json exec_json(Context& context, const core::Job& job) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  if (!blob.ok()) return nullptr;
  Json exec = Json::parse(**blob, nullptr, /*allow_exceptions=*/false);
  return exec.is_discarded() ? Json(nullptr) : exec;
}

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

// Whether it serves an app that the caller may enter.
bool is_way_in(Context& context, const Call& call, const core::Job& job) {
  if (!accounts::may_enter(context.state(), call.caller, job)) return false;
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  // Most jobs serve none: their programs are not worth reading.
  return blob.ok() && (*blob)->find("\"app\":") != std::string::npos &&
         !app_of(context, job).name.empty();
}

// How whoever may enter its app gets there, what it runs in, and who else may.
void show_session(Context& context, const Call& call, const core::Job& job, Json& body) {
  if (!is_way_in(context, call, job)) return;
  const core::State& state = context.state();
  const Json exec = exec_json(context, job);
  body["app"] = exec.at("app");
  const auto container = exec.find("container");
  body["image"] = container == exec.end() ? "" : container->value("image", "");
  const auto shared = state.shared.find(job.id);
  body["shared_with"] = shared == state.shared.end() ? Json::array() : Json(shared->second);
  const std::string url = session_url(context, job, app_of(context, job));
  if (!url.empty()) body["session_url"] = url;
}

// As far as what it runs is in memory; else that is read for the next time.
void show_framework(Context& context, const core::Job& job, Json& body) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  body["framework"] = blob.ok() ? views::framework_of_text(**blob) : "";
}

// Whether what it runs must be read from the store first, which this begins.
bool is_unread(Context& context, const core::Job& job) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  return !blob.ok() && blob.error().kind == ErrorKind::kUnavailable;
}

// A page of jobs, put together in pieces: what is asked for, and what there is of it.
struct JobPage {
  JobQuery query;
  bool is_full = false;  // whole jobs, else summaries
  bool is_newest_first = false;
  bool is_of_sessions = false;
  bool has_frameworks = false;
  std::uint64_t at = 0;  // the next job to look at; of `query.ids` the next of them
  std::size_t looked_at_programs = 0;
  ListText list;
};

Result<JobPage> read_page(const Call& call, const core::State& state) {
  TRY_ASSIGN(JobQuery query, read_query(call, state));
  TRY_ASSIGN(const std::int64_t limit, call.query_number("limit", 1000, 1, 10'000));
  const std::string order = call.query_text("order");
  if (!order.empty() && order != "oldest" && order != "newest") {
    return invalid("bad_parameter", "order is oldest or newest", "order");
  }
  TRY_ASSIGN(const std::int64_t after, call.query_number("after", 0, 0, INT64_MAX));
  JobPage page{.query = std::move(query), .list = ListText("jobs", state.head, limit)};
  page.is_full = call.query_flag("full");
  page.is_of_sessions = call.query_flag("app");
  page.has_frameworks = call.query_flag("framework");
  page.is_newest_first = order == "newest" && !page.query.ids.has_value();
  const auto behind = static_cast<std::uint64_t>(after);
  if (page.query.ids.has_value()) {
    const auto& ids = *page.query.ids;
    page.at = static_cast<std::uint64_t>(std::upper_bound(ids.begin(), ids.end(), JobId(behind)) -
                                         ids.begin());
  } else if (page.is_newest_first) {
    page.at = behind > 0 ? std::min(behind, state.next_job) : state.next_job;
  } else {
    page.at = behind + 1;
  }
  return page;
}

// The next job to look at; none: there is none. `job` is none where it was forgotten.
bool next_job(const core::State& state, JobPage& page, const core::Job*& job) {
  if (state.jobs.begin() == state.jobs.end()) return false;
  if (page.query.ids.has_value()) {
    if (page.at >= page.query.ids->size()) return false;
    job = state.find_job((*page.query.ids)[page.at++]);
  } else if (page.is_newest_first) {
    if (page.at <= state.jobs.begin()->first.value) return false;
    job = state.find_job(JobId(--page.at));
  } else {
    const auto found = state.jobs.lower_bound(JobId(page.at));
    if (found == state.jobs.end()) return false;
    job = &found->second;
    page.at = job->id.value + 1;
  }
  return true;
}

// False: the page is over.
bool take_job(Context& context, const Call& call, const core::Job& job, JobPage& page,
              std::vector<std::string>& unread) {
  const core::State& state = context.state();
  if (!is_wanted(state, job, page.query) || !may_see(state, call.caller, job)) return true;
  if (page.is_of_sessions && ++page.looked_at_programs > kLookedAtForSessions) {
    page.list.has_next();
    return false;
  }
  if (page.is_of_sessions && is_unread(context, job)) unread.push_back(job.spec->exec_digest);
  if (page.is_of_sessions && !is_way_in(context, call, job)) {
    page.list.passed(job.id.value);
    return true;
  }
  if (page.list.is_full()) {
    page.list.has_next();
    return false;
  }
  Json entry = page.is_full ? views::job_json(state, job) : views::job_summary_json(state, job);
  context.nodes.observed.show_job(job.id, /*whole=*/page.is_full, entry);
  if (page.is_of_sessions) show_session(context, call, job, entry);
  if (page.has_frameworks) show_framework(context, job, entry);
  page.list.add(job.id.value, entry);
  return true;
}

// A bounded part of the page; whether it goes on.
bool take_piece(Context& context, const Call& call, JobPage& page,
                std::vector<std::string>& unread) {
  const std::int64_t entries_before = page.list.entries();
  const std::int64_t entries_max = page.is_full ? kWholeInPiece : kSummariesInPiece;
  for (int looked = 0; looked < kLookedAtInPiece; ++looked) {
    const core::Job* job = nullptr;
    if (!next_job(context.state(), page, job)) return false;
    if (job != nullptr && !take_job(context, call, *job, page, unread)) return false;
    if (page.list.entries() - entries_before >= entries_max) break;
  }
  return true;
}

// Sessions are few, and what they run must be known before the page begins: `unread` is what must
// be read for that; then nothing is answered.
void list_sessions(Context& context, const CallPtr& call, std::vector<std::string>& unread) {
  Result<JobPage> page = read_page(*call, context.state());
  if (!page.ok()) return call->fail(page.error());
  while (take_piece(context, *call, *page, unread)) {
  }
  if (unread.empty()) call->responder->send(page->list.answer(Json::object()));
}

}  // namespace

Result<const core::Job*> visible_job(const Context& context, const Call& call) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  if (!may_see(context.state(), call.caller, *job)) return not_yours(call.caller, *job);
  return job;
}

static void list_now(Context& context, const CallPtr& call) {
  if (!call->query_flag("app")) {
    Result<JobPage> read = read_page(*call, context.state());
    if (!read.ok()) return call->fail(read.error());
    const auto page = std::make_shared<JobPage>(std::move(read).value());
    return context.pieces.read([&context, call, page] {
      std::vector<std::string> none;
      if (take_piece(context, *call, *page, none)) return call->responder->peer_alive();
      call->responder->send(page->list.answer(Json::object()));
      return false;
    });
  }
  std::vector<std::string> unread;
  list_sessions(context, call, unread);
  if (unread.empty()) return;
  context.desk.blobs.fetch(unread, kProgramsWait,
                           [&context, call](const Result<listener::Blobs::Found>& found) {
                             if (!found.ok()) return call->fail(found.error());
                             std::vector<std::string> still;
                             list_sessions(context, call, still);
                             if (!still.empty()) call->fail(listener::Blobs::later());
                           });
}

void list_jobs(Context& context, CallPtr call) {
  JobQuery wanted;
  if (call->request.find_query("since") != nullptr) {  // else the list itself reads it, once
    Result<JobQuery> query = read_query(*call, context.state());
    if (!query.ok()) return call->fail(query.error());
    wanted = std::move(*query);
    wanted.states.clear();  // a job that leaves the list changes it, too
  }
  context.lists.answer(ListOf::kJobs, std::move(call), std::move(wanted),
                       [&context](const CallPtr& own) { list_now(context, own); });
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
  const Result<void> reachable = check_reachable(**job, "its output");
  if (!reachable.ok()) return call->fail(reachable.error());
  const Result<backends::LogRequest> request = read_log_request(*call, **job);
  if (!request.ok()) return call->fail(request.error());
  if (!context.nodes.work.reaches(request->node)) {
    return call->fail(Error{ErrorKind::kUnavailable, "node_unreachable",
                            fmt::format("the output lies on node {}, which is not connected now",
                                        state.find_node(request->node)->name),
                            ""});
  }
  context.nodes.work.read_log(call, *request);
}

}  // namespace dove::server
