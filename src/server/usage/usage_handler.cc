// GET /v1/usage: GPU hours and core hours over a time, by user, project, domain or queue.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "accounts/access.h"
#include "core/state/past/count_forgotten.h"
#include "server/context.h"
#include "server/handlers.h"
#include "views/usage_sums.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using views::UsageBy;
using views::UsageSums;

constexpr std::int64_t kWeek_s = 7LL * 24 * 3600;
constexpr std::int64_t kYears_s = 10LL * 366 * 24 * 3600;
constexpr std::int64_t kLatest_us = 7'258'118'399'999'999;  // the year 2199
constexpr std::int64_t kSteps_max = 400;
constexpr std::int64_t kRows_usual = 100;
constexpr std::int64_t kRows_most = 1000;
constexpr int kLookedAtInPiece = 20'000;  // in one turn of the loop: a few milliseconds
constexpr int kBegun_max = 3;
constexpr std::int32_t kAfterAllDays = std::numeric_limits<std::int32_t>::max();

std::optional<UsageBy> by_of(const std::string& word) {
  if (word.empty() || word == "user") return UsageBy::kUser;
  if (word == "project") return UsageBy::kProject;
  if (word == "domain") return UsageBy::kDomain;
  if (word == "queue") return UsageBy::kQueue;
  return std::nullopt;
}

double hours(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 3'600'000; }

struct Reading {
  UsageBy by;
  Instant now;
  Instant from;
  Instant to;
  std::size_t steps = 1;
  std::size_t rows_max = 0;
  UsageSums sums{by, from, to, steps};
  core::ForgottenKey next_day = {};
  JobId next = JobId(1);
  Instant first_end = kNever;       // of the jobs that are known
  std::int64_t forgotten_jobs = 0;  // when it began
  int begun = 0;                    // how often it began anew
};

void begin(const core::State& state, Reading& reading) {
  reading.sums = UsageSums(reading.by, reading.from, reading.to, reading.steps);
  reading.next_day = {static_cast<std::int32_t>(reading.from.us / core::kDay_us), "", "", ""};
  reading.next = JobId(1);
  reading.first_end = kNever;
  reading.forgotten_jobs = state.forgotten.jobs;
  ++reading.begun;
}

// A bounded part of what forgotten jobs held, then of the jobs; whether it goes on.
bool take_piece(const core::State& state, const Caller& caller, Reading& reading) {
  if (reading.begun == 0) begin(state, reading);
  int looked = 0;
  const auto& use = state.forgotten.use;
  for (auto at = use.lower_bound(reading.next_day);
       at != use.end() && at->first.day * core::kDay_us < reading.to.us; ++at) {
    if (++looked > kLookedAtInPiece) {
      reading.next_day = at->first;
      return true;
    }
    if (may_see_use(state, caller, at->first.user, at->first.project)) {
      reading.sums.add(state, at->first, at->second, reading.now);
    }
  }
  reading.next_day.day = kAfterAllDays;
  for (auto job = state.jobs.lower_bound(reading.next); job != state.jobs.end(); ++job) {
    if (++looked > kLookedAtInPiece) return true;
    reading.next = JobId(job->first.value + 1);
    if (job->second.phase == JobPhase::kEnded) {
      reading.first_end = std::min(reading.first_end, job->second.ended_at);
    }
    if (may_see(state, caller, job->second)) reading.sums.add(state, job->second, reading.now);
  }
  // A job that was forgotten between two pieces is in both sums, or in neither.
  if (state.forgotten.jobs == reading.forgotten_jobs || reading.begun == kBegun_max) return false;
  begin(state, reading);
  return true;
}

// From when on no job is missing that held something. Numbers of jobs follow one another, so it
// shows whether all that ever were are known or counted; a log of a version that did not count, or
// one that goes on from a backup, has a gap.
Instant complete_from(const core::State& state, const Reading& reading) {
  const auto known = static_cast<std::int64_t>(state.jobs.size()) + state.forgotten.jobs;
  const bool has_gap = known < static_cast<std::int64_t>(state.next_job) - 1;
  const std::int64_t today = reading.now.us / core::kDay_us;
  const Instant dropped{std::max<std::int64_t>((today - core::kForgotten_days) * core::kDay_us, 0)};
  if (!has_gap) return state.forgotten.jobs > 0 ? dropped : Instant{};
  if (state.forgotten.jobs > 0) return std::max(dropped, state.forgotten.since);
  // The oldest are forgotten first.
  return std::min(reading.first_end, reading.now);
}

Json rows_json(const Reading& reading) {
  Json rows = Json::array();
  for (const UsageSums::Row& row : reading.sums.rows()) {
    if (rows.size() == reading.rows_max) break;
    Json steps = Json::array();
    for (const std::int64_t step : row.steps) steps.push_back(hours(step / 1000));
    rows.push_back({{"name", row.name},
                    {"gpu_hours", hours(row.gpu_milli_ms / 1000)},
                    {"core_hours", hours(row.core_ms)},
                    {"jobs", row.jobs},
                    {"steps", std::move(steps)}});
  }
  return rows;
}

}  // namespace

void get_usage(Context& context, CallPtr call) {
  const std::string word = call->query_text("by");
  const std::optional<UsageBy> by = by_of(word);
  if (!by) {
    return call->fail(invalid("bad_parameter", "by is user, project, domain or queue", "by"));
  }
  const std::int64_t now_us = context.desk.now().us;
  const Result<std::int64_t> to = call->query_number("to", now_us, 1, kLatest_us);
  if (!to.ok()) return call->fail(to.error());
  const Result<std::int64_t> seconds = call->query_number("seconds", kWeek_s, 1, kYears_s);
  if (!seconds.ok()) return call->fail(seconds.error());
  const std::int64_t usual_us = std::max<std::int64_t>(*to - *seconds * 1'000'000, 0);
  const Result<std::int64_t> from = call->query_number("from", usual_us, 0, kLatest_us);
  if (!from.ok()) return call->fail(from.error());
  if (*from >= *to) return call->fail(invalid("bad_parameter", "from is not before to", "from"));
  const Result<std::int64_t> steps = call->query_number("steps", 1, 1, kSteps_max);
  if (!steps.ok()) return call->fail(steps.error());
  const Result<std::int64_t> limit = call->query_number("limit", kRows_usual, 1, kRows_most);
  if (!limit.ok()) return call->fail(limit.error());
  auto reading = std::make_shared<Reading>(Reading{*by, Instant{now_us}, Instant{*from},
                                                   Instant{*to}, static_cast<std::size_t>(*steps),
                                                   static_cast<std::size_t>(*limit)});
  context.pieces.read([&context, call, reading, by = word.empty() ? "user" : word] {
    const core::State& state = context.state();
    if (take_piece(state, call->caller, *reading)) return call->responder->peer_alive();
    call->reply(200, Json{{"by", by},
                          {"from_us", reading->from.us},
                          {"to_us", reading->to.us},
                          {"step_s", static_cast<double>(reading->sums.step().us) / 1e6},
                          {"complete_from_us", complete_from(state, *reading).us},
                          {"rows", rows_json(*reading)}});
    return false;
  });
}

}  // namespace dove::server
