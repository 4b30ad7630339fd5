// GET /v1/usage: GPU hours and core hours over a time, by user, project or queue.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "accounts/access.h"
#include "server/context.h"
#include "server/handlers.h"
#include "telemetry/clock.h"
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

std::optional<UsageBy> by_of(const std::string& word) {
  if (word.empty() || word == "user") return UsageBy::kUser;
  if (word == "project") return UsageBy::kProject;
  if (word == "queue") return UsageBy::kQueue;
  return std::nullopt;
}

double hours(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 3'600'000; }

struct Reading {
  UsageSums sums;
  Instant now;
  Instant from;
  Instant to;
  std::size_t rows_max = 0;
  JobId next = JobId(1);
  std::int64_t ended = 0;
  Instant first_end = kNever;  // of the jobs that are known
};

// A bounded part of the jobs; whether it goes on.
bool take_piece(const core::State& state, const Caller& caller, Reading& reading) {
  int looked = 0;
  auto job = state.jobs.lower_bound(reading.next);
  for (; job != state.jobs.end(); ++job) {
    reading.next = JobId(job->first.value + 1);
    if (job->second.phase == JobPhase::kEnded) {
      ++reading.ended;
      reading.first_end = std::min(reading.first_end, job->second.ended_at);
    }
    if (may_see(state, caller, job->second)) {
      reading.sums.add(job->second, reading.now);
    }
    if (++looked == kLookedAtInPiece) return true;
  }
  return false;
}

// From when on no job is missing that held something: those that ended before are forgotten.
Instant complete_from(const core::State& state, const Reading& reading) {
  const ClusterSettings& settings = state.settings;
  const Instant kept{reading.now.us - settings.ended_jobs_kept.us};
  const bool is_full = reading.ended >= settings.ended_jobs_max;
  return is_full ? std::max(kept, reading.first_end) : kept;
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
    return call->fail(invalid("bad_parameter", "by is user, project or queue", "by"));
  }
  const std::int64_t now_us = telemetry::now_us();
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
  auto reading = std::make_shared<Reading>(
      Reading{UsageSums(*by, Instant{*from}, Instant{*to}, static_cast<std::size_t>(*steps)),
              Instant{now_us}, Instant{*from}, Instant{*to}, static_cast<std::size_t>(*limit)});
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
