#include "server/idle/idle_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "codec/quantity.h"
#include "core/state/running/sessions.h"
#include "telemetry/log.h"

namespace dove::server {
namespace {

constexpr std::int64_t kLook_us = 5'000'000;
constexpr std::int64_t kLookLeast_us = 50'000;
// So long after its start the server does not expect to have heard of everybody.
constexpr Span kTellAgain = seconds(1);

bool is_about_rules(const StampedEvent& event) {
  const auto* applied = std::get_if<ObjectApplied>(&event.event);
  const auto* deleted = std::get_if<ObjectDeleted>(&event.event);
  return (applied != nullptr && std::holds_alternative<IdleRule>(applied->object)) ||
         (deleted != nullptr && deleted->kind == "idle_rule");
}

bool is_running(const core::Job& job) {
  return job.phase == JobPhase::kActive && job.attempts.back().stage == Stage::kRunning;
}

bool holds_gpus(const core::Attempt& attempt) {
  return std::any_of(
      attempt.placements.begin(), attempt.placements.end(),
      [](const core::PlacementRecord& record) { return !record.placement->devices.empty(); });
}

core::MeasuredUse measured(const backends::SeenUse& seen) { return {seen.mean, seen.lately}; }

// A quarter of the shortest span of any rule, and of what is left of a warning: who comes back at
// the last moment is still seen.
std::int64_t look_us(const core::State& state, Instant now) {
  std::int64_t least_us = kLook_us;
  for (const auto& [job, notice] : state.idle) {
    if (notice.ends_at > now) least_us = std::min(least_us, (notice.ends_at - now).us / 4);
  }
  for (const auto& [name, rule] : state.idle_rules) {
    for (const Span span : {rule.no_input_for, rule.window, rule.lifetime, rule.warning}) {
      if (span.us > 0) least_us = std::min(least_us, span.us / 4);
    }
  }
  return std::max(least_us, kLookLeast_us);
}

}  // namespace

IdleSweep::IdleSweep(Context& context) : context_(context), begun_(context.desk.now()) {
  context_.desk.on_batch([this](const listener::RecentBatch& recent) {
    const auto& events = recent.committed->batch.events;
    if (std::any_of(events.begin(), events.end(), is_about_rules)) {
      timer_ = context_.desk.loop.after(std::chrono::microseconds(0), [this] { look_again(); });
    }
  });
  look_again();
}

void IdleSweep::look_again() {
  const Instant now = context_.desk.now();
  if (!context_.desk.stopping()) {
    for (Event& event : look(now)) context_.desk.observe(std::move(event));
  }
  // What was just told is looked at again as soon as it may be.
  const std::int64_t wait_us = look_us(context_.state(), now);
  timer_ = context_.desk.loop.after(
      std::chrono::microseconds(told_.empty() ? wait_us : std::min(wait_us, kTellAgain.us)),
      [this] { look_again(); });
}

std::vector<Event> IdleSweep::look(Instant now) {
  std::vector<Event> found;
  const core::State& state = context_.state();
  std::erase_if(told_, [&](const auto& told) { return told.second + kTellAgain < now; });
  std::erase_if(unreadable_, [&](JobId id) { return state.find_job(id) == nullptr; });
  if (state.idle_rules.empty() && state.idle.empty()) return found;
  context_.activity.keep([&](JobId id) {
    const core::Job* job = state.find_job(id);
    return job != nullptr && job->phase != JobPhase::kEnded;
  });
  for (const auto& [id, job] : state.jobs) {
    if (!is_running(job) || told_.contains(id)) continue;
    const std::size_t before = found.size();
    const Result<void> looked = look_at(job, now, found);
    if (found.size() > before) told_[id] = now;
    if (looked.ok() || looked.error().kind == ErrorKind::kUnavailable) continue;
    if (!unreadable_.insert(id).second) continue;
    telemetry::log(telemetry::Level::kWarning, "idle_not_judged",
                   {{"job", id.value}, {"why", looked.error().message}});
  }
  return found;
}

Result<void> IdleSweep::look_at(const core::Job& job, Instant now, std::vector<Event>& found) {
  const core::State& state = context_.state();
  const AttemptNumber attempt = job.attempts.back().number;
  const auto notice = state.idle.find(job.id);
  const bool is_told = notice != state.idle.end();
  const IdleRule* rule = nullptr;
  core::IdleVerdict verdict;
  if (!state.idle_rules.empty()) {
    TRY_ASSIGN(const AppSpec* app, context_.session_apps.of(job));
    rule = core::idle_rule_of(state, *job.spec, app->name);
    if (rule != nullptr) verdict = core::judge_idle(*rule, facts_of(job, *rule, *app, now), now);
  }
  switch (verdict.standing) {
    case core::IdleStanding::kWarned:
    case core::IdleStanding::kDue:
      return {};
    case core::IdleStanding::kExempt:
    case core::IdleStanding::kGrace:
    case core::IdleStanding::kKept:
    case core::IdleStanding::kActive:
    case core::IdleStanding::kUnknown:
      if (is_told) found.push_back(IdleEnded{job.id, attempt});
      return {};
    case core::IdleStanding::kWarn:
      break;
  }
  if (is_told) found.push_back(IdleEnded{job.id, attempt});
  found.push_back(
      IdleObserved{job.id, attempt, verdict.check, rule->name, verdict.evidence, verdict.at - now});
  return {};
}

core::IdleFacts IdleSweep::facts_of(const core::Job& job, const IdleRule& rule, const AppSpec& app,
                                    Instant now) const {
  const core::State& state = context_.state();
  const backends::JobUse use = context_.nodes.use.use_of(job, rule.window);
  core::IdleFacts facts;
  facts.is_session = !app.name.empty();
  facts.holds_gpus = holds_gpus(job.attempts.back());
  facts.started_at = job.attempts.back().started_at;
  const auto kept = state.kept.find(job.id);
  if (kept != state.kept.end()) facts.kept_until = kept->second;
  facts.input_known = use.is_told && (app.activity.empty() || use.is_app_told);
  facts.in_use = use.in_use;
  facts.last_input = last_input_of(context_, job, app, use);
  facts.watched_since = begun_;
  facts.gpu = measured(use.gpu);
  facts.gpu_memory = measured(use.gpu_memory);
  facts.cpu = measured(use.cpu);
  facts.is_gathering = now < begun_ + core::kIdleGathering;
  const auto notice = state.idle.find(job.id);
  if (notice != state.idle.end() && notice->second.rule == rule.name) {
    facts.notice = notice->second;
  }
  return facts;
}

Instant last_input_of(const Context& context, const core::Job& job, const AppSpec& app,
                      const backends::JobUse& use) {
  const Instant told =
      std::max(use.last_input, context.activity.last_input(job.id).value_or(Instant{}));
  // What comes through a bare connection may be the page's own polling: an app that knows better
  // is asked instead.
  return app.activity.empty() ? std::max(told, use.last_connection) : told;
}

std::string idle_text(const core::State& state, const core::Job& job) {
  const auto found = state.idle.find(job.id);
  if (found == state.idle.end()) return "";
  const core::IdleNotice& notice = found->second;
  const bool is_old = notice.check == IdleCheck::kLifetime;
  if (job.phase == JobPhase::kEnded) {
    return fmt::format("stopped by the idle rule {}: {}", notice.rule, notice.evidence);
  }
  return fmt::format(
      "{}: {}; by the idle rule {} it is stopped at {}{}",
      is_old ? "its lifetime is nearly over" : "nobody uses it", notice.evidence, notice.rule,
      codec::rfc3339(notice.ends_at),
      is_old ? ""
             : fmt::format(" unless somebody uses it, or keeps it: dove keep {}", job.id.value));
}

}  // namespace dove::server
