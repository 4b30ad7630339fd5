#include "notices/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/words.h"
#include "core/place/reservation.h"
#include "core/state/books.h"
#include "core/state/people.h"
#include "notices/job_mail.h"

namespace dove::notices {
namespace {

using core::State;

// Whether somebody has to be told at all: most users have chosen nothing.
bool is_wanted(const State& state, const std::string& user, NoticeAbout about) {
  const auto found = state.users.find(user);
  if (found == state.users.end() || found->second.disabled) return false;
  return std::ranges::any_of(found->second.notices, [&](const NoticeTarget& target) {
    return std::ranges::find(target.about, about) != target.about.end();
  });
}

bool is_wanted(const State& state, const core::Job& job, NoticeAbout about) {
  return is_wanted(state, job.spec->user, about) ||
         (asks_for(*job.spec, about) && !job_targets(state, *job.spec).empty());
}

Notice about_job(NoticeAbout about, const core::Job& job, AttemptNumber attempt, Instant at) {
  Notice notice;
  notice.about = about;
  notice.user = job.spec->user;
  notice.at = at;
  notice.job = job.id;
  notice.attempt = attempt;
  notice.job_name = job.spec->name;
  return notice;
}

std::string key_of(const Notice& notice, std::string_view what) {
  return fmt::format("job.{}.{}.{}", notice.job.value, notice.attempt, what);
}

AttemptNumber last_attempt(const core::Job& job) {
  return job.attempts.empty() ? 0 : job.attempts.back().number;
}

// Those of the whole cluster who have chosen to hear of it.
std::vector<std::string> administrators_who_want(const State& state, NoticeAbout about) {
  std::vector<std::string> out;
  for (const auto& [name, user] : state.users) {
    if (!is_wanted(state, name, about)) continue;
    if (core::standing_of(state, name).cluster.has(Role::kAdmin)) out.push_back(name);
  }
  return out;
}

std::vector<Notice> of_node(const State& state, Seq seq, Instant at, NodeId id,
                            const std::string& what, const std::string& why) {
  std::vector<Notice> out;
  const core::Node* node = state.find_node(id);
  if (node == nullptr || node->removed) return out;
  for (const std::string& user : administrators_who_want(state, NoticeAbout::kNodeSick)) {
    Notice notice;
    notice.about = NoticeAbout::kNodeSick;
    notice.key = fmt::format("node.{}.{}", node->name, seq.value);
    notice.user = user;
    notice.at = at;
    notice.node = node->name;
    notice.what = what;
    notice.why = why;
    out.push_back(std::move(notice));
  }
  return out;
}

struct OfEvent {
  const State& state;
  Seq seq;
  Instant at;

  // The first node of a gang says it for all.
  std::vector<Notice> operator()(const PlacementStarted& event) const {
    const core::Job* job = state.find_job(event.job);
    if (job == nullptr || !is_wanted(state, *job, NoticeAbout::kJobStarted)) return {};
    const auto attempt = std::ranges::find(job->attempts, event.attempt, &core::Attempt::number);
    if (attempt == job->attempts.end() || attempt->placements.empty()) return {};
    if (attempt->placements.front().placement->node != event.node) return {};
    Notice notice = about_job(NoticeAbout::kJobStarted, *job, event.attempt, at);
    notice.key = key_of(notice, "started");
    notice.what = "started";
    const core::Node* node = state.find_node(event.node);
    if (node != nullptr) notice.node = node->name;
    const std::size_t others = attempt->placements.size() - 1;
    notice.why = others == 0 ? fmt::format("it runs on {}", notice.node)
                             : fmt::format("it runs on {} and {} more nodes", notice.node, others);
    return {notice};
  }

  std::vector<Notice> operator()(const IdleObserved& event) const {
    const core::Job* job = state.find_job(event.job);
    if (job == nullptr || !is_wanted(state, *job, NoticeAbout::kSessionIdle)) return {};
    Notice notice = about_job(NoticeAbout::kSessionIdle, *job, event.attempt, at);
    notice.key = key_of(notice, fmt::format("idle.{}", seq.value));
    notice.what = codec::word(event.check);
    notice.why = event.evidence;
    notice.then = at + event.warning;
    return {notice};
  }

  std::vector<Notice> operator()(const FindingReported& event) const {
    if (event.finding.severity < Severity::kFault) return {};
    const std::string where =
        event.finding.device < 0 ? "" : fmt::format(", device {}", event.finding.device);
    return of_node(state, seq, at, event.node, event.finding.check,
                   fmt::format("{}{}: {}", event.finding.check, where, event.finding.evidence));
  }

  // Everybody whose job is there, once: the drain ends it at that instant if it has not ended.
  std::vector<Notice> operator()(const NodeActionRequested& event) const {
    std::vector<Notice> out;
    const core::Node* node = state.find_node(event.node);
    const bool ends_jobs = event.now || event.by.us != 0;
    if (node == nullptr || !ends_jobs || event.action == NodeAction::kResume) return out;
    for (const JobId id : node->jobs) {
      const core::Job* job = state.find_job(id);
      if (job == nullptr || !is_wanted(state, *job, NoticeAbout::kJobStopsSoon)) continue;
      Notice notice = about_job(NoticeAbout::kJobStopsSoon, *job, last_attempt(*job), at);
      notice.key = key_of(notice, fmt::format("drain.{}", seq.value));
      notice.node = node->name;
      notice.what = "drain";
      notice.why = fmt::format("node {} is taken out of service{}{}", node->name,
                               event.why.empty() ? "" : ": ", event.why);
      if (!event.now) notice.then = event.by;
      out.push_back(std::move(notice));
    }
    return out;
  }

  template <class Other>
  std::vector<Notice> operator()(const Other&) const {
    return {};
  }
};

// What people read about an outcome; for machines there is the word.
const char* sentence_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNone:
    case Outcome::kCompleted:
      return "";
    case Outcome::kFailed:
      return "a task failed, or could not be started";
    case Outcome::kCancelled:
      return "somebody cancelled it";
    case Outcome::kTimedOut:
      return "it reached its time limit";
    case Outcome::kNodeLost:
      return "its node was lost, and it is not to be run again";
    case Outcome::kDependencyNeverMet:
      return "a job that it depends on ended in another way than it needs";
    case Outcome::kDeadlineMissed:
      return "it could no longer end by its deadline";
    case Outcome::kStoppedIdle:
      return "nobody used it any more";
  }
  return "";
}

bool is_failure(Outcome outcome) {
  return outcome != Outcome::kNone && outcome != Outcome::kCompleted &&
         outcome != Outcome::kCancelled && outcome != Outcome::kStoppedIdle;
}

struct OfDecision {
  const State& state;
  Seq seq;
  Instant at;

  std::vector<Notice> operator()(const EndJob& decision) const {
    const core::Job* job = state.find_job(decision.job);
    if (job == nullptr) return {};
    const bool failed = is_failure(decision.outcome);
    if (!is_wanted(state, *job, NoticeAbout::kJobEnded) &&
        !(failed && is_wanted(state, *job, NoticeAbout::kJobFailed))) {
      return {};
    }
    Notice notice = about_job(failed ? NoticeAbout::kJobFailed : NoticeAbout::kJobEnded, *job,
                              last_attempt(*job), at);
    // An ended job can be queued anew, and end anew without another attempt.
    notice.key = key_of(notice, fmt::format("ended.{}", seq.value));
    notice.what = codec::word(decision.outcome);
    notice.why = sentence_of(decision.outcome);
    notice.exit_code = decision.exit_code;
    return {notice};
  }

  std::vector<Notice> operator()(const Stop& decision) const {
    if (decision.reason != StopReason::kPreempted) return {};
    const core::Job* job = state.find_job(decision.job);
    if (job == nullptr || !is_wanted(state, *job, NoticeAbout::kJobStopsSoon)) return {};
    Notice notice = about_job(NoticeAbout::kJobStopsSoon, *job, decision.attempt, at);
    notice.key = key_of(notice, "preempted");
    notice.what = "preempted";
    notice.why = decision.purpose == Purpose::kOutage ? "its nodes are reserved from now on"
                 : decision.beneficiary
                     ? fmt::format("job {} gets its place", decision.beneficiary.value)
                     : "another job gets its place";
    return {notice};
  }

  std::vector<Notice> operator()(const DeclareNodeLost& decision) const {
    return of_node(state, seq, at, decision.node, "lost",
                   "nothing is heard of it, and what ran there counts as ended");
  }

  template <class Other>
  std::vector<Notice> operator()(const Other&) const {
    return {};
  }
};

std::vector<Coming> limit_of(const State& state, Span soon, const core::Job& job) {
  if (job.phase != JobPhase::kActive || job.attempts.empty()) return {};
  const core::Attempt& attempt = job.attempts.back();
  const Span limit = core::limit_of_attempt(state, job);
  if (attempt.started_at.us == 0 || limit.us < 2 * soon.us) return {};
  if (!is_wanted(state, job, NoticeAbout::kJobStopsSoon)) return {};
  const Instant due{attempt.started_at.us + limit.us - soon.us};
  return {Coming{due, job.id, attempt.number, NoticeAbout::kJobStopsSoon}};
}

std::vector<Coming> start_of(const State& state, Span soon, JobId id, Instant start_at) {
  const core::Job* job = state.find_job(id);
  if (job == nullptr || !is_wanted(state, *job, NoticeAbout::kJobStartsSoon)) return {};
  return {Coming{Instant{start_at.us - soon.us}, id, last_attempt(*job) + 1,
                 NoticeAbout::kJobStartsSoon}};
}

std::vector<Notice> starts_soon(const State& state, Span soon, const Coming& coming) {
  const core::Job* job = state.find_job(coming.job);
  const auto promise = state.promises.find(coming.job);
  if (job == nullptr || promise == state.promises.end()) return {};
  if (job->phase != JobPhase::kWaiting || last_attempt(*job) + 1 != coming.attempt) return {};
  // A promise that has moved comes again by its own record.
  if (promise->second.start_at.us - soon.us > coming.due.us) return {};
  if (!is_wanted(state, *job, coming.about)) return {};
  Notice notice = about_job(coming.about, *job, coming.attempt, coming.due);
  notice.key = key_of(notice, "starts_soon");
  notice.what = "promised";
  notice.why = "its resources are set aside";
  notice.then = promise->second.start_at;
  return {notice};
}

std::vector<Notice> stops_soon(const State& state, Span soon, const Coming& coming) {
  const core::Job* job = state.find_job(coming.job);
  if (job == nullptr || job->phase != JobPhase::kActive) return {};
  const core::Attempt& attempt = job->attempts.back();
  if (attempt.number != coming.attempt || attempt.stop_at.us != 0) return {};
  const std::vector<Coming> now = limit_of(state, soon, *job);
  if (now.empty() || now.front().due > coming.due) return {};
  Notice notice = about_job(coming.about, *job, coming.attempt, coming.due);
  notice.key = key_of(notice, "stops_soon");
  notice.what = "time_limit";
  notice.why = "it reaches its time limit";
  notice.then = coming.due + soon;
  return {notice};
}

}  // namespace

std::vector<Notice> notices_of(const State& state, Seq seq, Instant at, const StampedEvent& event) {
  return std::visit(OfEvent{state, seq, at}, event.event);
}

std::vector<Notice> notices_of(const State& state, Seq seq, Instant at, const Decision& decision) {
  return std::visit(OfDecision{state, seq, at}, decision);
}

bool is_of_interest(const StampedEvent& event) {
  return std::holds_alternative<PlacementStarted>(event.event) ||
         std::holds_alternative<IdleObserved>(event.event) ||
         std::holds_alternative<FindingReported>(event.event) ||
         std::holds_alternative<NodeActionRequested>(event.event);
}

bool is_of_interest(const Decision& decision) {
  return std::holds_alternative<EndJob>(decision) || std::holds_alternative<Stop>(decision) ||
         std::holds_alternative<DeclareNodeLost>(decision);
}

std::vector<Coming> coming_of(const State& state, Span soon, const StampedEvent& event) {
  const auto* started = std::get_if<PlacementStarted>(&event.event);
  const core::Job* job = started == nullptr ? nullptr : state.find_job(started->job);
  return job == nullptr ? std::vector<Coming>{} : limit_of(state, soon, *job);
}

std::vector<Coming> coming_of(const State& state, Span soon, const Decision& decision) {
  const auto* promise = std::get_if<Promise>(&decision);
  if (promise == nullptr) return {};
  return start_of(state, soon, promise->job, promise->start_at);
}

std::vector<Coming> coming_of(const State& state, Span soon) {
  std::vector<Coming> out;
  const auto add = [&](std::vector<Coming> more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  for (const auto& [id, promise] : state.promises) add(start_of(state, soon, id, promise.start_at));
  for (const auto& [id, job] : state.jobs) add(limit_of(state, soon, job));
  return out;
}

std::vector<Notice> notices_of(const State& state, Span soon, const Coming& coming) {
  return coming.about == NoticeAbout::kJobStartsSoon ? starts_soon(state, soon, coming)
                                                     : stops_soon(state, soon, coming);
}

bool wants(const NoticeTarget& target, const Notice& notice) {
  const auto has = [&](NoticeAbout about) {
    return std::ranges::find(target.about, about) != target.about.end();
  };
  return has(notice.about) ||
         (notice.about == NoticeAbout::kJobFailed && has(NoticeAbout::kJobEnded));
}

}  // namespace dove::notices
